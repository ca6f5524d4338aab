"""Griffin-Lim against the definition of the mel, an exact solver, and the ways it is meant to be better than."""

import numpy as np
import pytest
import scipy.fft
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st

from myxtts.errors import SpeechError
from myxtts.features.mel import EDGE_SAMPLES, FFT_SAMPLES, HOP_SAMPLES, LOG_FLOOR, hann_window, log_mel, mel_filters
from myxtts.inference.griffin_lim import find_phases, follow_peaks, griffin_lim, invert_mel
from myxtts.inference.vocoder import find_vocoder


def voice_like(seconds: float = 1.2) -> np.ndarray:
    time = np.arange(int(seconds * 22050)) / 22050
    phase = 2 * np.pi * np.cumsum(130 + 25 * np.sin(2 * np.pi * 1.7 * time)) / 22050
    tone = sum(np.sin(k * phase) / k for k in range(1, 25))
    noise = np.random.default_rng(0).standard_normal(len(time))
    envelope = 0.5 + 0.5 * np.sin(2 * np.pi * 2.3 * time)
    return (0.1 * envelope * tone + 0.01 * noise).astype(np.float32)


def magnitude(audio: np.ndarray) -> np.ndarray:
    padded = np.pad(audio, (EDGE_SAMPLES, EDGE_SAMPLES + -len(audio) % HOP_SAMPLES))
    frames = np.lib.stride_tricks.sliding_window_view(padded, FFT_SAMPLES)[::HOP_SAMPLES]
    return np.abs(scipy.fft.rfft(frames * hann_window(), axis=1))


def distance(made: np.ndarray, wanted: np.ndarray) -> float:
    n_bins = wanted.shape[1]
    return float(np.linalg.norm(made[:, :n_bins] - wanted) / np.linalg.norm(wanted))


def plain_griffin_lim(wanted: np.ndarray, iterations: int) -> np.ndarray:
    """The textbook form: random phases, no momentum."""
    n_frames, n_bins = wanted.shape
    window = hann_window()
    full = np.zeros((n_frames, FFT_SAMPLES // 2 + 1))
    full[:, :n_bins] = wanted
    spectrum = full * np.exp(2j * np.pi * np.random.default_rng(0).random(full.shape))
    for _ in range(iterations + 1):
        total = np.zeros(n_frames * HOP_SAMPLES + 2 * EDGE_SAMPLES)
        level = np.zeros_like(total)
        for n, frame in enumerate(scipy.fft.irfft(spectrum, axis=1) * window):
            total[n * HOP_SAMPLES : n * HOP_SAMPLES + FFT_SAMPLES] += frame
            level[n * HOP_SAMPLES : n * HOP_SAMPLES + FFT_SAMPLES] += window**2
        audio = (total / np.maximum(level, 1e-9))[EDGE_SAMPLES : EDGE_SAMPLES + n_frames * HOP_SAMPLES]
        frames = np.lib.stride_tricks.sliding_window_view(np.pad(audio, EDGE_SAMPLES), FFT_SAMPLES)[::HOP_SAMPLES]
        spectrum = full * np.exp(1j * np.angle(scipy.fft.rfft(frames * window, axis=1)))
    return audio


def test_the_inverted_mel_has_the_mel_that_was_asked_for():
    mel = log_mel(voice_like())
    linear = invert_mel(mel)
    assert linear.min() >= 0
    again = np.log(np.maximum(linear @ mel_filters()[: linear.shape[1]], 1e-5))
    assert np.abs(again - mel).mean() < 2e-3


def test_the_inverted_mel_is_nearer_to_the_true_spectrum_than_least_squares():
    audio = voice_like()
    mel, true = log_mel(audio)[10:80:10], magnitude(audio)[10:80:10]
    filters = mel_filters()
    exact = np.stack([scipy.optimize.nnls(filters.T.astype(np.float64), np.exp(row))[0] for row in mel])
    projected = np.maximum(np.exp(mel) @ np.linalg.pinv(filters.astype(np.float64)), 0)
    ours = invert_mel(mel)
    used = true[:, : ours.shape[1]]
    assert distance(ours, used) < distance(projected, used)
    assert distance(ours, used) < 0.5 * distance(exact, used)


def test_a_copy_comes_nearer_to_its_spectrum_than_the_textbook():
    wanted = invert_mel(log_mel(voice_like()))
    ours = distance(magnitude(find_phases(wanted, 32)), wanted)
    assert ours < 0.8 * distance(magnitude(plain_griffin_lim(wanted, 32)), wanted)
    assert ours < distance(magnitude(find_phases(wanted, 4)), wanted)


def test_the_copy_of_a_sound_has_its_mel():
    mel = log_mel(voice_like())
    copy = griffin_lim(mel)
    assert copy.dtype == np.float32
    assert len(copy) == len(mel) * HOP_SAMPLES
    loud = mel > mel.max() - 6
    assert np.abs(log_mel(copy) - mel)[loud].mean() < 0.15


def test_phases_follow_a_steady_tone():
    """From the true magnitudes of a sinusoid the start alone is almost the sinusoid."""
    time = np.arange(40 * HOP_SAMPLES) / 22050
    wanted = magnitude(np.sin(2 * np.pi * 440 * time).astype(np.float32))[:, :372].astype(np.float32)
    assert np.allclose(np.abs(follow_peaks(wanted)), 1, atol=1e-5)
    assert distance(magnitude(find_phases(wanted, 0)), wanted) < 0.12


def test_any_number_of_workers_gives_the_same_bits():
    mel = log_mel(voice_like(4.0))
    assert np.array_equal(griffin_lim(mel, 4, workers=1), griffin_lim(mel, 4, workers=3))


@settings(max_examples=15)
@given(st.integers(0, 9), st.floats(-20, 6), st.integers(0, 2))
def test_any_frames_give_finite_sound_of_their_length(n_frames, level, iterations):
    mel = np.full((n_frames, 80), level, np.float32)
    mel[::2] = LOG_FLOOR
    audio = griffin_lim(mel, iterations)
    assert audio.shape == (n_frames * HOP_SAMPLES,)
    assert np.isfinite(audio).all()


def test_silence_stays_silent():
    assert np.abs(griffin_lim(np.full((50, 80), LOG_FLOOR))).max() < 1e-3


def test_float16_frames_of_a_cache_are_taken():
    mel = log_mel(voice_like(0.5)).astype(np.float16)
    assert griffin_lim(mel).dtype == np.float32


def test_an_unknown_vocoder_names_those_that_are_known():
    assert find_vocoder("griffin-lim").name == "griffin-lim"
    with pytest.raises(SpeechError, match="'hifigan'.*griffin-lim, neural, or a folder"):
        find_vocoder("hifigan")
