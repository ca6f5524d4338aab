"""What is to be said and how, read and checked without TensorFlow: a typing error costs no loading of a model."""

from __future__ import annotations

import time
from typing import NamedTuple

from myxtts.errors import SpeechError
from myxtts.inference.script import Line, Script
from myxtts.inference.vocoder import DEFAULT_VOCODER, Vocoder, find_vocoder

FLOW_STEPS = 8
TEMPERATURE = 0.667
_SLOWEST, _FASTEST = 0.25, 4.0
_HOTTEST = 2.0
_MOST_STEPS = 256


class Request(NamedTuple):
    """The sentences of a text, and everything that is the same for each of them but the voice."""

    lines: list[Line]
    language: int
    speed: float
    steps: int
    temperature: float
    seed: int
    vocoder: Vocoder
    text_ms: float


def make_request(
    script: Script,
    text: str,
    *,
    language: str | None = None,
    speed: float = 1.0,
    steps: int | None = None,
    temperature: float = TEMPERATURE,
    seed: int = 0,
    vocoder: str = DEFAULT_VOCODER,
) -> Request:
    """Of a text for one model. What that model cannot do is a `SpeechError`.

    `steps` are those of the flow head; without them the regression head speaks where there is one.
    """
    check_range("speed", speed, _SLOWEST, _FASTEST)
    check_range("temperature", temperature, 0.0, _HOTTEST)
    wanted, sound = _flow_steps(steps, script.head), find_vocoder(vocoder)
    position = script.language(language)
    started = time.perf_counter()
    lines = script.lines(text, position)
    text_ms = (time.perf_counter() - started) * 1e3
    return Request(lines, position, speed, wanted, temperature, seed, sound, text_ms)


def _flow_steps(steps: int | None, head: str) -> int:
    if steps is None:
        return FLOW_STEPS if head == "flow" else 0
    if head == "regression":
        raise SpeechError(f"found {steps} flow steps, but this model has a regression head only: leave --steps out")
    check_range("steps", steps, 1 if head == "flow" else 0, _MOST_STEPS)
    return int(steps)


def check_range(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:  # NaN too
        raise SpeechError(f"found {name} {value:g}, expected {low:g} to {high:g}")
