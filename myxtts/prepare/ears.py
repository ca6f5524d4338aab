"""Who writes down what is said, and how sure it is: Moonshine for English, Whisper for other languages."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from myxtts.evaluation.recogniser import open_whisper


class Heard(NamedTuple):
    text: str
    confidence: float  # 0 to 1: the mean probability of what was written


class Ear(NamedTuple):
    """`name` says whose answers these are: another recogniser's are not taken for them."""

    name: str
    hear: Callable[[NDArray[np.float32]], Heard]  # samples at 16 kHz
    at_a_time: int | None = None  # how many clips; None: one per core


def find_ear(asr: str | None, language: str) -> Ear | None:
    """`asr`: moonshine, whisper, the folder of a Whisper, or none. Without it the one that knows the language."""
    if asr == "none":
        return None
    if asr == "moonshine" or (asr is None and language.split("-")[0] == "en"):
        return _moonshine()
    return _whisper(language, None if asr in (None, "whisper") else Path(asr))


def _moonshine() -> Ear:
    from myxtts.prepare.moonshine import Moonshine

    ear = Moonshine(threads=1)  # one clip per core is faster than one clip on all cores
    return Ear(ear.name, lambda audio: Heard(*ear(audio)))


def _whisper(language: str, folder: Path | None) -> Ear:
    model, short = open_whisper(language, folder), language.split("-")[0]

    def hear(audio: NDArray[np.float32]) -> Heard:
        parts: list[Any] = list(
            model.transcribe(audio, language=short, beam_size=1, condition_on_previous_text=False)[0]
        )
        lengths = [max(len(part.tokens), 1) for part in parts]
        logs = sum(part.avg_logprob * length for part, length in zip(parts, lengths, strict=True))
        text = " ".join(part.text.strip() for part in parts)
        return Heard(text, math.exp(logs / sum(lengths)) if parts else 0.0)

    return Ear(f"whisper-{folder.resolve().name if folder else 'base'}-{short}", hear, at_a_time=1)
