"""The one mel spectrogram of the project, that of the HiFi-GAN family, in numpy.

22,050 Hz, n_fft 1024, hop 256, periodic Hann window, 80 Slaney bins from 0 to 8 kHz, magnitude, ln(max(x, 1e-5)).
A clip is zero-padded to whole hops, so it has exactly one frame per hop of samples; the edges are padded with zeros,
not reflected, so a clip inside a padded batch gives the frames that it gives alone.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myxtts.features.fourier import rfft

SAMPLE_RATE = 22050
FFT_SAMPLES = 1024
HOP_SAMPLES = 256
N_MELS = 80
MAX_HZ = 8000.0
FLOOR = 1e-5
LOG_FLOOR = float(np.log(FLOOR))
EDGE_SAMPLES = (FFT_SAMPLES - HOP_SAMPLES) // 2
INT16_SCALE = 1.0 / 32768.0
# A frame reaches 1.5 hops beyond its own: a crop of audio needs this many rows on each side to keep its frames.
CONTEXT_ROWS = -(-EDGE_SAMPLES // HOP_SAMPLES)

# 128 frames keep a block's spectrum inside the L2 cache: 1.3x faster than whole clips.
_BLOCK_FRAMES = 128
# OpenBLAS starts threads of its own above 2^18 multiplications, which tripled the CPU time of two packing threads.
# Eight frames at a time stay below that, and give each frame the same bits wherever it stands in a clip.
_MATMUL_FRAMES = 8


def mel_settings() -> dict[str, Any]:
    """Everything that decides the bytes of a mel frame: what a cache's mel fingerprint is made of."""
    return {
        "revision": 1,
        "sample_rate": SAMPLE_RATE,
        "fft_samples": FFT_SAMPLES,
        "hop_samples": HOP_SAMPLES,
        "n_mels": N_MELS,
        "max_hz": MAX_HZ,
        "floor": FLOOR,
        "dtype": "float16",
    }


def count_frames(n_samples: int) -> int:
    return -(-n_samples // HOP_SAMPLES)


def sample_rows(samples: NDArray[np.int16]) -> NDArray[np.int16]:
    """[frames, hop_samples]: a clip as it lies in a cache, zeros filling the last row."""
    missing = count_frames(len(samples)) * HOP_SAMPLES - len(samples)
    return np.pad(samples, (0, missing)).reshape(-1, HOP_SAMPLES)


def packed_mel(samples: NDArray[np.int16]) -> NDArray[np.float16]:
    """[frames, mels]: a clip's mel as it lies in a cache."""
    return log_mel(samples).astype(np.float16)


def log_mel(audio: NDArray[Any]) -> NDArray[np.float32]:
    """int16 or float samples in -1..1 [samples] -> float32 [frames, mels], frames = ceil(samples / hop)."""
    n_frames = count_frames(len(audio))
    padded = np.zeros(n_frames * HOP_SAMPLES + 2 * EDGE_SAMPLES, np.float32)
    padded[EDGE_SAMPLES : EDGE_SAMPLES + len(audio)] = audio
    window, filters = _window(audio.dtype.kind == "i"), _used_filters()
    frames = np.lib.stride_tricks.sliding_window_view(padded, FFT_SAMPLES)[::HOP_SAMPLES]
    mel = np.empty((-(-n_frames // _MATMUL_FRAMES) * _MATMUL_FRAMES, N_MELS), np.float32)
    for start in range(0, n_frames, _BLOCK_FRAMES):
        spectrum = rfft(frames[start : start + _BLOCK_FRAMES] * window)
        rows = -(-len(spectrum) // _MATMUL_FRAMES) * _MATMUL_FRAMES
        magnitude = np.zeros((rows, len(filters)), np.float32)
        np.abs(spectrum[:, : len(filters)], out=magnitude[: len(spectrum)])
        np.matmul(
            magnitude.reshape(-1, _MATMUL_FRAMES, len(filters)),
            filters,
            out=mel[start : start + rows].reshape(-1, _MATMUL_FRAMES, N_MELS),
        )
    mel = mel[:n_frames]
    np.maximum(mel, FLOOR, out=mel)
    return np.log(mel, out=mel)


@functools.cache
def mel_filters(
    sample_rate: int = SAMPLE_RATE, fft_samples: int = FFT_SAMPLES, n_mels: int = N_MELS, max_hz: float = MAX_HZ
) -> NDArray[np.float32]:
    """Slaney's triangular filters of equal area, float32 [fft bins, mels]; other sizes are those of judges."""
    bins_hz = np.arange(fft_samples // 2 + 1) * sample_rate / fft_samples
    edges_hz = _mel_to_hz(np.linspace(0.0, _hz_to_mel(max_hz), n_mels + 2))
    low, centre, high = edges_hz[:-2], edges_hz[1:-1], edges_hz[2:]
    rising = (bins_hz[:, None] - low) / (centre - low)
    falling = (high - bins_hz[:, None]) / (high - centre)
    triangles = np.maximum(0.0, np.minimum(rising, falling))
    return (triangles * 2.0 / (high - low)).astype(np.float32)


@functools.cache
def hann_window() -> NDArray[np.float32]:
    """Periodic Hann window, float32 [n_fft]."""
    return (0.5 - 0.5 * np.cos(2.0 * np.pi * np.arange(FFT_SAMPLES) / FFT_SAMPLES)).astype(np.float32)


@functools.cache
def _window(integer: bool) -> NDArray[np.float32]:
    """The scale of int16 is folded into the window: one pass over the samples less."""
    return hann_window() * np.float32(INT16_SCALE) if integer else hann_window()


@functools.cache
def _used_filters() -> NDArray[np.float32]:
    """The filters without the bins above 8 kHz, where all of them are zero."""
    filters = mel_filters()
    return np.ascontiguousarray(filters[: int(np.flatnonzero(filters.any(axis=1))[-1]) + 1])


# Slaney's scale (Auditory Toolbox, 1998): linear below 1 kHz, 200/3 Hz a step; logarithmic above, 27 steps per 6.4x.
_LINEAR_HZ = 200.0 / 3.0
_KNEE_HZ = 1000.0
_KNEE_MEL = _KNEE_HZ / _LINEAR_HZ
_LOG_STEP = np.log(6.4) / 27.0


def _hz_to_mel(hz: float) -> float:
    return hz / _LINEAR_HZ if hz < _KNEE_HZ else _KNEE_MEL + float(np.log(hz / _KNEE_HZ)) / float(_LOG_STEP)


def _mel_to_hz(mel: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(mel < _KNEE_MEL, mel * _LINEAR_HZ, _KNEE_HZ * np.exp((mel - _KNEE_MEL) * _LOG_STEP))
