"""Every format decodes to all that was put in, its tail included, in whatever pieces it came."""

import io
import struct

import numpy as np
import pytest
import soundfile
from serving.client import comment, samples

from myxtts.features.mel import SAMPLE_RATE
from myxtts.serving import encoding
from myxtts.serving.encoding import Limiter, check_format, formats, make_encoder
from myxtts.serving.problems import Problem

SECONDS, TAIL_HZ = 3.0, 1500.0


def tones() -> np.ndarray:
    """440 Hz, and another tone in the last tenth of a second."""
    time = np.arange(int(SECONDS * SAMPLE_RATE)) / SAMPLE_RATE
    sound = 0.3 * np.sin(2 * np.pi * np.where(time < SECONDS - 0.1, 440.0, TAIL_HZ) * time)
    return sound.astype(np.float32)


def encode(kind: str, sound: np.ndarray, piece: int) -> list[bytes]:
    encoder = make_encoder(kind)
    pieces = [encoder.encode(sound[start : start + piece]) for start in range(0, len(sound), piece)]
    return [*pieces, encoder.finish()]


@pytest.mark.parametrize("kind", formats())
def test_nothing_of_the_sound_is_lost(kind):
    decoded, rate = samples(kind, b"".join(encode(kind, tones(), 16_384)))
    assert SECONDS <= len(decoded) / rate + 1e-3 < SECONDS + 0.15  # codecs begin and end with some silence
    end = decoded[-int(0.25 * rate) :]
    spectrum = np.abs(np.fft.rfft(end * np.hanning(len(end))))
    hertz = np.fft.rfftfreq(len(end), 1 / rate)
    tail = spectrum[np.abs(hertz - TAIL_HZ) < 40].max()
    assert tail > 0.3 * spectrum.max()


@pytest.mark.parametrize("kind", ["wav", "pcm", "flac"])
def test_pieces_are_the_whole(kind):
    whole, _ = samples(kind, b"".join(encode(kind, tones(), 10**9)))
    parts, _ = samples(kind, b"".join(encode(kind, tones(), 1000)))
    np.testing.assert_allclose(parts, whole, atol=1e-3)


@pytest.mark.parametrize("kind", [kind for kind in formats() if kind != "flac"])
def test_sound_is_sent_before_it_ends(kind):
    assert any(encode(kind, tones(), 16_384)[:3])


def test_a_streamed_wav_says_that_its_length_is_not_known():
    data = b"".join(encode("wav", tones(), 5000))
    assert struct.unpack("<4sI4s", data[:12]) == (b"RIFF", 0xFFFFFFFF, b"WAVE")
    head = data.index(b"data") + 8
    assert struct.unpack("<4sI", data[head - 8 : head]) == (b"data", 0xFFFFFFFF)
    assert len(data) == head + 2 * len(tones())
    np.testing.assert_allclose(soundfile.read(io.BytesIO(data))[0], tones(), atol=1e-4)


@pytest.mark.parametrize("kind", [kind for kind in formats() if kind != "pcm"])
def test_a_file_says_that_its_speech_is_synthetic(kind):
    assert comment(kind, b"".join(encode(kind, tones(), 5000))) == "Synthetic speech made with MyXTTS"


def test_a_flac_knows_its_length():
    with soundfile.SoundFile(io.BytesIO(b"".join(encode("flac", tones(), 5000)))) as file:
        assert file.frames == len(tones())


@pytest.fixture
def without_av(monkeypatch):
    """What can be written is looked up once for all: it is forgotten before and after."""
    monkeypatch.setattr(encoding.importlib.util, "find_spec", lambda name: None)
    formats.cache_clear()
    yield
    formats.cache_clear()


@pytest.mark.usefixtures("without_av")
def test_without_an_encoder_aac_is_refused_by_name():
    with pytest.raises(Problem, match="expected one of: mp3, opus, flac, wav, pcm; for aac .* 'pip install av'"):
        check_format("aac")
    assert "aac" not in formats()


def test_what_is_too_loud_is_made_quieter_and_stays_so():
    limit, loud = Limiter(), np.array([0.5, -2.0, 1.0] * 200, np.float32)
    assert np.abs(limit(loud)).max() <= 0.98
    np.testing.assert_allclose(limit(loud[:3]), loud[:3] * 0.49, rtol=1e-5)
    quiet = np.full(300, 0.1, np.float32)
    np.testing.assert_allclose(limit(quiet), quiet * 0.49, rtol=1e-5)
    np.testing.assert_array_equal(Limiter()(quiet), quiet)
