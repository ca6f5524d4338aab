"""model.json there and back, what it may and may not hold, and finding a model in a run or a checkpoint."""

import json

import pytest
from small_models import describe

from myxtts.errors import CheckpointDamaged, CheckpointError
from myxtts.models.description import ModelDescription, find_checkpoint, weights_file
from myxtts.models.format import write_state


def save_checkpoint(folder, ema=False):
    folder.mkdir(parents=True)
    describe().save(folder)
    (folder / "weights.safetensors").write_bytes(b"")
    if ema:
        (folder / "ema.safetensors").write_bytes(b"")
    return folder


def rewrite(folder, **changes):
    """model.json with other values; None removes a key."""
    values = json.loads((folder / "model.json").read_bytes()) | changes
    kept = {name: value for name, value in values.items() if value is not None}
    (folder / "model.json").write_text(json.dumps(kept))


def test_round_trip(tmp_path):
    there = describe(size="small", tokens={"kind": "phonemes", "stress": True}, audio={"trim_db": 45.0},
                     reference_frames=64)  # fmt: skip
    there.save(tmp_path)
    assert ModelDescription.load(tmp_path) == there
    assert [path.name for path in tmp_path.iterdir()] == ["model.json"]


def test_a_model_of_before_does_not_follow_pitch_and_knows_no_reach(tmp_path):
    describe(voice_reach=2.0).save(tmp_path)
    assert ModelDescription.load(tmp_path).voice_reach == 2.0
    rewrite(tmp_path, follows_pitch=None, voice_reach=None)
    assert not ModelDescription.load(tmp_path).follows_pitch
    assert ModelDescription.load(tmp_path).voice_reach == 0
    resumed = describe()
    resumed.check_continues(ModelDescription.load(tmp_path), tmp_path)
    assert not resumed.follows_pitch


def test_data_that_is_read_otherwise_does_not_continue_a_run(tmp_path):
    phonemes, letters = (describe(tokens={"kind": kind}) for kind in ("phonemes", "characters"))
    with pytest.raises(
        CheckpointError, match="trained on phonemes and this data is packed as characters: pack it with"
    ):
        letters.check_continues(phonemes, tmp_path)


def test_a_model_of_before_asks_to_name_nobody(tmp_path):
    describe(attribution=["recordings of one (CC-BY 3.0)"]).save(tmp_path)
    assert ModelDescription.load(tmp_path).attribution == ["recordings of one (CC-BY 3.0)"]
    rewrite(tmp_path, attribution=None)
    assert ModelDescription.load(tmp_path).attribution == []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"format": 99}, "is format 99, this code reads 2: upgrade MyXTTS"),
        ({"format": 1}, "is format 1, this code reads 2: train again"),
        ({"format": "2"}, "no format number"),
        ({"size": "huge"}, "huge"),
        ({"wings": 2}, "wings"),
        ({"reference_frames": 0}, "reference_frames is 0, expected 1 or more"),
        ({"reference_frames": None}, "lacks reference_frames: copy the model again"),
        ({"mel": None}, "lacks mel"),
        ({"part": "vocoder"}, "is a model of kind 'vocoder', expected 'acoustic'"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path, changes, said):
    describe().save(tmp_path)
    rewrite(tmp_path, **changes)
    with pytest.raises(CheckpointError, match=said):
        ModelDescription.load(tmp_path)


def test_a_model_of_another_mel_must_not_speak(tmp_path):
    describe().save(tmp_path)
    mel = json.loads((tmp_path / "model.json").read_bytes())["mel"]
    rewrite(tmp_path, mel=mel | {"hop_samples": 300, "edge": "reflected"}, myxtts="7.8")
    with pytest.raises(CheckpointError, match=r"another mel .*hop_samples 300, not 256; edge reflected.*MyXTTS 7\.8"):
        ModelDescription.load(tmp_path)


def test_after_a_change_of_the_mel_every_older_checkpoint_is_refused(tmp_path, monkeypatch):
    describe().save(tmp_path)
    monkeypatch.setattr("myxtts.features.mel.HOP_SAMPLES", 300)
    with pytest.raises(CheckpointError, match="hop_samples 256, not 300"):
        ModelDescription.load(tmp_path)


def test_damaged_description(tmp_path):
    describe().save(tmp_path)
    whole = (tmp_path / "model.json").read_bytes()
    (tmp_path / "model.json").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(CheckpointDamaged, match="not JSON"):
        ModelDescription.load(tmp_path)
    (tmp_path / "model.json").write_bytes(b"[" * 100_000)
    with pytest.raises(CheckpointDamaged, match="not JSON"):
        ModelDescription.load(tmp_path)
    with pytest.raises(CheckpointError, match="model.json is missing"):
        ModelDescription.load(tmp_path / "nowhere")


def test_swapped_symbols_are_noticed_by_the_hash_in_state_json(tmp_path):
    describe(token_table=["<pad>", "a", "b"]).save(tmp_path)
    write_state(tmp_path, {"step": 1, "metric": None, "sequence": 1, "state": {}})
    ModelDescription.load(tmp_path)
    rewrite(tmp_path, token_table=["<pad>", "b", "a"])
    with pytest.raises(CheckpointDamaged, match="model.json is not what was written"):
        ModelDescription.load(tmp_path)
    (tmp_path / "state.json").write_text((tmp_path / "state.json").read_text().replace('"step": 1', '"step": 2'))
    with pytest.raises(CheckpointDamaged, match="state.json is not what was written"):
        ModelDescription.load(tmp_path)


def test_a_model_without_symbols_is_refused():
    with pytest.raises(CheckpointError, match="token_table is empty"):
        describe(token_table=[])


def test_find_prefers_best_then_last(tmp_path):
    steps = [save_checkpoint(tmp_path / "checkpoints" / f"step-{n}") for n in (1, 2)]
    with pytest.raises(CheckpointError, match="give one, for example .*step-2"):
        find_checkpoint(tmp_path)
    (tmp_path / "checkpoints" / "last").symlink_to("step-2")
    assert find_checkpoint(tmp_path) == steps[1]
    (tmp_path / "checkpoints" / "best").symlink_to("step-1")
    assert find_checkpoint(tmp_path) == find_checkpoint(tmp_path / "checkpoints") == steps[0]
    assert find_checkpoint(steps[1]) == steps[1]


def test_find_says_what_is_there_instead(tmp_path):
    with pytest.raises(CheckpointError, match="not a folder"):
        find_checkpoint(tmp_path / "nowhere")
    with pytest.raises(CheckpointError, match="holds no model: expected model.json"):
        find_checkpoint(tmp_path)
    (tmp_path / "checkpoints").mkdir()
    with pytest.raises(CheckpointError, match="not saved a checkpoint yet"):
        find_checkpoint(tmp_path)


def test_speaking_takes_the_running_average_if_there_is_one(tmp_path):
    assert weights_file(save_checkpoint(tmp_path / "a")).name == "weights.safetensors"
    assert weights_file(save_checkpoint(tmp_path / "b", ema=True)).name == "ema.safetensors"


@pytest.mark.parametrize(
    ("key", "value"),
    [("reference_frames", 2**31), ("languages", [None]), ("token_table", "abc"), ("learnt", [5]), ("audio", []),
     ("attribution", "one"),
     ("tokens", {"lexicon": "/etc/passwd"}), ("tokens", {"kind": "runes"}), ("audio", {"trim_db": "loud"})],
)  # fmt: skip
def test_a_description_that_no_model_has_is_refused(tmp_path, key, value):
    describe().save(tmp_path)
    values = json.loads((tmp_path / "model.json").read_text())
    (tmp_path / "model.json").write_text(json.dumps({**values, key: value}))
    with pytest.raises(CheckpointDamaged, match=f"model.json: {key}.*copy the model again"):
        ModelDescription.load(tmp_path)
