"""Loudness after ITU-R BS.1770-4: K-weighting, 400 ms blocks, absolute and relative gate."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from myxtts.errors import MissingExtra
from myxtts.features.mel import SAMPLE_RATE

try:
    import scipy.signal
except ModuleNotFoundError:
    raise MissingExtra("scipy", "cpu", "setting the loudness (data.loudness_lufs)") from None

_BLOCK_SAMPLES = int(0.4 * SAMPLE_RATE)
_STEP_SAMPLES = int(0.1 * SAMPLE_RATE)
_ABSOLUTE_GATE_LUFS = -70.0
_RELATIVE_GATE_LU = 10.0
_HEADROOM = 0.99


def loudness_lufs(audio: NDArray[np.float32]) -> float:
    """Gated loudness of a mono clip at 22,050 Hz; a clip shorter than one block counts as one block."""
    weighted = scipy.signal.sosfilt(_k_weighting(), audio)
    if len(weighted) < _BLOCK_SAMPLES:
        return _to_lufs(float(np.mean(weighted**2)))
    blocks = np.lib.stride_tricks.sliding_window_view(weighted**2, _BLOCK_SAMPLES)[::_STEP_SAMPLES].mean(axis=1)
    heard = blocks[blocks > _from_lufs(_ABSOLUTE_GATE_LUFS)]
    if len(heard) == 0:
        return _to_lufs(float(blocks.mean()))
    gate = float(heard.mean()) * 10.0 ** (-_RELATIVE_GATE_LU / 10.0)
    return _to_lufs(float(heard[heard > gate].mean()))


def set_loudness(audio: NDArray[np.float32], target_lufs: float) -> NDArray[np.float32]:
    """Scale a clip to the loudness asked for, or as near to it as full scale allows."""
    gain = 10.0 ** ((target_lufs - loudness_lufs(audio)) / 20.0)
    peak = float(np.abs(audio).max())
    return audio * np.float32(min(gain, _HEADROOM / peak))


def _to_lufs(power: float) -> float:
    return -0.691 + 10.0 * float(np.log10(max(power, 1e-12)))


def _from_lufs(lufs: float) -> float:
    return 10.0 ** ((lufs + 0.691) / 10.0)


@functools.cache
def _k_weighting() -> NDArray[np.float64]:
    """The two biquads of BS.1770, from their analogue prototypes, for our sample rate."""
    shelf = _shelf(gain_db=3.999843853973347, quality=0.7071752369554196, centre_hz=1681.974450955533)
    return np.stack([shelf, _highpass(quality=0.5003270373238773, centre_hz=38.13547087602444)])


def _shelf(gain_db: float, quality: float, centre_hz: float) -> NDArray[np.float64]:
    k = np.tan(np.pi * centre_hz / SAMPLE_RATE)
    high = 10.0 ** (gain_db / 20.0)
    band = high**0.4996667741545416
    numerator = [high + band * k / quality + k * k, 2.0 * (k * k - high), high - band * k / quality + k * k]
    return np.array(numerator + _denominator(k, quality)) / (1.0 + k / quality + k * k)


def _highpass(quality: float, centre_hz: float) -> NDArray[np.float64]:
    k = np.tan(np.pi * centre_hz / SAMPLE_RATE)
    scale = 1.0 + k / quality + k * k
    return np.array([scale, -2.0 * scale, scale, *_denominator(k, quality)]) / scale


def _denominator(k: float, quality: float) -> list[float]:
    return [1.0 + k / quality + k * k, 2.0 * (k * k - 1.0), 1.0 - k / quality + k * k]
