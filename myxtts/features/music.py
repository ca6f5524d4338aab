"""Is there music? Tones that stay where they are, which a voice's never do.

After the continuous frequency activation of K. Seyerlehner and others (DAFx 2007): of every window's spectrum the bins
that stand out from their neighbours count, and those that stand out in most windows of two seconds are held tones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# From here on it is music, also behind a voice: talk has 0.58 at most, single clips of words 0.65, real music 0.57 to
# 0.98. Letters said one by one have more, since their vowels are held.
HELD = 0.65
SPAN = 64  # windows that are judged together: 2 s; of less, vowels are taken for held tones

_OVERLAP = 4  # windows in a spectrum
_LOWEST_HZ, _HIGHEST_HZ = 180, 5000  # mains hum and its first overtones lie below
_NEIGHBOURS = 21  # bins, 164 Hz
_STANDS_OUT = 2.0  # of natural logarithm of power over its neighbours
_TONES = 5  # a chord and its overtones have more; a whistle has not
_STEP = 16


class MusicDetector:
    """Samples of whole windows, each of 32 ms, block after block -> how steady the strongest tones are, 0 to 1."""

    def __init__(self, rate: int, window: int) -> None:
        self.window, fft_samples = window, _OVERLAP * window
        self._before = np.zeros(fft_samples - window, np.float32)
        low, high = (round(hertz * fft_samples / rate) for hertz in (_LOWEST_HZ, _HIGHEST_HZ))
        self._bins = slice(low, high)
        self._shape = np.hanning(fft_samples).astype(np.float32)

    def __call__(self, audio: NDArray[np.float32]) -> NDArray[np.float32]:
        padded = np.concatenate([self._before, audio])
        self._before = padded[-len(self._before) :]
        frames = np.lib.stride_tricks.sliding_window_view(padded, len(self._shape))[:: self.window]
        return _steadiness(self._standing_out(frames))

    def _standing_out(self, frames: NDArray[np.float32]) -> NDArray[np.float32]:
        """[windows, bins]: 1 where a bin is a peak."""
        power = np.square(np.abs(np.fft.rfft(frames * self._shape, axis=1)[:, self._bins]))
        height = np.log(power + 1e-8)
        return (height - _around(height) > _STANDS_OUT).astype(np.float32)


def _around(height: NDArray[np.float32]) -> NDArray[np.float64]:
    """The mean of each bin's neighbours; by hand, since SciPy is not there where only an exported model speaks."""
    mirrored = np.pad(height, [(0, 0), (_NEIGHBOURS // 2 + 1, _NEIGHBOURS // 2)], "symmetric")
    sums = np.cumsum(mirrored, axis=1, dtype=np.float64)
    return (sums[:, _NEIGHBOURS:] - sums[:, :-_NEIGHBOURS]) / _NEIGHBOURS


def _steadiness(peaks: NDArray[np.float32]) -> NDArray[np.float32]:
    """Of each span, the share of its windows in which its five steadiest bins are peaks; a window has its span's."""
    steadiness = np.zeros(len(peaks), np.float32)
    for start in range(0, len(peaks), _STEP):
        first = max(min(start + _STEP // 2 - SPAN // 2, len(peaks) - SPAN), 0)
        share = peaks[first : first + SPAN].mean(axis=0)
        steadiness[start : start + _STEP] = np.sort(share)[-_TONES:].mean()
    return steadiness
