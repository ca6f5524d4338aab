"""Whether a slice says the words that were found for it: they must sound likelier than other words would.

How far a slice is from what a voice expects says little by itself: it depends on who speaks, on the microphone and on
the text. So the words are compared with others in the same slice: their sounds drawn anew from all of the text's,
with the marks and spaces where they are (a permutation test). And since a sentence that is not in the text can hide
beside one that is, the worst stretch of a slice counts, too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from myxtts.prepare.placement import Expected, Frames, Place, log_likelihoods

_OTHERS = 32  # texts that the words are compared with
_SAMPLE = 600  # sounds of the text: the best of them says what a frame could be
_STRETCH = 50  # frames, 0.6 s: a short word
_NEVER = np.float32(-1e30)


class Likelihood(NamedTuple):
    """In nats a frame. Of an unheard woman 97 % of the right rows have a margin of 1.0 or more, another book's 0.45
    in the middle; her right rows are at their worst 12 away, half a row of other words 13.5 to 24."""

    margin: float  # how much likelier the words are than the best of the others
    worst: float  # how far the worst stretch is from the likeliest sounds


class Judge:
    """Of one text."""

    def __init__(self, text: Expected):
        self._text, self._sounds = text, np.flatnonzero(text.is_sound)
        self._sample = text.frames[np.random.default_rng(0).choice(self._sounds, _SAMPLE)]

    def of(self, sound: Frames, place: Place) -> Likelihood:
        """Of a slice [frames, mels] and the words that are placed there."""
        first = self._text.word_ends[place.first - 1] if place.first else 0
        own = np.arange(first, self._text.word_ends[place.last])
        scores = _best_paths(self._matches(sound, np.stack([own, *self._others(own)])))
        return Likelihood(float(scores[0] - scores[1:].max()) / len(sound), self._worst(sound, own))

    def _others(self, own: NDArray[np.int64]) -> NDArray[np.int64]:
        """int [others, tokens]: as many sounds in the same places, the same for the same slice at any time."""
        others, is_sound = np.tile(own, (_OTHERS, 1)), self._text.is_sound[own]
        drawn = np.random.default_rng(int(own[0])).choice(self._sounds, (_OTHERS, int(is_sound.sum())))
        others[:, is_sound] = drawn
        return others

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
