"""Sharpness without a network: frames averaged over what could have been said are blurred, and their spread shows it.

`bins` is the spread over time of differences between neighbouring mel bins, which smeared harmonics lose first; `time`
is the spread over time of each bin. Both are made over real: 1 is as sharp as the recording.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Sharpness(NamedTuple):
    bins: float
    time: float


def sharpness(made: NDArray[Any], real: NDArray[Any]) -> Sharpness:
    """Of log-mel frames [frames, mels] beside the real ones, which need not be as many."""
    return Sharpness(*(over / max(under, 1e-6) for over, under in zip(_spreads(made), _spreads(real), strict=True)))


def _spreads(mel: NDArray[Any]) -> tuple[float, float]:
    mel = np.asarray(mel, np.float64)
    return float(np.diff(mel, axis=1).std(axis=0).mean()), float(mel.std(axis=0).mean())
