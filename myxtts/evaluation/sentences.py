"""What is spoken for the judges: sentences of a cache with their recordings, and other clips of the same speakers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from myxtts.cache.reader import Cache
from myxtts.evaluation.clip import Sentence
from myxtts.evaluation.judges import Gallery

_REFERENCE_CLIPS, _GALLERY_CLIPS = 2, 4
_MOST_SPEAKERS = 20  # that a voice is told apart from

Clips = dict[str, list[NDArray[np.int16]]]


class Known(NamedTuple):
    """Per speaker: clips to speak like, and others to compare with."""

    references: Clips
    gallery: Gallery


def sentences_of(cache: Cache, rows: Iterable[int]) -> list[Sentence]:
    """Of several speakers in turn, so that the first few sentences are not all of one."""
    return [_sentence(cache, row) for row in _in_turn(cache, list(rows))]


def _sentence(cache: Cache, row: int) -> Sentence:
    speaker = cache.speakers[int(cache.columns["speaker"][row])]
    language = cache.languages[int(cache.columns["language"][row])]
    return Sentence(cache.text(row), cache.samples(row), speaker=speaker, language=language)


def _in_turn(cache: Cache, rows: list[int]) -> list[int]:
    turn: dict[int, int] = {}
    keys = []
    for row in rows:
        speaker = int(cache.columns["speaker"][row])
        turn[speaker] = turn.get(speaker, 0) + 1
        keys.append((turn[speaker], row))
    return [row for _, row in sorted(keys)]


def known_speakers(cache: Cache, rows: NDArray[np.int64], needed: Sequence[str]) -> Known:
    """From `rows`, which hold no sentence that is judged: the speakers that are `needed`, and others up to 20."""
    names = list(dict.fromkeys([*needed, *cache.speakers]))[: max(_MOST_SPEAKERS, len(set(needed)))]
    references: Clips = {}
    gallery: Clips = {}
    for name in names:
        own = rows[np.asarray(cache.columns["speaker"])[rows] == cache.speakers.index(name)]
        longest = own[np.argsort(-cache.columns["n_frames"][own], kind="stable")][: _REFERENCE_CLIPS + _GALLERY_CLIPS]
        clips = [cache.samples(int(row)) for row in longest]
        if clips:
            references[name], gallery[name] = clips[:_REFERENCE_CLIPS], clips[_REFERENCE_CLIPS:] or clips
    return Known(references, gallery)
