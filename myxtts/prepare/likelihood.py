"""Whether a slice says the words that were found for it: they must sound likelier than other words would.

How far a slice is from what a voice expects says little by itself: it depends on the voice, on who speaks, on the
microphone and on the text. So the words are compared with others in the same slice: their sounds drawn anew from all of
the text's, with the marks and spaces where they are, and the same words in other orders (a permutation test). And since
a sentence that is not in the text can hide beside one that is, the worst stretch of a slice counts, too.

The search takes the best of many places, so wrong words beat others as well. How far they get is measured, for each
recording, text and voice: the same search in the text with its words mixed, where nothing can be right.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from myxtts.prepare.placement import Expected, Frames, Place, log_likelihoods, place

_OTHERS = 32  # texts that the words are compared with
_ORDERS = 32  # of the words that are drawn: about half of them are other orders
_SAME = 0.1  # of the variance of the text's frames: two words that differ by less are the same word
_BY_CHANCE, _MOST_MIXED = 64, 8  # slices that are searched in mixed texts, and how many of these
_SAMPLE = 600  # sounds of the text: the best of them says what a frame could be
_STRETCH = 50  # frames, 0.6 s: a short word
_NEVER = np.float32(-1e30)


class Likelihood(NamedTuple):
    margin: float  # how much likelier the words are than the best of the others, in spreads of the others
    worst: float  # how far the worst stretch is from the likeliest sounds, in nats a frame


class Chance(NamedTuple):
    """What words reach that were not said."""

    margin: float  # of 95 in 100, and one spread at least
    worst: tuple[float, float, float]  # of 5, 50 and 95 in 100


def by_chance(sounds: Sequence[Frames], text: Expected) -> Chance | None:
    """Of some slices [frames, mels] in the text with its words mixed; None where none of them finds a place there."""
    reached = []
    for seed in range(min(-(-_BY_CHANCE // max(len(sounds), 1)), _MOST_MIXED)):
        mixed = _mixed(text, seed)
        judge = Judge(mixed)
        reached += [judge.of(sound, at) for sound, at in zip(sounds, place(sounds, mixed), strict=True) if at]
    if not reached:
        return None
    margins, worst = zip(*reached, strict=True)
    low, middle, high = np.percentile(worst, (5, 50, 95)).tolist()
    return Chance(max(float(np.percentile(margins, 95)), 1.0), (low, middle, high))


def sample(count: int) -> list[int]:
    """Which of so many slices are enough for `by_chance`."""
    return sorted(set(np.linspace(0, count - 1, _BY_CHANCE).round().astype(int).tolist())) if count else []


def _mixed(text: Expected, seed: int) -> Expected:
    """Its words in another order, its sentences as long as before."""
    order = np.random.default_rng(seed).permutation(len(text))
    tokens = _tokens(text, order)
    lengths = np.diff(text.word_ends, prepend=0)[order]
    return Expected(text.frames[tokens], np.cumsum(lengths), text.ends_sentence, text.is_sound[tokens])


def _tokens(text: Expected, words: Iterable[int]) -> NDArray[np.int64]:
    return np.concatenate([np.arange(text.word_ends[n - 1] if n else 0, text.word_ends[n]) for n in words])


class Judge:
    """Of one text."""

    def __init__(self, text: Expected):
        self._text, self._sounds = text, np.flatnonzero(text.is_sound)
        self._same = _SAME * float(text.frames.var())
        self._sample = text.frames[np.random.default_rng(0).choice(self._sounds, _SAMPLE)]

    def of(self, sound: Frames, at: Place) -> Likelihood:
        """Of a slice [frames, mels] and the words that are placed there."""
        own = _tokens(self._text, range(at.first, at.last + 1))
        scores = _best_paths(self._matches(sound, np.stack([own, *self._others(own), *self._orders(at)])))
        spread = max(float(scores[1 : _OTHERS + 1].std()), float(np.finfo(np.float32).eps))
        return Likelihood(float(scores[0] - scores[1:].max()) / spread, self._worst(sound, own))

    def _others(self, own: NDArray[np.int64]) -> NDArray[np.int64]:
        """int [others, tokens]: as many sounds in the same places, the same for the same slice at any time."""
        others, is_sound = np.tile(own, (_OTHERS, 1)), self._text.is_sound[own]
        drawn = np.random.default_rng(int(own[0])).choice(self._sounds, (_OTHERS, int(is_sound.sum())))
        others[:, is_sound] = drawn
        return others

    def _orders(self, at: Place) -> list[NDArray[np.int64]]:
        """The words backwards and in other orders, but for those that are the same words again ('nine nine')."""
        draw, words = np.random.default_rng(at.first), range(at.first, at.last + 1)
        drawn = [draw.permutation(words) for _ in range(_ORDERS)]
        orders = [words[::-1], *(order for order in drawn if _is_other(order))]
        names = {word: self._first_like(word, words) for word in words}
        said = [names[word] for word in words]
        return [_tokens(self._text, order) for order in orders if [names[int(word)] for word in order] != said]

    def _first_like(self, word: int, words: Iterable[int]) -> int:
        own = self._text.frames[_tokens(self._text, [word])]
        others = ((other, self._text.frames[_tokens(self._text, [other])]) for other in words)
        return next(n for n, one in others if len(one) == len(own) and np.square(one - own).mean() <= self._same)

    def _matches(self, sound: Frames, tokens: NDArray[np.int64]) -> Frames:
        """[texts, frames, tokens]"""
        used, at = np.unique(tokens, return_inverse=True)
        matches = log_likelihoods(sound, self._text.frames[used])[:, at.reshape(tokens.shape)]
        return np.ascontiguousarray(matches.transpose(1, 0, 2))

    def _worst(self, sound: Frames, own: NDArray[np.int64]) -> float:
        matches = log_likelihoods(sound, self._text.frames[own])
        on_path = matches[np.arange(len(sound)), _path(matches)]
        away = log_likelihoods(sound, self._sample).max(axis=1) - on_path
        length = min(_STRETCH, len(away))
        return float(np.convolve(away, np.full(length, 1 / length), "valid").max())


def _is_other(order: NDArray[np.int64]) -> bool:
    """Whether half of all pairs of words are turned round: 'There the is genuine in television a laboratory' sounds
    nearly like 'There is a genuine television in the laboratory'."""
    later, earlier = np.tril_indices(len(order), -1)
    return 2 * int((order[later] < order[earlier]).sum()) >= len(later)


def _best_paths(matches: Frames) -> Frames:
    """[texts, frames, tokens] -> [texts]: from the first token to the last, none skipped."""
    best = np.full((matches.shape[0], matches.shape[2]), _NEVER, np.float32)
    best[:, 0] = matches[:, 0, 0]
    for frame in range(1, matches.shape[1]):
        best[:, 1:] = np.maximum(best[:, 1:], best[:, :-1])
        best += matches[:, frame]
    return best[:, -1]


def _path(matches: Frames) -> NDArray[np.int64]:
    """int [frames]: the token of each frame on the best path."""
    frames, tokens = matches.shape
    best, advanced = np.full(tokens, _NEVER, np.float32), np.zeros((frames, tokens), np.bool_)
    best[0] = matches[0, 0]
    for frame in range(1, frames):
        advanced[frame, 1:] = best[:-1] > best[1:]
        best[1:] = np.maximum(best[1:], best[:-1])
        best += matches[frame]
    path = np.full(frames, tokens - 1)
    for frame in range(frames - 1, 0, -1):
        path[frame - 1] = max(path[frame] - advanced[frame, path[frame]], 0)
    return path
