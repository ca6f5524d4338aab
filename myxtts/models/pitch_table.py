"""One table of the ripple that each pitch's harmonics leave in a log-mel frame, and how frames are matched with it."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from myxtts.features.mel import FFT_SAMPLES, N_MELS, SAMPLE_RATE, mel_filters

Floats = NDArray[np.float32]

BASE_HZ = 220.0
LOWEST, _HIGHEST = float(np.log2(60.0 / BASE_HZ)), float(np.log2(600.0 / BASE_HZ))
STEPS = 96  # pitches per octave in the table

_MATCHED_MELS = 50  # up to 3 kHz: above it neither voices nor mel bins show single harmonics
_ENVELOPE_MELS = 4.0  # spread of the smoothing that takes the envelope off a frame
QUIET = 1.0  # a ripple much smaller than this, in log-mel units, is none
UNVOICED, VOICED = 0.35, 0.60  # how well a ripple fits a pitch, from noise to speech
AROUND_FRAMES, PULL = 40, 0.25  # an octave away from the half second around costs this much of the fit
HARDLY_VOICED = 0.4  # a fit from which on a frame is listened to, the more the better
TYPICAL_OCTAVES = 0.5  # from a voice's mean pitch: what is further away is an octave error, or hardly counts
USUAL_OCTAVES, USUAL_WEIGHT = -0.4, 0.02  # 167 Hz, between men and women: what is assumed where nothing is voiced
NEAR_FRAMES = 5  # frames without a pitch take it from so many before and after


@functools.cache
def ripples() -> Floats:
    """[pitches, mels]: log-mel of equally loud harmonics seen through the Hann window, without its mean."""
    hertz = BASE_HZ * 2.0 ** table_octaves().astype(np.float64)
    bins, filters = np.arange(FFT_SAMPLES // 2 + 1), mel_filters().astype(np.float64)
    combs = np.stack([_comb(bins, hz * FFT_SAMPLES / SAMPLE_RATE) for hz in hertz])
    table = np.log(combs @ filters + 1e-2) - np.log(filters.sum(axis=0))
    return (table - table.mean(axis=1, keepdims=True)).astype(np.float32)


def _comb(bins: NDArray[np.int64], spacing: float) -> NDArray[np.float64]:
    """Magnitudes of harmonics `spacing` bins apart: the main lobe of the window at each."""
    away = bins[:, None] - np.arange(spacing, bins[-1], spacing)[None]
    lobe = np.sinc(away) + 0.5 * np.sinc(away - 1.0) + 0.5 * np.sinc(away + 1.0)
    return np.sqrt(np.square(lobe).sum(axis=1))


@functools.cache
def table_octaves() -> Floats:
    return np.arange(LOWEST, _HIGHEST + 1.0 / STEPS, 1.0 / STEPS).astype(np.float32)


@functools.cache
def matcher() -> tuple[Floats, Floats]:
    """[mels, matched mels], which takes the envelope off a frame, and the ripples so treated, of unit length."""
    distance = np.arange(N_MELS)[:, None] - np.arange(N_MELS)[None]
    smooth = np.exp(-0.5 * (distance / _ENVELOPE_MELS) ** 2)
    flat = (np.eye(N_MELS) - smooth / smooth.sum(axis=0))[:, :_MATCHED_MELS]
    table = ripples() @ flat
    return flat.astype(np.float32), (table / np.linalg.norm(table, axis=1, keepdims=True)).astype(np.float32)


class MeanPitch(NamedTuple):
    octaves: float  # from 220 Hz
    voiced_frames: float


def mean_pitch(frames: Floats) -> MeanPitch:
    """Over the voiced ones among some log-mel frames [frames, mels], to half a step of the table: `pitch.pitch_of`
    without TensorFlow."""
    envelope, table = matcher()
    ripple = frames @ envelope
    fit = (ripple / (np.linalg.norm(ripple, axis=1, keepdims=True) + np.float32(QUIET))) @ table.T
    octaves = table_octaves()
    sure = np.square(np.maximum(fit.max(axis=1) - HARDLY_VOICED, 0.0)) + 1e-6
    around = _sum_around(octaves[fit.argmax(axis=1)] * sure) / _sum_around(sure)
    fit -= np.float32(PULL) * np.abs(octaves - around[:, None].astype(np.float32))
    best = fit.argmax(axis=1)
    height = fit[np.arange(len(fit)), best] + PULL * np.abs(octaves[best] - around)
    voiced = np.clip((height - UNVOICED) / (VOICED - UNVOICED), 0.0, 1.0)
    return MeanPitch(float(octaves[best] @ voiced / max(voiced.sum(), 1e-6)), float(voiced.sum()))


def _sum_around(values: Floats) -> NDArray[np.float64]:
    sums = np.convolve(values, np.ones(2 * AROUND_FRAMES + 1))
    return sums[AROUND_FRAMES : AROUND_FRAMES + len(values)]
