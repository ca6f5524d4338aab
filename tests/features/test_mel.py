"""The one mel definition: against librosa, clip ends included, and independent of what surrounds a clip."""

import librosa
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from myxtts.features.mel import EDGE_SAMPLES, HOP_SAMPLES, LOG_FLOOR, N_MELS, log_mel, mel_filters


def noise(n_samples, seed=0):
    return (np.random.default_rng(seed).standard_normal(n_samples) * 0.1).astype(np.float32)


def by_librosa(audio):
    frames = -(-len(audio) // HOP_SAMPLES)
    padded = np.pad(audio, (EDGE_SAMPLES, EDGE_SAMPLES + frames * HOP_SAMPLES - len(audio)))
    magnitude = np.abs(librosa.stft(padded, n_fft=1024, hop_length=256, center=False))
    filters = librosa.filters.mel(sr=22050, n_fft=1024, n_mels=80, fmin=0, fmax=8000)
    return (filters @ magnitude).T


def test_filters_are_slaneys():
    ours, theirs = mel_filters(), librosa.filters.mel(sr=22050, n_fft=1024, n_mels=80, fmin=0, fmax=8000).T
    np.testing.assert_allclose(ours, theirs, atol=1e-7)


@settings(max_examples=30)
@given(st.integers(1, 60000))
def test_equals_librosa_clip_ends_included(n_samples):
    audio = noise(n_samples, n_samples)
    ours, theirs = np.exp(log_mel(audio)), np.maximum(by_librosa(audio), 1e-5)
    assert ours.shape == (-(-n_samples // HOP_SAMPLES), N_MELS)
    assert np.abs(ours - theirs).max() <= 1e-4 * theirs.max()


def test_int16_equals_its_float():
    samples = (noise(22050) * 32767).astype(np.int16)
    np.testing.assert_allclose(log_mel(samples), log_mel(samples.astype(np.float32) / 32768), atol=2e-5)


@pytest.mark.parametrize("n_samples", [256 * 3, 256 * 130, 256 * 301])
def test_a_padded_clip_keeps_its_frames(n_samples):
    audio = noise(n_samples)
    alone = log_mel(audio)
    padded = log_mel(np.pad(audio, (0, 256 * 50)))
    np.testing.assert_array_equal(padded[: len(alone)], alone)
    np.testing.assert_allclose(padded[-1], LOG_FLOOR, rtol=1e-6)


def test_silence_is_the_floor():
    assert (log_mel(np.zeros(1000, np.int16)) == np.float32(LOG_FLOOR)).all()
