"""Clip after clip from a plan without an end: what is there is not made again, so a run that was stopped goes on."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterable

import numpy as np

from recipes.many_voices.corpus import Clip, Folder

TELL_EVERY = 20  # clips, about a minute
_log = logging.getLogger("many_voices")


def make_clips(
    folder: Folder, clips: Iterable[Clip], say: Callable[[Clip], np.ndarray], rate: int, wanted: float = math.inf
) -> None:
    """Those of the clips that are missing, in order, until their source has `wanted` seconds."""
    began, made, spoken = time.monotonic(), 0, 0.0
    for clip in clips:
        if folder.has(clip):
            continue
        if folder.seconds(clip.source) >= wanted:
            break
        samples = say(clip)
        folder.add(clip, samples, rate)
        made, spoken = made + 1, spoken + len(samples) / rate
        if made % TELL_EVERY == 0:
            minutes = (time.monotonic() - began) / 60
            total = folder.seconds(clip.source) / 60
            _log.info("%s: %.1f minutes of %s, %.0f s a minute", clip.id, total, clip.source, spoken / minutes)
    folder.save()
