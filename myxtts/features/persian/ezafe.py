"""Which words of a Persian sentence carry the ezafe («کتاب من» is ketâb-e man): a linear-chain CRF with two labels.

A word's score is the sum of the weights of its features; features are strings of the word and its neighbours, and a
feature's place in the table of weights is its hash, so that the model is one array and no list of strings. The weights
come from `recipes/persian_ezafe`, which trains with the very features of this file.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from importlib import resources
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from myxtts.features.persian.word_classes import word_class

TABLE_SLOTS = 2**22  # for 250,000 features: few share a slot, and zeros cost nothing in the file
MODEL = "ezafe.npz"

_JOINER = "\u200c"
_ENDING = re.compile(f"{_JOINER}?(?:ها|های|هایی|هایش|هایشان|ترین|تر|ان|ات|ی|ای|اش|ام|شان|مان|تان)$")
# A preposition that is written together with the next word is a word of its own: «به‌سرعت» as «به سرعت».
_PROCLITICS = tuple(word + _JOINER for word in ("به", "از", "در", "که"))

# What of which word (0 is the word itself, 1 the next): each line is a feature. See `_Word` for the parts.
_ALONE = {  # in the order of `EzafeTagger.scores`
    0: ("word", "stem", "end1", "end2", "end3", "end4", "start1", "start2", "start3", "kind", "last"),
    1: ("word", "stem", "end1", "end2", "end3", "start2", "start3", "kind", "first"),
    -1: ("word", "end1", "end2", "end3"),
    2: ("word", "end2", "start2"),
    -2: ("word",),
}
_TOGETHER = (
    ((0, "word"), (1, "word")), ((0, "end2"), (1, "word")), ((0, "word"), (1, "end2")), ((0, "end2"), (1, "end2")),
    ((0, "end2"), (1, "start2")), ((0, "word"), (1, "kind")), ((0, "end2"), (1, "kind")), ((0, "stem"), (1, "stem")),
    ((-1, "word"), (0, "word")), ((-1, "kind"), (0, "kind")),
    ((1, "word"), (2, "word")), ((1, "kind"), (2, "kind")), ((1, "word"), (2, "kind")), ((1, "end2"), (2, "kind")),
    ((-1, "word"), (1, "word")), ((-1, "word"), (1, "kind")),
    ((-1, "kind"), (0, "kind"), (1, "kind")), ((0, "kind"), (1, "kind"), (2, "kind")),
    ((0, "end2"), (1, "kind"), (2, "kind")), ((-1, "kind"), (0, "end2"), (1, "kind")),
)  # fmt: skip
_OUTSIDE = ("<2", "<1", ">1", ">2")


_PARTS = (
    "word", "stem", "kind", "first", "last", "end1", "end2", "end3", "end4", "start1", "start2", "start3",
)  # fmt: skip
_PAIRS = [(n, of[0][0], of[1][0], _PARTS.index(of[1][1])) for n, of in enumerate(_TOGETHER) if len(of) == 2]
_TRIPLES = [
    (n, of[0][0], of[1][0], _PARTS.index(of[1][1]), of[2][0], _PARTS.index(of[2][1]))
    for n, of in enumerate(_TOGETHER)
    if len(of) == 3
]
_MASK = TABLE_SLOTS - 1


class _Word:
    """What the features need of a word, made once: its parts as bytes, and the hashes that begin with one of them."""

    __slots__ = ("alone", "parts", "starts")

    def __init__(self, word: str):
        texts = _parts_of(word)
        self.parts = [text.encode() + b"\x1f" for text in texts]
        bytes_of = dict(zip(_PARTS, self.parts, strict=True))
        self.alone = {
            offset: [crc32(bytes_of[part], crc32(f"{offset}{part}".encode())) & _MASK for part in parts]
            for offset, parts in _ALONE.items()
        }
        self.starts = [crc32(bytes_of[of[0][1]], number) for number, of in enumerate(_TOGETHER)]


def _parts_of(word: str) -> list[str]:
    first, last, stem = word.partition(_JOINER)[0], word.rpartition(_JOINER)[2], _ENDING.sub("", word)
    whole = [word, stem if len(stem) > 1 else word, word_class(word)]
    joined = [first, last] if first != word else ["", ""]
    return whole + joined + [word[-n:] for n in (1, 2, 3, 4)] + [word[:n] for n in (1, 2, 3)]


_word = functools.lru_cache(maxsize=16384)(_Word)


def features(words: Sequence[str]) -> list[list[int]]:
    """For each word the slots of its features. Marks are words too; no word has signs above it."""
    around = [_word(word) for word in (*_OUTSIDE[:2], *words, *_OUTSIDE[2:])]
    alone = [[slot for offset in _ALONE for slot in around[at + offset].alone[offset]] for at in _places(words)]
    return [mine + _together(around, at) for mine, at in zip(alone, _places(words), strict=True)]


def _places(words: Sequence[str]) -> range:
    """Where the words are among those with two more at each side."""
    return range(2, len(words) + 2)


def _together(around: list[_Word], at: int) -> list[int]:
    """Slots of the features of more than one word: a hash that one word began is continued with a part of the next."""
    slots = [
        crc32(around[at + second].parts[part], around[at + first].starts[number]) & _MASK
        for number, first, second, part in _PAIRS
    ]
    for number, first, second, part, third, last in _TRIPLES:
        begun = crc32(around[at + second].parts[part], around[at + first].starts[number])
        slots.append(crc32(around[at + third].parts[last], begun) & _MASK)
    return slots


def divide(words: Sequence[str]) -> tuple[list[str], list[int]]:
    """The words with their proclitics apart, and where each word has its end among them."""
    parts: list[str] = []
    ends = []
    for word in words:
        while _JOINER in word and word.startswith(_PROCLITICS):
            proclitic, _, word = word.partition(_JOINER)
            parts.append(proclitic)
        parts.append(word)
        ends.append(len(parts) - 1)
    return parts, ends


def best_path(scores: Sequence[float], transitions: Sequence[Sequence[float]]) -> list[bool]:
    """The likeliest labels: `scores` of each word for an ezafe, `transitions` [label before, label]."""
    (stay, enter), (leave, again) = transitions
    without, with_ezafe = 0.0, scores[0]
    steps = []
    for score in scores[1:]:
        out, up = with_ezafe + leave > without + stay, with_ezafe + again > without + enter
        steps.append((out, up))
        without, with_ezafe = (
            with_ezafe + leave if out else without + stay,
            (with_ezafe + again if up else without + enter) + score,
        )
    labels = [with_ezafe > without]
    for out, up in reversed(steps):
        labels.append(up if labels[-1] else out)
    return labels[::-1]


class EzafeTagger:
    """The CRF of the package."""

    def __init__(self, weights: NDArray[np.int8], unit: float, transitions: NDArray[np.float32]):
        self._weights, self._unit = weights.astype(np.int8).data, unit
        self._transitions = transitions.tolist()
        self._alone = functools.lru_cache(maxsize=16384)(self._sum_alone)

    @classmethod
    def load(cls) -> EzafeTagger:
        with resources.files("myxtts.features.persian").joinpath(MODEL).open("rb") as file:
            model = np.load(file, allow_pickle=False)
            return cls(model["weights"], float(model["unit"]), model["transitions"])

    def scores(self, words: Sequence[str]) -> list[float]:
        weight_of, unit = self._weights.__getitem__, self._unit
        around = [_word(word) for word in (*_OUTSIDE[:2], *words, *_OUTSIDE[2:])]
        alone = [self._alone(word) for word in (*_OUTSIDE[:2], *words, *_OUTSIDE[2:])]
        return [
            unit * (
                alone[at][0] + alone[at + 1][1] + alone[at - 1][2] + alone[at + 2][3] + alone[at - 2][4]
                + sum(map(weight_of, _together(around, at)))
            )
            for at in _places(words)
        ]  # fmt: skip

    def _sum_alone(self, word: str) -> list[int]:
        """The weights of a word's own features, summed for each place it may have beside the word in question."""
        return [sum(self._weights[slot] for slot in slots) for slots in _word(word).alone.values()]

    def tag(self, words: Sequence[str], second: Callable[[list[str]], list[float]] | None = None) -> list[bool]:
        """Whether each word carries the ezafe; the scores of a `second` opinion on the same parts are added."""
        if not words:
            return []
        parts, ends = divide(words)
        scores = self.scores(parts)
        if second is not None:
            scores = [score + added for score, added in zip(scores, second(parts), strict=True)]
        labels = best_path(scores, self._transitions)
        return [labels[end] for end in ends]
