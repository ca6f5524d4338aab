"""An exported model says what TensorFlow's says, without TensorFlow; what is damaged or unknown is named."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from inference.conftest import write_model

from myxtts.cli import main
from myxtts.errors import CheckpointDamaged, CheckpointError, SpeechError
from myxtts.export.export import export_onnx
from myxtts.inference.exported import Exported
from myxtts.inference.noise import white_noise
from myxtts.inference.reference import make_reference, save_reference
from myxtts.inference.speakers import find_speaker, load_speaker
from myxtts.inference.synthesizer import Synthesizer
from myxtts.inference.vocoder import find_vocoder
from myxtts.models import weights
from myxtts.models.description import REFERENCE_FRAMES
from myxtts.models.pitch_table import ripples
from myxtts.models.voice import distance

TEXT = "one two three. four!"


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    """Random numbers of a trained size everywhere, so that no part of the graph could be left out unnoticed."""
    return random_run(tmp_path_factory.mktemp("exported") / "own", voice_reach=3.0)


def random_run(folder: Path, **changes) -> Path:
    write_model(folder, ["en-us", "de"], **changes)
    rng, tensors = np.random.default_rng(0), weights.load(folder / "weights.safetensors")
    for name, value in tensors.items():
        if name.endswith("bias"):
            tensors[name] = value + rng.normal(0, 0.1, value.shape).astype(np.float32)
    tensors["xtts/duration_scale"] = np.float32(2.0)
    tensors["xtts/mel_std"] = rng.uniform(1.5, 2.5, 80).astype(np.float32)
    weights.save(folder / "weights.safetensors", tensors)
    mel = rng.normal(-5, 2, (400, 80)).astype(np.float32)
    save_reference(folder, [mel, mel[:50]], REFERENCE_FRAMES)
    return folder


@pytest.fixture(scope="module")
def folder(run) -> Path:
    export_onnx(run, run.parent / "onnx")
    return run.parent / "onnx"


@pytest.fixture(scope="module")
def exported(folder) -> Exported:
    return Exported.load(folder)


@pytest.fixture(scope="module")
def synthesizer(run) -> Synthesizer:
    return Synthesizer.load(run)


@pytest.mark.parametrize("seed", [(17, 86), (5, 87), (-7, 87), (2**63 - 1, 87)])
def test_noise_is_tensorflows(seed):
    samples = (1 << 17) + 10  # more than is kept
    wanted = tf.random.stateless_normal([samples], np.array(seed, np.int64)).numpy()
    np.testing.assert_allclose(white_noise(samples, seed), wanted, atol=1e-5)
    np.testing.assert_array_equal(white_noise(100, seed), white_noise(samples, seed)[:100])


def test_it_hears_the_same_voice(exported, synthesizer):
    ours, theirs = exported.hear(), synthesizer.hear()
    np.testing.assert_allclose(ours.vector, theirs.vector, atol=1e-4)
    np.testing.assert_allclose(ours.tokens, theirs.tokens, atol=1e-4)


@pytest.mark.parametrize("options", [{}, {"language": "de", "speed": 0.5, "pitch": 3}, {"speed": 4.0}])
def test_it_draws_the_same_frames(exported, synthesizer, options):
    ours, theirs = (each.say(TEXT, vocoder="griffin-lim", **options) for each in (exported, synthesizer))
    assert len(ours.mel) == len(theirs.mel)
    np.testing.assert_allclose(ours.mel, theirs.mel, atol=1e-3)


def test_it_follows_a_stranger_as_far(exported, synthesizer):
    voiced = ripples()[80] + np.random.default_rng(1).normal(-3, 0.2, (300, 80))
    stranger = make_reference([voiced.astype(np.float32)], REFERENCE_FRAMES)
    ours, theirs = (each.hear(stranger) for each in (exported, synthesizer))
    assert distance(theirs, synthesizer.hear(), follows_pitch=True) == pytest.approx(1.2 * 1.6 * 3.0, rel=1e-3)
    for heard, expected in ((ours, theirs), (ours.reader, theirs.reader)):
        np.testing.assert_allclose(heard.vector, expected.vector, atol=1e-4)
        np.testing.assert_allclose(heard.tokens, expected.tokens, atol=1e-4)
    spoken = [each.say(TEXT, voice, vocoder="griffin-lim").mel for each, voice in
              ((exported, ours), (synthesizer, theirs))]  # fmt: skip
    np.testing.assert_allclose(*spoken, atol=1e-3)
    plain = synthesizer.say(TEXT, theirs._replace(colour=None), vocoder="griffin-lim").mel
    assert np.abs(plain - spoken[1]).max() > 0.5


@pytest.mark.slow
def test_a_model_of_before_is_exported_with_the_pitch_that_it_learnt(tmp_path):
    old = random_run(tmp_path / "old", follows_pitch=False)
    export_onnx(old, tmp_path / "onnx")
    ours, theirs = Exported.load(tmp_path / "onnx"), Synthesizer.load(old)
    np.testing.assert_allclose(ours.hear().vector, theirs.hear().vector, atol=1e-4)
    spoken = [each.say(TEXT, vocoder="griffin-lim").mel for each in (ours, theirs)]
    np.testing.assert_allclose(*spoken, atol=1e-3)


@pytest.mark.parametrize("seed", [None, 5])
def test_it_makes_the_same_sound_of_them(exported, folder, seed):
    """Of frames as a vowel has them: in noise the pitch is what rounding makes of it."""
    from models.test_vocoder import vowel

    from myxtts.features.mel import log_mel

    mel = np.concatenate([log_mel(vowel(hertz, 0.6)) for hertz in (120.0, 210.0)])
    ours, theirs = find_vocoder(folder), find_vocoder("neural")
    np.testing.assert_allclose(ours(mel, seed), theirs(mel, seed), atol=1e-3)
    pieces = np.concatenate([*ours.stream(mel, 40, seed)])
    np.testing.assert_allclose(pieces, ours(mel, seed), atol=1e-4)


def test_the_same_seed_gives_the_same_samples_and_another_one_others(exported):
    first, again, other = (exported.say("one.", seed=seed).audio for seed in (3, 3, 4))
    assert np.array_equal(first, again)
    assert len(first) == len(other)
    assert not np.array_equal(first, other)
    with pytest.raises(SpeechError, match="griffin-lim draws nothing at random"):
        exported.say("one.", seed=3, vocoder="griffin-lim")


def test_eight_bits_are_smaller_and_near(run, folder, exported, tmp_path):
    export_onnx(run, tmp_path / "int8", int8=True)
    sizes = [(each / "acoustic.onnx").stat().st_size for each in (folder, tmp_path / "int8")]
    assert sizes[1] < 0.4 * sizes[0]
    near = Exported.load(tmp_path / "int8").say("one two", voice=exported.hear(), vocoder="griffin-lim").mel
    mel = exported.say("one two", vocoder="griffin-lim").mel
    frames = min(len(mel), len(near))
    assert abs(len(mel) - len(near)) <= 2
    assert np.corrcoef(mel[:frames].ravel(), near[:frames].ravel())[0, 1] > 0.95


SAY = """
import sys
sys.modules["tensorflow"] = sys.modules["keras"] = sys.modules["onnx"] = None  # importing them is an ImportError
from myxtts.cli import main
sys.exit(main(["say", "one two.", "--model", sys.argv[1], "-o", sys.argv[2], "--seed", "7", "--json"]))
"""


def test_say_needs_no_tensorflow(folder, tmp_path):
    command = [sys.executable, "-c", SAY, str(folder), str(tmp_path / "out.wav")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["seconds"] > 0
    assert (tmp_path / "out.wav").stat().st_size > 1000


def test_the_verb_makes_a_folder_with_everything_inside(run, tmp_path, capsys):
    assert main(["export", str(run), "-o", str(tmp_path / "out"), "--vocoder", "griffin-lim", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["format"], answer["int8"], answer["vocoder"]) == ("onnx", False, "griffin-lim")
    wanted = "LICENSE NOTICE acoustic.onnx export.json model.json reference.onnx voice.safetensors"
    wanted += " weights.safetensors"
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == wanted.split()
    assert load_speaker(find_speaker(tmp_path / "out")).say("one.").seconds > 0
    assert main(["export", str(run), "-o", str(tmp_path / "out"), "--json"]) == 2
    assert "not empty" in json.loads(capsys.readouterr().out)["error"]["message"]
    assert main(["export", str(run), "-o", str(tmp_path / "b"), "--format", "savedmodel", "--int8", "--json"]) == 2


@pytest.mark.parametrize("name", ["acoustic.onnx", "export.json", "model.json"])
def test_what_is_damaged_is_named(folder, tmp_path, name):
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    data = bytearray((tmp_path / name).read_bytes())
    data[len(data) // 2 :] = b"x"
    (tmp_path / name).write_bytes(data)
    with pytest.raises(CheckpointDamaged, match=name):
        Exported.load(tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(CheckpointDamaged, match=name):
        load_speaker(find_speaker(tmp_path))


@pytest.mark.parametrize(("found", "cure"), [(99, "upgrade MyXTTS"), (1, "export the model again")])
def test_an_export_of_another_format_says_what_to_do(folder, tmp_path, found, cure):
    values = json.loads((folder / "export.json").read_text())
    (tmp_path / "export.json").write_text(json.dumps(values | {"format": found, "vocoder": "new"}))
    with pytest.raises(CheckpointError, match=f"format {found}.*{cure}"):
        Exported.load(tmp_path)


@pytest.mark.slow
def test_other_sizes_and_hifigan(tmp_path):
    from myxtts.models.hifigan_layers import layers
    from myxtts.models.vocoder_description import HIFIGAN, VocoderDescription

    run, rng = write_model(tmp_path / "small", ["en-us"]), np.random.default_rng(0)
    mel = rng.normal(-5, 2, (300, 80)).astype(np.float32)
    save_reference(run, [mel], REFERENCE_FRAMES)
    made = {}
    for name, _, shape in layers():
        made[f"hifigan/{name}"] = rng.normal(0, np.prod(shape[:-1]) ** -0.5, shape).astype(np.float32)
        outputs = shape[-2] if name.startswith("ups") else shape[-1]
        made[f"hifigan/{name}.bias"] = rng.normal(0, 0.1, outputs).astype(np.float32)
    (tmp_path / "hifigan").mkdir()
    weights.save(tmp_path / "hifigan" / "weights.safetensors", made)
    VocoderDescription(HIFIGAN).save(tmp_path / "hifigan")
    export_onnx(run, tmp_path / "onnx", vocoder=str(tmp_path / "hifigan"))
    ours, theirs = find_vocoder(tmp_path / "onnx"), find_vocoder(tmp_path / "hifigan")
    np.testing.assert_allclose(ours(mel[:40]), theirs(mel[:40]), atol=1e-3)
    np.testing.assert_allclose(np.concatenate([*ours.stream(mel[:40], 20)]), ours(mel[:40]), atol=1e-3)


@pytest.mark.slow
def test_a_saved_model_speaks_in_one_call(run, synthesizer, tmp_path):
    from myxtts.export.savedmodel import export_savedmodel
    from myxtts.models.vocoder_table import noise_seed

    assert export_savedmodel(run, tmp_path / "saved") == ["serving_default", "hear"]
    loaded = tf.saved_model.load(str(tmp_path / "saved" / "1"))
    voice = weights.load(tmp_path / "saved" / "voices.safetensors")
    (line,) = synthesizer._script.lines("one two", 0)
    made = loaded.signatures["serving_default"](
        tokens=tf.constant(line.tokens[None]), language=tf.constant([0]), vector=tf.constant(voice["vector"]),
        latents=tf.constant(voice["latents"]), speed=tf.constant(1.0), octaves_up=tf.constant(0.0),
        seed=tf.constant(noise_seed(None), tf.int64),
    )  # fmt: skip
    spoken = synthesizer.say("one two")
    np.testing.assert_allclose(made["mel"][0], spoken.mel, atol=1e-4)
    assert made["audio"].shape[1] == len(spoken.audio)
    heard = loaded.signatures["hear"](reference=synthesizer._reference.crops, lengths=synthesizer._reference.lengths)
    np.testing.assert_allclose(heard["vector"], voice["vector"], atol=1e-5)
