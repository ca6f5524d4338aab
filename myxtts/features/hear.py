"""What a clip sounds like, and whether a packer will store it.

Resampling a clip of 48 kHz only to measure it takes a third of the time of decoding it. So it is measured at its own
rate, unless the packer's verdict could be another there: too short, or with peaks that are cut off.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import xxhash
from numpy.typing import NDArray

from myxtts.corpus.check import CLIPPED_SHARE
from myxtts.corpus.report import Sound
from myxtts.errors import RowError
from myxtts.features.audio import (
    AudioSettings,
    hop_energy,
    loud_hops,
    read_sound,
    resample,
    to_clip,
    to_float,
    to_int16,
    trim_silence,
)
from myxtts.features.mel import HOP_SAMPLES, INT16_SCALE, SAMPLE_RATE

_FULL_SCALE = 32767
_LOUD = 29490  # 0.9 of full scale: resampling overshoots by 9 % where it meets an edge
_CONTEXT_HOPS = 2  # at a cut a resampler rings; this is longer than its filter
_EVERY = 4  # of the samples, for the level: within 0.1 dB of all of them, in a quarter of the time


def hear_clips(paths: list[str], settings: AudioSettings) -> list[Sound | RowError]:
    """The sound of each file, or why a packer rejects it: the functions of `load_clip` decide that for both."""
    return [_hear(path, settings) for path in paths]


def _hear(path: str, settings: AudioSettings) -> Sound | RowError:
    try:
        audio, rate = read_sound(path, settings)
        samples = None if rate == SAMPLE_RATE else _at_its_own_rate(audio, rate, settings)
        if samples is None:
            samples, rate = to_clip(audio, rate, settings), SAMPLE_RATE
    except RowError as error:
        return error
    peak = max(int(samples.max()), -int(samples.min()))
    some = samples[::_EVERY].astype(np.float32)
    power = float(np.einsum("i,i->", some, some)) / len(some)
    return Sound(
        seconds=len(samples) / rate,
        level_db=_decibels(math.sqrt(power)),
        peak_db=_decibels(peak),
        clipped_share=_clipped_share(samples) if peak >= _FULL_SCALE else 0.0,
        digest=xxhash.xxh3_64_intdigest(np.ascontiguousarray(samples).data.cast("B"), seed=rate),
    )


def _at_its_own_rate(audio: NDArray[Any], rate: int, settings: AudioSettings) -> NDArray[np.int16] | None:
    """The sound without the silence around it; None if what is packed could be judged otherwise."""
    hop = max(round(HOP_SAMPLES * rate / SAMPLE_RATE), 1)
    if settings.loudness_lufs is not None or not _is_sure(audio, rate, hop, settings):
        return None
    samples = to_int16(trim_silence(audio, settings.trim_db, hop) if settings.trim_silence else audio)
    loud = np.count_nonzero(samples >= _LOUD) + np.count_nonzero(samples <= -_LOUD)
    return None if loud > CLIPPED_SHARE / 2 * len(samples) else samples


def _is_sure(audio: NDArray[Any], rate: int, hop: int, settings: AudioSettings) -> bool:
    """Whether a packer finds the sound in the same place and surely `min_seconds` of it.

    Both ends and a stretch around the loudest hop are resampled: what lies above 11 kHz (a whistle, half of the hiss)
    is not packed, and must not be what was found loud. A hop of the packer lies within four of this rate's, filter
    included, and one of the stretch within two of the packer's: what is loud beside eight times the loudest is not
    trimmed.
    """
    if not settings.trim_silence:
        return len(audio) / rate > settings.min_seconds + HOP_SAMPLES / SAMPLE_RATE
    energy = hop_energy(audio, hop)
    reach = max(math.ceil(1.5 * settings.min_seconds * rate / hop), 3)
    if len(energy) < 2 * reach:
        return False
    (first, last), middle = loud_hops(energy, settings.trim_db), int(energy.argmax())
    spans = [(first, first + 3), (middle - reach, middle + reach), (last - 2, last + 1)]
    begins, stretch, ends = _packed_energy(audio, rate, hop, spans)
    scale = (INT16_SCALE**2 if audio.dtype == np.int16 else 1.0) * SAMPLE_RATE / rate
    loudest = float(energy.max()) * scale
    if not (len(begins) and len(stretch) and len(ends)):  # a hop of this rate is a little more or less than one of ours
        return False
    quiet = loudest * 10.0 ** (-settings.trim_db / 10.0)
    if min(begins.max(), ends.max()) < quiet or stretch.max() < 0.7 * loudest:
        return False
    sure = np.flatnonzero(stretch >= 8.0 * quiet)
    return len(sure) > 0 and int(sure[-1] - sure[0] - 1) * HOP_SAMPLES > settings.min_seconds * SAMPLE_RATE


def _packed_energy(audio: NDArray[Any], rate: int, hop: int, spans: list[tuple[int, int]]) -> list[NDArray[np.float32]]:
    """The energy of the hops in each span as a packer would find it: in one go, for a resampler is slow to begin."""
    hops = len(audio) // hop
    spans = [(max(start, 0), min(end, hops)) for start, end in spans]
    around = [(max(start - _CONTEXT_HOPS, 0), min(end + _CONTEXT_HOPS, hops)) for start, end in spans]
    pieces = np.concatenate([audio[start * hop : end * hop] for start, end in around])
    energy, at, parts = hop_energy(resample(to_float(pieces), rate)), 0, []
    for (start, end), (wide_start, wide_end) in zip(spans, around, strict=True):
        parts.append(energy[at + start - wide_start : at + end - wide_start])
        at += wide_end - wide_start
    return parts


def _decibels(amplitude: float) -> float:
    return 20.0 * math.log10(max(amplitude, 0.1) / 32768.0)


def _clipped_share(samples: NDArray[np.int16]) -> float:
    """The share of samples at full scale whose neighbour before them is there too: of a peak that was cut off."""
    high, low = samples >= _FULL_SCALE, samples <= -_FULL_SCALE
    runs = np.count_nonzero(high[1:] & high[:-1]) + np.count_nonzero(low[1:] & low[:-1])
    return runs / len(samples)
