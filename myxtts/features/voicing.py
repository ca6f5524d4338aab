"""What a sound has if somebody speaks in it: a level that comes and goes, and a voice with a pitch."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from myxtts.features.mel import SAMPLE_RATE

_FRAME, _HOP = 1024, 512  # 46 ms: three periods of the lowest voice
_LOWEST_HZ, _HIGHEST_HZ = 60, 400
_MOST_FRAMES = 2600  # of a longer clip than a minute every second, third ... is enough
_FLOOR = 1e-4  # below the loudest frame, 80 dB, all is silence
_LOUD, _LOUDER = 0.1, 0.03  # of the level that a twentieth of the frames exceeds; of the loudest, if few speak
_PERIODIC = 0.5  # of a frame's energy, that a period later is there again


class Signs(NamedTuple):
    level_spread: float  # of the levels of its frames, in nepers
    voiced_share: float  # of its loud frames, of those that have a pitch


def signs_of_speech(samples: NDArray[np.int16]) -> Signs:
    """Of a clip at 22,050 Hz, however quiet it is."""
    if len(samples) < _FRAME:
        samples = np.pad(samples, (0, _FRAME - len(samples)))
    frames = np.lib.stride_tricks.sliding_window_view(samples, _FRAME)[::_HOP]
    frames = frames[:: -(-len(frames) // _MOST_FRAMES)].astype(np.float32)
    frames = frames - frames.mean(axis=1, keepdims=True)
    level = np.sqrt(np.square(frames).mean(axis=1))
    level = np.maximum(level, _FLOOR * max(float(level.max()), 1.0))
    loud = level > max(_LOUD * float(np.percentile(level, 95)), _LOUDER * float(level.max()))
    return Signs(float(np.log(level).std()), float(_is_periodic(frames[loud]).mean()))


def _is_periodic(frames: NDArray[np.float32]) -> NDArray[np.bool_]:
    window = np.hanning(_FRAME).astype(np.float32)
    shortest, longest = SAMPLE_RATE // _HIGHEST_HZ, SAMPLE_RATE // _LOWEST_HZ
    similar = _autocorrelation(frames * window)
    similar /= np.maximum(similar[:, :1], 1e-9) * (faded := _autocorrelation(window)) / faded[0]
    return np.asarray(similar[:, shortest:longest].max(axis=1) > _PERIODIC)


def _autocorrelation(frames: NDArray[np.float32]) -> NDArray[np.float32]:
    spectrum = np.square(np.abs(np.fft.rfft(frames, 2 * _FRAME)))
    return np.fft.irfft(spectrum)[..., : SAMPLE_RATE // _LOWEST_HZ].astype(np.float32)
