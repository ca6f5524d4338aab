"""More voices of those that are there: every clip again, faster and higher or slower and lower.

Played at another speed, a voice has another pitch and another length of throat, so it counts as another speaker, as in
the training of speaker recognition ("speed perturbation", Ko et al. 2015). It costs no generator's time.
"""

from __future__ import annotations

import logging
import zlib
from typing import Any

from myxtts.features.audio import read_audio, to_float
from recipes.many_voices.corpus import Clip, Folder, Source
from recipes.many_voices.left_out import COPY, WAYS

NAME = "shifted"
# Within a sixth, so that it stays a human's voice and pace.
SLOWER = (0.86, 0.89, 0.92)
FASTER = (1.09, 1.12, 1.15)
_log = logging.getLogger("many_voices")


def make(folder: Folder) -> None:
    """Each clip of the other sources once, slower or faster; a speaker keeps the two speeds."""
    source = Source(NAME, "synthetic", "that of each clip", "the other sources' clips at another speed", ())
    folder.enter(source)
    rows = [row for row in folder.rows() if row["source"] != source.name]
    for row in rows:
        _shift(folder, row)
    folder.save()
    _log.info("shifted: %.1f minutes", folder.seconds(source.name) / 60)


def _shift(folder: Folder, row: dict[str, Any]) -> None:
    # By the id, not by the row's number: that changes when clips before it are left out or made again.
    faster = zlib.crc32(row["id"].encode()) % 2 == 1
    clip = Clip(COPY + row["id"], row["text"], row["speaker"] + WAYS[faster], row["language"], NAME)
    if not folder.has(clip):
        samples, rate = read_audio(folder.folder / row["audio"])
        folder.add(clip, to_float(samples), round(rate * _speed(row["speaker"], faster)))


def _speed(speaker: str, faster: bool) -> float:
    speeds = FASTER if faster else SLOWER
    return speeds[zlib.crc32(speaker.encode()) % len(speeds)]
