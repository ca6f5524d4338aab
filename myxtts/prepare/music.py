"""Is there music? Tones that stay where they are, which a voice's never do.

After the continuous frequency activation of K. Seyerlehner and others (DAFx 2007): of every window's spectrum the bins
that stand out from their neighbours count, and those that stand out in most windows of two seconds are held tones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter1d

from myxtts.evaluation.front_end import RATE
from myxtts.prepare.activity import WINDOW

SPAN = 64  # windows that are judged together: 2 s

_FFT = 2048
_LOWEST_HZ, _HIGHEST_HZ = 180, 5000  # mains hum and its first overtones lie below
_NEIGHBOURS = 21  # bins, 164 Hz
_STANDS_OUT = 2.0  # of natural logarithm of power over its neighbours
_TONES = 5  # a chord and its overtones have more; a whistle has not
_STEP = 16


class MusicDetector:
    """Samples at 16 kHz [n * 512], block after block -> how steady the strongest tones are, 0 to 1 [n]."""

    def __init__(self) -> None:
        self._before = np.zeros(_FFT - WINDOW, np.float32)
        low, high = (round(hertz * _FFT / RATE) for hertz in (_LOWEST_HZ, _HIGHEST_HZ))
        self._bins = slice(low, high)
        self._shape = np.hanning(_FFT).astype(np.float32)

    def __call__(self, audio: NDArray[np.float32]) -> NDArray[np.float32]:
        padded = np.concatenate([self._before, audio])
        self._before = padded[-(_FFT - WINDOW) :]
        frames = np.lib.stride_tricks.sliding_window_view(padded, _FFT)[::WINDOW]
        return _steadiness(self._standing_out(frames))

    def _standing_out(self, frames: NDArray[np.float32]) -> NDArray[np.float32]:
        """[windows, bins]: 1 where a bin is a peak."""
        power = np.square(np.abs(np.fft.rfft(frames * self._shape, axis=1)[:, self._bins]))
        height = np.log(power + 1e-8)
        return (height - uniform_filter1d(height, _NEIGHBOURS, axis=1) > _STANDS_OUT).astype(np.float32)


def _steadiness(peaks: NDArray[np.float32]) -> NDArray[np.float32]:
    """Of each span, the share of its windows in which its five steadiest bins are peaks; a window has its span's."""
    steadiness = np.zeros(len(peaks), np.float32)
    for start in range(0, len(peaks), _STEP):
        first = max(min(start + _STEP // 2 - SPAN // 2, len(peaks) - SPAN), 0)
        share = peaks[first : first + SPAN].mean(axis=0)
        steadiness[start : start + _STEP] = np.sort(share)[-_TONES:].mean()
    return steadiness
