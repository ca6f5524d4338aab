"""The excitation is where the pitch is, the shaping keeps the mel, and pieces are the whole."""

import numpy as np
import pytest
import tensorflow as tf

from myxtts.features.mel import HOP_SAMPLES, SAMPLE_RATE, log_mel
from myxtts.inference.vocoder import find_vocoder
from myxtts.models import weights
from myxtts.models.excitation import noise_of, pulses_of, samples_of, spectra_of
from myxtts.models.spectral import distance, spectrograms
from myxtts.models.vocoder import Vocoder
from myxtts.models.vocoder_description import VocoderDescription

FRAMES = 60


def pitch_at(hertz: float) -> np.ndarray:
    octaves = np.full((1, FRAMES), np.log2(hertz / 220.0), np.float32)
    return np.stack([octaves, np.ones_like(octaves)], axis=-1)


def vowel(hertz: float = 140.0, seconds: float = 1.0) -> np.ndarray:
    """Harmonics under one formant, with some breath."""
    time = np.arange(int(seconds * SAMPLE_RATE)) / SAMPLE_RATE
    tones = np.arange(1, int(5000 / hertz))
    levels = 1.0 / (1.0 + ((tones * hertz - 700.0) / 400.0) ** 2)
    sound = sum(level * np.cos(2 * np.pi * hertz * n * time) for n, level in zip(tones, levels, strict=True))
    return (0.1 * sound + 0.002 * np.random.default_rng(0).normal(size=len(time))).astype(np.float32)


@pytest.mark.parametrize("hertz", [90.0, 220.0, 400.0])
def test_pulses_are_equally_loud_harmonics_of_the_pitch(hertz):
    pulses = pulses_of(pitch_at(hertz)).numpy()[0]
    assert np.mean(pulses**2) == pytest.approx(1.0, rel=0.05)
    spectrum = np.abs(np.fft.rfft(pulses * np.hanning(len(pulses))))
    bins = np.arange(1, int(10_000 / hertz)) * hertz * len(pulses) / SAMPLE_RATE
    peaks = np.array([spectrum[round(at) - 2 : round(at) + 3].max() for at in bins])
    between = np.array([spectrum[round(at + 0.5 * bins[0])] for at in bins[:-1]])
    assert peaks.min() > 0.7 * peaks.max()
    assert between.max() < 0.05 * peaks.min()


def test_noise_is_white_of_power_one_and_the_same_each_time():
    noise = noise_of(pitch_at(100.0)).numpy()
    assert np.mean(noise**2) == pytest.approx(1.0, rel=0.05)
    np.testing.assert_array_equal(noise, noise_of(pitch_at(300.0)).numpy())


def test_spectra_turn_back_into_their_samples():
    sound = np.random.default_rng(1).normal(size=(2, FRAMES * HOP_SAMPLES)).astype(np.float32)
    again = samples_of(spectra_of(sound)).numpy()
    inner = slice(3 * HOP_SAMPLES, -3 * HOP_SAMPLES)
    np.testing.assert_allclose(again[:, inner], sound[:, inner], atol=1e-4)


def test_a_new_vocoder_already_follows_level_and_pitch():
    mel = log_mel(vowel())
    again = log_mel(Vocoder()(mel[None]).numpy()[0])
    inner = slice(5, -5)
    loud = mel[inner] > mel[inner].max() - 4.0
    assert np.abs(again[inner] - mel[inner])[loud].mean() < 1.0


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A vocoder whose every weight counts."""
    folder, model = tmp_path_factory.mktemp("vocoder"), Vocoder()
    draw = np.random.default_rng(2)
    VocoderDescription().save(folder)
    made = {name: value + 0.02 * draw.normal(size=value.shape) for name, value in weights.weights_of(model).items()}
    weights.save(folder / "weights.safetensors", {name: value.astype(np.float16) for name, value in made.items()})
    return folder


@pytest.mark.parametrize("chunk_frames", [1, 16, 64])
def test_pieces_are_the_whole(folder, chunk_frames):
    vocoder, mel = find_vocoder(folder), log_mel(vowel(seconds=1.2))
    pieces = list(vocoder.stream(mel, chunk_frames))
    assert len(pieces) == -(-len(mel) // chunk_frames)
    np.testing.assert_allclose(np.concatenate(pieces), vocoder(mel), atol=1e-4)


def test_the_same_mel_is_the_same_sound(folder):
    mel = log_mel(vowel())
    np.testing.assert_array_equal(find_vocoder(folder)(mel), find_vocoder(folder)(mel))


def noise_at(gain: float, seed: int) -> list[tf.Tensor]:
    return spectrograms(tf.constant(gain * np.random.default_rng(seed).normal(size=(4, 8192)), tf.float32))


def test_a_distance_knows_equal_sounds_and_other_levels():
    real = noise_at(0.1, 0)
    assert float(distance(real, real)) == pytest.approx(0.0, abs=1e-3)
    apart = {gain: float(distance(real, noise_at(gain, 1))) for gain in (0.03, 0.1, 0.3)}
    assert min(apart, key=apart.get) == 0.1
