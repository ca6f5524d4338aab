"""What a clip sounds like, measured on exactly the samples that a packer would store."""

from __future__ import annotations

import math

import numpy as np
import xxhash
from numpy.typing import NDArray

from myxtts.corpus.report import Sound
from myxtts.errors import RowError
from myxtts.features.audio import AudioSettings, load_clip
from myxtts.features.mel import SAMPLE_RATE

_FULL_SCALE = 32767
_EVERY = 4  # of the samples, for the level: within 0.1 dB of all of them, in a quarter of the time


def hear_clips(paths: list[str], settings: AudioSettings) -> list[Sound | RowError]:
    """The sound of each file, or why a packer rejects it: `load_clip` decides that for both."""
    return [_hear(path, settings) for path in paths]


def _hear(path: str, settings: AudioSettings) -> Sound | RowError:
    try:
        samples = load_clip(path, settings)
    except RowError as error:
        return error
    peak = max(int(samples.max()), -int(samples.min()))
    some = samples[::_EVERY].astype(np.float32)
    power = float(np.einsum("i,i->", some, some)) / len(some)
    return Sound(
        seconds=len(samples) / SAMPLE_RATE,
        level_db=_decibels(math.sqrt(power)),
        peak_db=_decibels(peak),
        clipped_share=_clipped_share(samples) if peak >= _FULL_SCALE else 0.0,
        digest=xxhash.xxh3_64_intdigest(np.ascontiguousarray(samples).data.cast("B")),
    )


def _decibels(amplitude: float) -> float:
    return 20.0 * math.log10(max(amplitude, 0.1) / 32768.0)


def _clipped_share(samples: NDArray[np.int16]) -> float:
    """The share of samples at full scale whose neighbour before them is there too: of a peak that was cut off."""
    high, low = samples >= _FULL_SCALE, samples <= -_FULL_SCALE
    runs = np.count_nonzero(high[1:] & high[:-1]) + np.count_nonzero(low[1:] & low[:-1])
    return runs / len(samples)
