"""Which words of a text each slice has, by how its frames sound: no recogniser, a voice's expectations.

One search over all slices in their order (Viterbi, 1967). A slice begins and ends between two words, since it was cut
in pauses; between slices, words of the text may be skipped; and a slice may have nothing of the text. Each token of the
search carries the word that its slice began with (token passing, S. Young and others, 1989), so that memory holds words
and no frames: an hour takes 3 MB.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Frames = NDArray[np.float32]

AHEAD, BEHIND = 500, 100  # words of the text that a slice may begin or end with, around the likeliest place
NO_WORD = -1

_QUIET = 0.4  # of the way from a slice's quietest to its loudest frames, in log-mel
_PAUSE = 8  # frames, 0.1 s: shorter ones are the closures of stops
_NEVER = np.float32(-1e30)
# Of log-likelihood: for a skipped passage, and for each of its words. At half of that the search runs ahead and does
# not find back: of 285 slices of an unheard woman 197 had wrong words instead of 46.
_SKIP, _SKIP_WORD = 400.0, 10.0
_MOST_AWAY = 10.0  # nats a frame below the likeliest sounds of the text: beyond it, a slice has nothing of the text
_SKIP_INSIDE = 800.0  # more, where it does not begin and end with a sentence


@dataclass(frozen=True)
class Expected:
    """A text as it should sound: a frame [tokens, mels] for each token, and after which tokens its words end."""

    frames: Frames
    word_ends: NDArray[np.int64]  # [words]: the token after the last of each
    ends_sentence: NDArray[np.bool_]  # [words]
    is_sound: NDArray[np.bool_]  # [tokens]: not a mark, a space or an end

    def __len__(self) -> int:
        return len(self.word_ends)


class Place(NamedTuple):
    """Words `first` to `last`, none if last < first."""

    first: int
    last: int

    def __bool__(self) -> bool:
        return self.last >= self.first


class _Step(NamedTuple):
    """What is remembered of a slice: of each place p (words so far, counted from `low`), where the one before was."""

    low: int
    begun: NDArray[np.int32]  # the place that the slice began at; NO_WORD: it has nothing of the text
    skipped_from: NDArray[np.int32]  # the place before a skipped passage: itself where none was


def place(sounds: Iterable[Frames], text: Expected) -> list[Place]:
    """Of each slice's frames [frames, mels] in order its words."""
    steps: list[_Step] = []
    low, scores = 0, np.zeros(1, np.float32)
    for sound in sounds:
        low, scores = _window(low, scores, len(text))
        step, scores = _listen(sound, text, low, scores)
        steps.append(step)
    return _trace_back(steps, low + int(scores.argmax())) if steps else []


def _window(low: int, scores: Frames, words: int) -> tuple[int, Frames]:
    """The places around the likeliest one, of which those ahead are reached by skipping."""
    likeliest = low + int(scores.argmax())
    first, last = max(low, likeliest - BEHIND), min(words, likeliest + AHEAD)
    kept = np.full(last - first + 1, _NEVER, np.float32)
    old = scores[first - low : last - low + 1] - scores.max()
    kept[: len(old)] = old
    return first, kept


def _listen(sound: Frames, text: Expected, low: int, scores: Frames) -> tuple[_Step, Frames]:
    """One slice: scores of the places before it -> what to remember, and scores of the places after it."""
    started, skipped_from = _skip(scores, text, low)
    after, begun = np.full_like(scores, _NEVER), np.full(len(scores), NO_WORD, np.int32)
    if len(scores) > 1:
        after[1:], begun[1:] = _hear_words(sound, text, low, started[:-1])
    nothing = started - np.float32(_MOST_AWAY * len(sound))
    begun[nothing >= after] = NO_WORD
    return _Step(low, begun, skipped_from), np.maximum(after, nothing)


def _hear_words(sound: Frames, text: Expected, low: int, started: Frames) -> tuple[Frames, NDArray[np.int32]]:
    """Of each word from `low` on: the score of a slice that ends with it, and the word that this begins with."""
    starts = np.concatenate([[0], text.word_ends])[low : low + len(started)]
    ends = text.word_ends[low : low + len(started)]
    matches = log_likelihoods(sound, text.frames[starts[0] : ends[-1]])
    matches -= matches.max(axis=1, keepdims=True)
    best, begun = _pass_tokens(matches, starts - starts[0], started)
    return best[ends - 1 - starts[0]], low + begun[ends - 1 - starts[0]]


def _skip(scores: Frames, text: Expected, low: int) -> tuple[Frames, NDArray[np.int32]]:
    """Of each place the best way to it over skipped words: from sentence to sentence, or dearer from any word."""
    places = np.arange(len(scores), dtype=np.int32)
    ends = np.concatenate([[True], text.ends_sentence])[low + places]
    best, origin = scores.copy(), places.copy()
    for allowed, cost in ((ends, _SKIP), (np.ones_like(ends), _SKIP + _SKIP_INSIDE)):
        left = np.where(allowed, scores, _NEVER) + places * np.float32(_SKIP_WORD)
        cheapest, source = _running_maximum(left)
        reached = np.where(allowed, cheapest - places * np.float32(_SKIP_WORD) - np.float32(cost), _NEVER)
        better = reached > best
        best, origin = np.where(better, reached, best), np.where(better, source, origin)
    return best.astype(np.float32), (low + origin).astype(np.int32)


def _running_maximum(values: Frames) -> tuple[Frames, NDArray[Any]]:
    highest = np.maximum.accumulate(values)
    new = np.concatenate([[True], values[1:] > highest[:-1]])
    return highest, np.maximum.accumulate(np.where(new, np.arange(len(values)), 0))


def log_likelihoods(sound: Frames, expected: Frames) -> Frames:
    """Of each frame under each token's unit Gaussian [frames, tokens], but for what depends on the frame alone."""
    matches: Frames = sound @ expected.T - 0.5 * np.square(expected).sum(axis=1)
    return matches


def _pass_tokens(matches: Frames, starts: NDArray[np.int64], started: Frames) -> tuple[Frames, NDArray[np.int32]]:
    """The best path to each token at the last frame, none skipped, and which of `starts` it began at."""
    tokens = matches.shape[1]
    best, word = np.full(tokens, _NEVER, np.float32), np.zeros(tokens, np.int32)
    best[starts] = started + matches[0, starts]
    word[starts] = np.arange(len(starts))
    for match in matches[1:]:
        advances = best[:-1] > best[1:]
        np.copyto(word[1:], word[:-1].copy(), where=advances)
        best[1:] = np.maximum(best[1:], best[:-1])
        best += match
    return best, word


def _trace_back(steps: list[_Step], end: int) -> list[Place]:
    places: list[Place] = []
    for step in reversed(steps):
        begin = int(step.begun[end - step.low])
        if begin == NO_WORD:
            begin = end
        places.append(Place(begin, end - 1))
        end = int(step.skipped_from[begin - step.low])
    return places[::-1]


def without_pauses(frames: Frames) -> Frames:
    """Pauses shrink to their ends. They sound like the room, of which a text says nothing: 'Seventy. Seven.' seemed
    less likely than most other words (of 285 slices of an unheard woman 271 had the right words with them, 278
    without)."""
    loudness = frames.mean(axis=1)
    quiet, loud = np.percentile(loudness, (2, 90))
    is_quiet = np.concatenate([[False], loudness < quiet + _QUIET * (loud - quiet), [False]])
    edges = np.flatnonzero(is_quiet[1:] != is_quiet[:-1])
    kept = np.ones(len(frames), np.bool_)
    for first, last in zip(edges[::2], edges[1::2], strict=True):
        kept[first + _PAUSE // 2 : max(last - _PAUSE // 2, 0)] = False
    return frames[kept]
