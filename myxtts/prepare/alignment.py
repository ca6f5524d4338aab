"""Which word of a text each heard word is: anchors first, then a dynamic programme between them.

Four words in a row that occur once in each are anchors, as far as they keep their order. Between two anchors the best
alignment with gaps is found (O. Gotoh, 1982): a passage that was skipped or added costs little for each of its words
once it has begun, and two different words are the less alike the more of their letters differ.
"""

from __future__ import annotations

import bisect
import functools
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myxtts.evaluation.intelligibility import edit_distance

NOWHERE = -1

_ANCHOR_WORDS = 4
_OPEN, _EXTEND = 0.5, 0.35  # a misheard word (1 at most) is dearer than a word in a gap, and cheaper than two gaps
_ALIKE = 0.6  # of the letters may differ
_MOST_LETTERS = 40_000  # pairs of words whose letters are compared: more are equal or not
_MOST_CELLS = 1 << 24


def align(heard: Sequence[str], text: Sequence[str]) -> list[int]:
    """For each heard word its place in the text, or NOWHERE; places only go up."""
    places = [NOWHERE] * len(heard)
    anchors = _anchors(heard, text)
    for at, place in anchors:
        places[at] = place
    for (before, after), (last, first) in pairwise([(-1, -1), *anchors, (len(heard), len(text))]):
        part = _align_gap(heard[before + 1 : last], text[after + 1 : first])
        places[before + 1 : last] = [NOWHERE if one == NOWHERE else one + after + 1 for one in part]
    return places


def likeness(one: str, other: str) -> float:
    """1 for the same, 0 for nothing in common."""
    return 1.0 - _difference(one, other)


def _anchors(heard: Sequence[str], text: Sequence[str]) -> list[tuple[int, int]]:
    where = {key: places[0] for key, places in _grams(text).items() if len(places) == 1}
    pairs = [(places[0], where[key]) for key, places in _grams(heard).items() if len(places) == 1 and key in where]
    words = {(at + n, place + n) for at, place in _rising(sorted(pairs)) for n in range(_ANCHOR_WORDS)}
    return _rising(sorted(words))


def _grams(words: Sequence[str]) -> dict[tuple[str, ...], list[int]]:
    places: dict[tuple[str, ...], list[int]] = {}
    for at in range(len(words) - _ANCHOR_WORDS + 1):
        places.setdefault(tuple(words[at : at + _ANCHOR_WORDS]), []).append(at)
    return places


def _rising(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest part of them in which both numbers go up (sorted by the first; patience sorting)."""
    tails: list[int] = []
    piles: list[int] = []
    before: list[int] = [NOWHERE] * len(pairs)
    for n, (_, place) in enumerate(pairs):
        at = bisect.bisect_left(tails, place)
        before[n] = piles[at - 1] if at else NOWHERE
        tails[at : at + 1], piles[at : at + 1] = [place], [n]
    rising, n = [], piles[-1] if piles else NOWHERE
    while n != NOWHERE:
        rising.append(pairs[n])
        n = before[n]
    counts = Counter(at for at, _ in rising)
    return [pair for pair in rising[::-1] if counts[pair[0]] == 1]


def _align_gap(heard: Sequence[str], text: Sequence[str]) -> list[int]:
    if not heard or not text or len(heard) * len(text) > _MOST_CELLS:
        return [NOWHERE] * len(heard)
    costs = _costs(heard, text)
    matched, skip_from, opened = _fill(costs)
    return _trace(costs, matched, skip_from, opened)


def _costs(heard: Sequence[str], text: Sequence[str]) -> NDArray[np.float32]:
    if len(heard) * len(text) <= _MOST_LETTERS:
        return np.array([[_difference(one, other) for other in text] for one in heard], np.float32)
    numbers = {word: n for n, word in enumerate({*heard, *text})}
    one, other = (np.array([numbers[word] for word in words]) for words in (heard, text))
    return (one[:, None] != other[None, :]).astype(np.float32)


@functools.lru_cache(maxsize=1 << 16)
def _difference(one: str, other: str) -> float:
    return 0.0 if one == other else edit_distance(one, other) / max(len(one), len(other), 1)


def _fill(costs: NDArray[np.float32]) -> tuple[NDArray[np.bool_], NDArray[np.int32], NDArray[np.bool_]]:
    """Row by row. Of each cell: whether two words are matched there, from which column words of the text are skipped up
    to it (its own: none are), and whether the heard word is the first of those that are skipped."""
    rows, columns = costs.shape
    steps = np.arange(columns + 1, dtype=np.float32) * _EXTEND
    best = np.concatenate([[0.0], _OPEN + steps[1:]]).astype(np.float32)
    gap = np.full(columns + 1, np.inf, np.float32)
    matched = np.zeros((rows + 1, columns + 1), bool)
    opened = np.zeros((rows + 1, columns + 1), bool)
    skip_from = np.tile(np.arange(columns + 1, dtype=np.int32), (rows + 1, 1))
    skip_from[0, 1:] = 0
    for row in range(1, rows + 1):
        opened[row] = best + _OPEN <= gap
        gap = np.minimum(best + _OPEN, gap) + _EXTEND
        match = np.concatenate([[np.inf], best[:-1] + costs[row - 1]])
        matched[row] = match <= gap
        best = np.minimum(match, gap).astype(np.float32)
        cheapest, source = _running_minimum(best - steps)
        skipped = np.concatenate([[np.inf], cheapest[:-1] + _OPEN + steps[1:]])
        skip_from[row] = np.where(skipped < best, np.concatenate([[0], source[:-1]]), skip_from[row])
        best = np.minimum(best, skipped).astype(np.float32)
    return matched, skip_from, opened


def _running_minimum(values: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[Any]]:
    """The smallest so far, and where it was."""
    lowest = np.minimum.accumulate(values)
    new = np.concatenate([[True], values[1:] < lowest[:-1]])
    return lowest, np.maximum.accumulate(np.where(new, np.arange(len(values)), 0))


def _trace(
    costs: NDArray[np.float32], matched: NDArray[np.bool_], skip_from: NDArray[np.int32], opened: NDArray[np.bool_]
) -> list[int]:
    row, column = costs.shape
    places, inside = [NOWHERE] * row, False
    while row:
        if not inside:
            column = int(skip_from[row, column])
        if not inside and matched[row, column]:
            row, column = row - 1, column - 1
            places[row] = column if costs[row, column] <= _ALIKE else NOWHERE
            continue
        inside = not opened[row, column]
        row -= 1
    return places
