"""What is to be said and how, read and checked without TensorFlow: a typing error costs no loading of a model."""

from __future__ import annotations

import time
from pathlib import Path
from typing import NamedTuple

from myxtts.errors import SpeechError
from myxtts.inference.script import Line, Script
from myxtts.inference.vocoder import DEFAULT_VOCODER, Vocoder, find_vocoder

_SLOWEST, _FASTEST = 0.25, 4.0
_MOST_SEMITONES = 12.0
LARGEST_SEED = 2**63 - 1


class Manner(NamedTuple):
    """How a model is to say a line."""

    language: int
    speed: float = 1.0
    octaves_up: float = 0.0


class Request(NamedTuple):
    """The sentences of a text, and everything that is the same for each of them but the voice."""

    lines: list[Line]
    manner: Manner
    vocoder: Vocoder
    text_ms: float
    seed: int | None = None  # of what the vocoder draws; None is always the same


def make_request(
    script: Script,
    text: str,
    *,
    language: str | None = None,
    speed: float = 1.0,
    pitch: float = 0.0,
    seed: int | None = None,
    vocoder: str | Path | Vocoder = DEFAULT_VOCODER,
) -> Request:
    """Of a text for one model. What that model cannot do is a `SpeechError`. `pitch` is in semitones up or down.

    `seed` chooses the breath in the sound: the same seed, the same samples.
    """
    check_range("speed", speed, _SLOWEST, _FASTEST)
    check_range("pitch", pitch, -_MOST_SEMITONES, _MOST_SEMITONES)
    sound = find_vocoder(vocoder)
    check_seed(seed, sound)
    position = script.language_of(text) if language is None else script.language(language)
    started = time.perf_counter()
    lines = script.lines(text, position)
    text_ms = (time.perf_counter() - started) * 1e3
    return Request(lines, Manner(position, speed, pitch / 12.0), sound, text_ms, seed)


def check_range(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:  # NaN too
        raise SpeechError(f"found {name} {value:g}, expected {low:g} to {high:g}")


def check_seed(seed: int | None, vocoder: Vocoder) -> None:
    if seed is None:
        return
    if abs(seed) > LARGEST_SEED:
        raise SpeechError(f"found seed {seed}, expected a whole number below 2^63")
    if not vocoder.draws:
        raise SpeechError(f"found seed {seed}, but the vocoder {vocoder.name} draws nothing at random: leave it out")
