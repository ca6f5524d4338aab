"""model.json there and back, and finding a model in a run, a checkpoint or an export."""

import json

import pytest
from small_models import describe

from myxtts.errors import CheckpointDamaged, CheckpointError
from myxtts.models.description import ModelDescription, find_checkpoint, weights_file


def save_checkpoint(folder, ema=False):
    folder.mkdir(parents=True)
    describe().save(folder)
    (folder / "weights.safetensors").write_bytes(b"")
    if ema:
        (folder / "ema.safetensors").write_bytes(b"")
    return folder


def test_round_trip(tmp_path):
    there = describe(head="both", size="small", tokens={"kind": "phonemes", "stress": True}, audio={"trim_db": 45.0})
    assert ModelDescription.from_json(there.to_json()) == there
    there.save(tmp_path)
    assert ModelDescription.load(tmp_path) == there
    assert [path.name for path in tmp_path.iterdir()] == ["model.json"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [({"format": 99}, "format 99"), ({"size": "huge"}, "huge"), ({"head": "gan"}, "gan"), ({"wings": 2}, "wings")],
)
def test_what_cannot_be_read_is_named(changes, said):
    values = json.loads(describe().to_json()) | changes
    with pytest.raises(CheckpointError, match=said):
        ModelDescription.from_json(json.dumps(values))


def test_damaged_description(tmp_path):
    describe().save(tmp_path)
    whole = (tmp_path / "model.json").read_bytes()
    (tmp_path / "model.json").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(CheckpointDamaged, match="not JSON"):
        ModelDescription.load(tmp_path)
    with pytest.raises(CheckpointError, match="cannot read"):
        ModelDescription.load(tmp_path / "nowhere")


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
