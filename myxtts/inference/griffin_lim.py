"""Log-mel frames become sound without any training: the mel is inverted, then fast Griffin-Lim finds the phases.

What was measured on six clips of speech, as |found - wanted| / |wanted| of magnitudes, lower is better:
- Many spectra have the same mel. Least squares (pseudo-inverse, then projected steps) ends 0.18 away from the true one,
  an exact non-negative solver, which prefers few bins, 0.77; multiplicative updates of the Kullback-Leibler divergence
  from a flat spectrum 0.144, and 15 of them leave an error of 0.0006 in the log-mel.
- Phases that follow each spectral peak from frame to frame (Beauregard, Harish and Wyse, 2015; here with the mean
  frequency of both frames) begin at 0.21, random ones at 0.64: 8 iterations come as far as 32 from random phases, and
  the result needs no seed.
- Momentum 0.99 (Perraudin, Balazs and Søndergaard, 2013) after 32 iterations: 0.094; plain Griffin-Lim from random
  phases: 0.150.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myxtts.features.fourier import irfft, rfft
from myxtts.features.mel import EDGE_SAMPLES, FFT_SAMPLES, HOP_SAMPLES, hann_window, mel_filters

Floats = NDArray[np.float32]
Spectrum = NDArray[np.complex64]

ITERATIONS = 32
MOMENTUM = 0.99
_MEL_ROUNDS = 15
_TINY = np.float32(1e-12)
_OVERLAP = FFT_SAMPLES // HOP_SAMPLES
_BLOCK_FRAMES = 128  # a block's frames and spectrum stay in the L2 cache


def griffin_lim(log_mel: NDArray[Any], iterations: int = ITERATIONS, workers: int | None = None) -> Floats:
    """Natural-log mel [frames, mels] -> float32 [frames * hop]; the same bits for the same mel and any `workers`."""
    if len(log_mel) == 0:
        return np.zeros(0, np.float32)
    magnitude = invert_mel(log_mel)
    return find_phases(magnitude, iterations, workers)


def invert_mel(log_mel: NDArray[Any], rounds: int = _MEL_ROUNDS) -> Floats:
    """A smooth, non-negative magnitude spectrum with this mel: [frames, mels] -> [frames, bins up to 8 kHz]."""
    mel = np.exp(np.asarray(log_mel, np.float32))
    filters, back = _filters()
    spectrum = np.ones((len(mel), len(filters)), np.float32)
    for _ in range(rounds):
        spectrum *= (mel / (spectrum @ filters + _TINY)) @ back
    return spectrum


@functools.cache
def _filters() -> tuple[Floats, Floats]:
    """The filters up to the last bin they see, [bins, mels], and the way back, where the weights of a bin sum to 1."""
    filters = mel_filters()
    used = np.flatnonzero(filters.any(axis=1))
    filters = np.ascontiguousarray(filters[: used[-1] + 1])
    sums = filters.sum(axis=1, keepdims=True)
    return filters, np.ascontiguousarray((filters / np.maximum(sums, _TINY)).T)


def find_phases(magnitude: Floats, iterations: int = ITERATIONS, workers: int | None = None) -> Floats:
    """The sound whose spectrum comes near to these magnitudes [frames, bins]; bins above the last given are silent."""
    n_frames = len(magnitude)
    starts = range(0, n_frames, _BLOCK_FRAMES)
    blocks = [_Block(start, magnitude[start : start + _BLOCK_FRAMES]) for start in starts]
    phases = follow_peaks(magnitude)
    level = _level(n_frames)
    with ThreadPoolExecutor(min(workers or os.cpu_count() or 1, len(blocks))) as pool:
        signal = _join(pool.map(lambda block: block.begin(phases), blocks), blocks, level)
        for _ in range(iterations):
            signal = _join(pool.map(lambda block, signal=signal: block.step(signal), blocks), blocks, level)
    return signal[EDGE_SAMPLES : EDGE_SAMPLES + n_frames * HOP_SAMPLES].copy()


def follow_peaks(magnitude: Floats) -> Spectrum:
    """Unit phases [frames, bins]: each bin turns with the nearest peak of its frame, from that peak's last phase on."""
    nearest, turns = _peaks(magnitude)
    phase = np.zeros(magnitude.shape, np.float32)
    for frame in range(1, len(phase)):
        bins = nearest[frame]
        mean = 0.5 * (turns[frame] + turns[frame - 1, bins])
        phase[frame] = (phase[frame - 1, bins] + mean) % 1.0
    # The window is centred in the frame, so along a peak's bins the phase alternates by half a turn.
    phase[:, 1::2] += 0.5
    phase *= np.float32(2.0 * np.pi)
    unit = np.empty(phase.shape, np.complex64)
    unit.real, unit.imag = np.cos(phase), np.sin(phase)
    return unit


def _peaks(magnitude: Floats) -> tuple[NDArray[np.int32], Floats]:
    """For each bin the nearest peak of its frame, and by how many turns that peak advances in one hop."""
    bins = np.arange(magnitude.shape[1], dtype=np.int32)
    padded = np.pad(magnitude, ((0, 0), (1, 1)))
    low, middle, high = padded[:, :-2], padded[:, 1:-1], padded[:, 2:]
    peak = (middle > low) & (middle >= high)
    curve = np.where(peak, low - 2.0 * middle + high, -1.0)
    offset = np.where(peak, 0.5 * (low - high) / curve, 0.0).astype(np.float32)  # the top of a parabola through three
    far = np.int32(4 * len(bins))
    before = np.maximum.accumulate(np.where(peak, bins, -far), axis=1)
    after = np.minimum.accumulate(np.where(peak, bins, far)[:, ::-1], axis=1)[:, ::-1]
    nearest = np.where(bins - before <= after - bins, before, after).clip(0, len(bins) - 1)
    hertz = np.take_along_axis(bins + offset, nearest, axis=1)
    return nearest, (hertz * np.float32(HOP_SAMPLES / FFT_SAMPLES)).astype(np.float32)


class _Block:
    """Some consecutive frames: what they should sound like, and what their spectrum was one iteration ago."""

    def __init__(self, start: int, magnitude: Floats):
        self.start, self.magnitude = start, magnitude
        self.last: Spectrum | None = None

    def begin(self, phases: Spectrum) -> Floats:
        return self._sound(self.magnitude * phases[self.start : self.start + len(self.magnitude)])

    def step(self, signal: Floats) -> Floats:
        """One iteration: the spectrum that the signal has, pushed on by momentum, with the wanted magnitudes."""
        n_frames, n_bins = self.magnitude.shape
        first = self.start * HOP_SAMPLES
        around = signal[first : first + (n_frames + _OVERLAP - 1) * HOP_SAMPLES]
        frames = np.lib.stride_tricks.sliding_window_view(around, FFT_SAMPLES)[::HOP_SAMPLES]
        spectrum = rfft(frames * hann_window())[:, :n_bins]
        pushed = spectrum * np.float32(1.0 + MOMENTUM)
        pushed -= spectrum if self.last is None else self.last
        self.last = np.multiply(spectrum, np.float32(MOMENTUM), out=self.last)
        pushed *= self.magnitude / np.maximum(np.abs(pushed), _TINY)
        return self._sound(pushed)

    def _sound(self, spectrum: Spectrum) -> Floats:
        """Overlap-added frames [frames + 3, hop]."""
        n_frames = len(spectrum)
        frames = irfft(spectrum, FFT_SAMPLES)
        frames *= hann_window()
        return _overlap_add(frames.reshape(n_frames, _OVERLAP, HOP_SAMPLES))


def _overlap_add(frames: Floats) -> Floats:
    n_frames = len(frames)
    rows = np.zeros((n_frames + _OVERLAP - 1, HOP_SAMPLES), np.float32)
    for part in range(_OVERLAP):
        rows[part : part + n_frames] += frames[:, part]
    return rows


def _join(pieces: Iterable[Floats], blocks: list[_Block], level: Floats) -> Floats:
    rows = np.zeros((len(level) // HOP_SAMPLES, HOP_SAMPLES), np.float32)
    for block, piece in zip(blocks, pieces, strict=True):
        rows[block.start : block.start + len(piece)] += piece
    signal = rows.reshape(-1)
    signal *= level
    return signal


@functools.lru_cache(maxsize=8)
def _level(n_frames: int) -> Floats:
    """1 / the sum of the squared windows over each sample; 0 in the padding, which is known to be silent."""
    squares = (hann_window() ** 2).reshape(1, _OVERLAP, HOP_SAMPLES)
    total = _overlap_add(np.repeat(squares, n_frames, axis=0)).reshape(-1)
    level = np.zeros_like(total)
    inside = slice(EDGE_SAMPLES, EDGE_SAMPLES + n_frames * HOP_SAMPLES)
    level[inside] = 1.0 / total[inside]
    return level
