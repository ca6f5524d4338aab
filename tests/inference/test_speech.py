"""A sound file that is written while it is spoken, and voices that are none."""

import numpy as np
import pytest
import soundfile

from myxtts.errors import CheckpointDamaged
from myxtts.inference.reference import load_reference
from myxtts.inference.speech import Speech, SpeechFile, join, with_pause
from myxtts.models import weights


def pieces() -> list[Speech]:
    rng = np.random.default_rng(0)
    sounds = [rng.normal(0, 0.6, 256 * n).astype(np.float32) for n in (3, 40, 7)]
    return [Speech(sound, np.zeros((len(sound) // 256, 80), np.float32), f"{n}.", {"mel_ms": 1.0}, "xy"[: n % 3])
            for n, sound in enumerate(sounds)]  # fmt: skip


@pytest.mark.parametrize("name", ["a.wav", "a.flac"])
def test_what_is_written_as_it_is_spoken_is_what_would_be_written_at_once(tmp_path, name):
    with SpeechFile(tmp_path / name) as file:
        for piece in pieces():
            file.add(piece)
    whole = join(pieces())
    whole.save(tmp_path / f"whole{name}")
    written, expected = (soundfile.read(tmp_path / each, dtype="int16")[0] for each in (name, f"whole{name}"))
    assert np.abs(written.astype(int) - expected).max() <= 1
    assert (file.seconds, file.sentences, file.skipped, file.timings) == (
        whole.seconds,
        3,
        whole.skipped,
        whole.timings,
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([name, f"whole{name}"])


def test_an_error_while_speaking_leaves_the_old_file(tmp_path):
    (tmp_path / "a.wav").write_bytes(b"old")

    def speak():
        with SpeechFile(tmp_path / "a.wav") as file:
            file.add(pieces()[0])
            raise RuntimeError

    with pytest.raises(RuntimeError):
        speak()
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"old"]


@pytest.mark.parametrize("samples", [1, 100, 200, 256, 1000])
@pytest.mark.parametrize("piece", [1, 60, 130, 1000])
def test_a_sound_is_faded_at_both_ends_and_ends_in_its_pause_in_whatever_pieces_it_comes(samples, piece):
    sound = np.random.default_rng(0).normal(0, 0.1, samples).astype(np.float32)
    spoken = [*with_pause((sound[at : at + piece] for at in range(0, samples, piece)), samples, seconds=0.1)]
    assert len(spoken) == -(-samples // piece)  # no piece for the pause alone: each costs a server a wake-up
    place = np.arange(samples)
    gain = np.minimum(np.minimum(place, place[::-1]) / max(min(128, samples) - 1, 1), 1.0)
    pause = np.zeros(9 * 256)
    np.testing.assert_allclose(np.concatenate(spoken), np.concatenate([sound * gain, pause]), rtol=1e-6)


@pytest.mark.parametrize(
    ("crops", "lengths"),
    [(np.zeros((0, 8, 80)), np.zeros(0)), (np.full((1, 8, 80), np.nan), np.ones(1)), (np.zeros((1, 8, 80)), np.full(1, 99)),  # noqa: E501
     (np.zeros((1, 8, 80)), np.zeros(1)), (np.zeros((2, 8, 80)), np.ones(1))],
    ids=["no crops", "NaN", "too long", "empty", "other lengths"],
)  # fmt: skip
def test_a_voice_that_cannot_be_heard_is_refused(tmp_path, crops, lengths):
    tensors = {"reference": crops.astype(np.float16), "lengths": lengths.astype(np.int32)}
    weights.save(tmp_path / "voice.safetensors", tensors)
    with pytest.raises(CheckpointDamaged, match="holds no voice.*give --voice"):
        load_reference(tmp_path, 8)


@pytest.mark.parametrize("kind", ["wav", "flac"])
def test_a_file_says_that_its_speech_is_synthetic(tmp_path, kind):
    Speech(np.zeros(500, np.float32), np.zeros((2, 80), np.float32)).save(tmp_path / f"x.{kind}")
    with soundfile.SoundFile(tmp_path / f"x.{kind}") as file:
        assert file.comment == "Synthetic speech made with MyXTTS"
