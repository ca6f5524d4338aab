"""What a sound has if somebody speaks in it: a level that comes and goes, and a voice with a pitch."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from myxtts.features.mel import SAMPLE_RATE

_FRAME, _HOP = 1024, 512  # 46 ms: three periods of the lowest voice
_LOWEST_HZ, _HIGHEST_HZ = 60, 400
_SHORTEST, _LONGEST = SAMPLE_RATE // _HIGHEST_HZ, SAMPLE_RATE // _LOWEST_HZ  # periods, in samples
_MOST_FRAMES = 2600  # of a longer clip than a minute every second, third ... is enough
_FLOOR = 1e-4  # below the loudest frame, 80 dB, all is silence
_LOUD, _LOUDER = 0.1, 0.03  # of the level that a twentieth of the frames exceeds; of the loudest, if few speak
_PERIODIC = 0.5  # of a frame's energy, that a period later is there again
_AS_GOOD = 0.9  # of the best fit: two periods later it is there again, too, so the first that is nearly as good is it


class Signs(NamedTuple):
    level_spread: float  # of the levels of its frames, in nepers
    voiced_share: float  # of its loud frames, of those that have a pitch


def signs_of_speech(samples: NDArray[np.int16]) -> Signs:
    """Of a clip at 22,050 Hz, however quiet it is."""
    frames = _frames_of(samples)
    level = _level_of(frames)
    return Signs(float(np.log(level).std()), float(_is_periodic(_fits(_loud(frames, level))).mean()))


def pitch_in_octaves(samples: NDArray[np.int16]) -> float | None:
    """The median over the loud frames that have a pitch, in octaves from 1 Hz; None where none has one."""
    frames = _frames_of(samples)
    fits = _fits(_loud(frames, _level_of(frames)))
    fits = fits[_is_periodic(fits)]
    if not len(fits):
        return None
    good = fits >= _AS_GOOD * fits.max(axis=1, keepdims=True)
    top = np.pad(np.diff(fits, axis=1) < 0, ((0, 0), (0, 1)), constant_values=True)  # it falls from here on
    return float(np.median(np.log2(SAMPLE_RATE / (_SHORTEST + np.argmax(good & top, axis=1)))))


def _frames_of(samples: NDArray[np.int16]) -> NDArray[np.float32]:
    if len(samples) < _FRAME:
        samples = np.pad(samples, (0, _FRAME - len(samples)))
    frames = np.lib.stride_tricks.sliding_window_view(samples, _FRAME)[::_HOP]
    frames = frames[:: -(-len(frames) // _MOST_FRAMES)].astype(np.float32)
    centred: NDArray[np.float32] = frames - frames.mean(axis=1, keepdims=True)
    return centred


def _level_of(frames: NDArray[np.float32]) -> NDArray[np.float32]:
    level = np.sqrt(np.square(frames).mean(axis=1))
    return np.maximum(level, np.float32(_FLOOR * max(float(level.max()), 1.0)))


def _loud(frames: NDArray[np.float32], level: NDArray[np.float32]) -> NDArray[np.float32]:
    return frames[level > max(_LOUD * float(np.percentile(level, 95)), _LOUDER * float(level.max()))]


def _is_periodic(fits: NDArray[np.float32]) -> NDArray[np.bool_]:
    return np.asarray(fits.max(axis=1) > _PERIODIC)


def _fits(frames: NDArray[np.float32]) -> NDArray[np.float32]:
    """How much of each frame is there again after each period that a voice can have [frames, periods]."""
    window = np.hanning(_FRAME).astype(np.float32)
    similar = _autocorrelation(frames * window)
    similar /= np.maximum(similar[:, :1], 1e-9) * (faded := _autocorrelation(window)) / faded[0]
    return similar[:, _SHORTEST:_LONGEST]


def _autocorrelation(frames: NDArray[np.float32]) -> NDArray[np.float32]:
    spectrum = np.square(np.abs(np.fft.rfft(frames, 2 * _FRAME)))
    return np.fft.irfft(spectrum)[..., :_LONGEST].astype(np.float32)
