"""The numbers and tables of our vocoder that are not learnt."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from myxtts.features.mel import FFT_SAMPLES, HOP_SAMPLES, N_MELS, SAMPLE_RATE, hann_window, mel_filters

BINS = FFT_SAMPLES // 2 + 1
NOISE_SEED = (17, 86)  # the same breath for the same number of frames
# Four Hann windows, squared, add up to the same everywhere but within a window of the clip's ends.
OVERLAP = float(np.square(hann_window()).sum() / HOP_SAMPLES)
DIM, BLOCKS, KERNEL, EXPANSION = 288, 6, 7, 3
CONTEXT_FRAMES = BLOCKS * (KERNEL // 2) + 2  # how far the filters and the overlapping windows look
_CLEAR_HZ, _CLEAR_EDGE_HZ, _CLEAR_SHARE = 4000.0, 400.0, 0.95
LOUDEST = 6.0  # natural log of a filter's gain: nothing real is louder


def noise_seed(seed: int | None) -> tuple[int, int]:
    """What TensorFlow's generator takes for a user's seed."""
    return NOISE_SEED if seed is None else (seed, NOISE_SEED[1] + 1)


@functools.cache
def spread() -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    filters = mel_filters().astype(np.float64)
    middles = (filters * np.arange(BINS)[:, None]).sum(axis=0) / filters.sum(axis=0)
    spread = np.stack([np.interp(np.arange(BINS), middles, one) for one in np.eye(N_MELS)])
    flat = 0.89 * np.sqrt(0.375 * FFT_SAMPLES)  # the mean magnitude of windowed noise
    return spread.astype(np.float32), (np.log(filters.sum(axis=0) * flat) @ spread).astype(np.float32)


@functools.cache
def clear() -> NDArray[np.float32]:
    """[bins]: how much of its breath a voiced frame lacks, almost all below 4 kHz and none far above.

    Losses on spectrograms fill the valleys between harmonics with noise, and listeners hear it: without it the same
    weights had naturalness 3.80 instead of 3.56 (copies) and 3.26 instead of 2.98 (spoken frames). Trained without it
    they had 3.40 and 2.76: the harmonics then grow into the valleys.
    """
    hertz = np.linspace(0.0, SAMPLE_RATE / 2, BINS)
    return (_CLEAR_SHARE / (1.0 + np.exp((hertz - _CLEAR_HZ) / _CLEAR_EDGE_HZ))).astype(np.float32)


@functools.cache
def least_phase() -> NDArray[np.float32]:
    """[bins, bins]: from log gains to the phase of the filter that has them and rings least (minimum phase)."""
    cepstra = np.fft.irfft(np.eye(BINS), axis=1)
    cepstra[:, 1 : FFT_SAMPLES // 2] *= 2.0
    cepstra[:, FFT_SAMPLES // 2 + 1 :] = 0.0
    return np.fft.rfft(cepstra, axis=1).imag.astype(np.float32)
