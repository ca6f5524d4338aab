"""Pitch is read from mel frames as it was sung, and looked up again as the same harmonics."""

import numpy as np
import pytest
import tensorflow as tf

from myxtts.features.mel import HOP_SAMPLES, LOG_FLOOR, SAMPLE_RATE, log_mel
from myxtts.models.definition import HARMONIC_FEATURES
from myxtts.models.pitch import harmonics_of, pitch_of, typical_pitch
from myxtts.models.pitch_table import BASE_HZ, USUAL_OCTAVES, ripples

SECONDS = 1.5


def sing(hertz: np.ndarray | float, tilt: float = 1.0, noise: float = 0.0) -> np.ndarray:
    """Harmonics that fall by 1/n^tilt, with noise on top: log-mel [frames, mels]."""
    n = int(SECONDS * SAMPLE_RATE)
    hertz = np.broadcast_to(hertz, n)
    phase = 2 * np.pi * np.cumsum(hertz) / SAMPLE_RATE
    sound = sum(np.cos(k * phase) / k**tilt for k in range(1, int(8000 / hertz.max())))
    sound = sound / np.abs(sound).max() * 0.5 + noise * np.random.default_rng(0).normal(size=n)
    return log_mel(sound.astype(np.float32))


def read(mel: np.ndarray) -> np.ndarray:
    return pitch_of(mel[None], np.ones((1, len(mel), 1), np.float32)).numpy()[0]


@pytest.mark.parametrize("hertz", [75.0, 110.0, 180.0, 250.0, 420.0])
@pytest.mark.parametrize("tilt", [0.5, 1.5])
def test_a_steady_voice_has_its_pitch(hertz, tilt):
    octaves, voiced = read(sing(hertz, tilt, noise=0.002))[8:-8].T
    cents = 1200 * np.abs(octaves - np.log2(hertz / BASE_HZ))
    assert np.median(cents) < 15
    assert cents.max() < 100
    assert voiced.min() > 0.5


def test_a_glide_is_followed():
    n = int(SECONDS * SAMPLE_RATE)
    hertz = 130.0 * 2 ** (np.arange(n) / n)
    mel = sing(hertz)
    wanted = np.log2(hertz[HOP_SAMPLES // 2 :: HOP_SAMPLES] / BASE_HZ)
    away = np.abs(read(mel)[: len(wanted), 0] - wanted)
    assert away[8:-8].max() * 1200 < 60


def test_loudness_does_not_matter():
    mel = sing(200.0, noise=0.001)
    np.testing.assert_allclose(read(mel - 3.0)[8:-8, 0], read(mel)[8:-8, 0], atol=1e-3)


def test_noise_and_silence_have_no_voice():
    noise = log_mel(np.random.default_rng(1).normal(size=SAMPLE_RATE).astype(np.float32) * 0.1)
    assert read(noise)[:, 1].mean() < 0.15
    assert read(np.full((50, 80), LOG_FLOOR, np.float32))[:, 1].max() == 0


def test_padding_changes_no_frame():
    mel = sing(160.0, noise=0.05)
    padded = np.pad(mel, ((0, 60), (0, 0)), constant_values=LOG_FLOOR)
    inside = (np.arange(len(padded)) < len(mel)).astype(np.float32)[None, :, None]
    pitch = pitch_of(padded[None], inside).numpy()[0]
    np.testing.assert_allclose(pitch[: len(mel)], read(mel), atol=1e-5)
    assert pitch[len(mel) :, 1].max() == 0


@pytest.mark.parametrize(("hertz", "octaves_off"), [(85.0, 0.12), (140.0, 0.08), (230.0, 0.08), (350.0, 0.08)])
def test_a_voice_has_a_typical_pitch_whatever_pauses_and_noise_are_around_it(hertz, octaves_off):
    """Of the lowest voice the high notes fit better than the low ones, and count more."""
    n, around = int(SECONDS * SAMPLE_RATE), np.full((40, 80), LOG_FLOOR, np.float32)
    melody = hertz * 2 ** (0.2 * np.sin(np.linspace(0, 6 * np.pi, n)))
    hiss = log_mel(np.random.default_rng(2).normal(size=n // 3).astype(np.float32) * 0.01)
    clip = np.concatenate([around, sing(melody, noise=0.002), hiss])
    inside = np.ones((1, len(clip), 1), np.float32)
    assert typical_pitch(clip[None], inside).numpy()[0, 0] == pytest.approx(np.log2(hertz / BASE_HZ), abs=octaves_off)


def test_what_is_outside_a_clip_has_no_say_in_its_pitch():
    clip = np.concatenate([sing(120.0), sing(300.0)])
    inside = (np.arange(len(clip)) < len(clip) // 2).astype(np.float32)[None, :, None]
    assert typical_pitch(clip[None], inside).numpy()[0, 0] == pytest.approx(np.log2(120.0 / BASE_HZ), abs=0.05)


def test_silence_has_a_usual_pitch():
    silence = np.full((1, 50, 80), LOG_FLOOR, np.float32)
    assert typical_pitch(silence, np.ones((1, 50, 1), np.float32)).numpy() == pytest.approx(USUAL_OCTAVES)


def test_harmonics_are_those_of_the_pitch():
    octaves = np.linspace(-1.5, 1.2, 40, dtype=np.float32)
    pitch = np.stack([octaves, np.ones(40, np.float32)], axis=1)[None]
    shown = harmonics_of(tf.constant(pitch)).numpy()
    assert shown.shape == (1, 40, HARMONIC_FEATURES)
    np.testing.assert_allclose(1200 * (read(shown[0, :, :80])[5:-5, 0] - octaves[5:-5]), 0, atol=30)
    silent = harmonics_of(tf.constant(pitch * np.array([1, 0], np.float32)))
    assert not silent.numpy()[..., :80].any()


def test_no_pitch_falls_off_the_table():
    wild = tf.constant([[[-9.0, 1.0], [9.0, 1.0]]])
    shown = harmonics_of(wild).numpy()[0, :, :80]
    np.testing.assert_allclose(shown, ripples()[[0, -1]], atol=0.05)
