"""Which clip shows a speaker's voice, and which part of it: arithmetic over (seed, step, row), nothing remembered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myxtts.data.permutation import NUMPY, Arrays, draw, stream

_STREAM = 4  # a purpose of its own beside those of the order


class References:
    """For each row of a batch another utterance of its speaker, and where to crop it: pure in (seed, step, row)."""

    def __init__(self, seed: int, speakers: Sequence[Any], utterances: Sequence[Any] | None = None):
        """Per cache: the speaker of each row of its index and, if not all, the rows that may be asked for or chosen."""
        chosen = [np.arange(len(labels)) for labels in speakers] if utterances is None else list(utterances)
        sizes = np.array([len(labels) for labels in speakers])
        base = np.cumsum(sizes) - sizes
        speaker = _number(speakers)
        rows = np.concatenate([np.asarray(some, np.int64) + first for some, first in zip(chosen, base, strict=True)])
        by_speaker = rows[np.argsort(speaker[rows], kind="stable")].astype(np.int32)
        place = np.zeros(len(speaker), np.int32)
        place[by_speaker] = np.arange(len(by_speaker))
        counts = np.bincount(speaker[rows])
        span = np.stack([np.cumsum(counts) - counts, counts], axis=1)  # [speakers, 2] first place, number of places
        self.tables = (base, by_speaker, place, speaker, span)
        self._key = stream(seed, _STREAM)

    def pick(self, utterances: Any, step: int, cache: int = 0) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """(utterance int64 [batch], crop float32 [batch]): a crop of c frames begins at int(crop * (frames - c + 1)).

        A speaker's only utterance is its own reference.
        """
        utterances, steps, caches = (np.asarray(value)[None] for value in (utterances, step, cache))
        reference, crop = self.compute(utterances, steps, caches, self.tables)
        return reference[0], crop[0]

    def compute(
        self, utterances: Any, steps: Any, caches: Any, tables: tuple[Any, ...], xp: Arrays = NUMPY
    ) -> tuple[Any, Any]:
        """`pick` for many steps (see `Order.compute`): utterances [steps, batch], steps and caches [steps], int64."""
        base, by_speaker, place, speaker, span = tables
        base = xp.take(base, caches)[:, None]
        own = base + utterances
        first, count = xp.unstack(xp.take(span, xp.take(speaker, own)))
        chance = draw(draw(self._key, steps, xp=xp)[:, None], xp.arange(utterances.shape[1])[None], xp=xp)
        onward = 1 + chance % xp.where(count > 1, count - 1, 1)
        other = first + (xp.int64(xp.take(place, own)) - first + onward) % count
        crop = xp.shift(draw(chance, 1, xp=xp), 8)  # 24 bits are what a float32 in [0, 1) holds exactly
        return xp.int64(xp.take(by_speaker, other)) - base, xp.float32(crop) * np.float32(2.0**-24)


def _number(labels_of_caches: Sequence[Any]) -> NDArray[np.int32]:
    """Labels numbered through all caches; the same label in two caches is two numbers, as a batch is of one cache."""
    numbers, used = [], 0
    for labels in labels_of_caches:
        distinct, number = np.unique(np.asarray(labels), return_inverse=True)
        numbers.append(number.astype(np.int32) + np.int32(used))
        used += len(distinct)
    return np.concatenate(numbers)
