"""Which clips are understood: by Moonshine in English, in other languages by Whisper where its weights are at hand."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import fmean, median
from typing import Any

from myxtts.errors import MyXTTSError
from myxtts.evaluation.intelligibility import character_error_rate
from myxtts.evaluation.recogniser import Recogniser
from recipes.many_voices.kept import Kept, by_speaker, grouped, sound_of
from recipes.many_voices.speaking import TELL_EVERY
from recipes.many_voices.voices import is_sampled

Ears = Callable[[str], Recogniser]  # for a language
# Of a clip's characters, where voices that speak their own language have 0.00 to 0.05 (docs/log.md, 2026-11-17).
MOST_WRONG = 0.25
LEAST_CLIPS = 2  # above it, and the mean of all too, before a sampled voice is left out whole
_log = logging.getLogger("many_voices")


def hear_texts(folder: Path, rows: Iterable[dict[str, Any]], heard: Kept, ears: Ears) -> dict[str, str]:
    """Hear the rows that were not heard; the languages that nobody can listen to, and why."""
    unheard: dict[str, str] = {}
    new = [row for row in rows if not heard.has(row)]
    for language, some in grouped(new, _family).items():
        try:
            recogniser = ears(language)
        except MyXTTSError as error:
            unheard[language] = f"{len(some)} clips: {error}"
            continue
        for number, row in enumerate(some, 1):
            text = recogniser(*sound_of(folder, row))
            heard.add(row, heard=text, wrong=_wrong(row["text"], text, language))
            if number % TELL_EVERY == 0:
                _log.info("%s: %d of %d clips are heard", language, number, len(some))
    return unheard


def not_understood(heard: Iterable[dict[str, Any]]) -> dict[str, str]:
    """Sampled voices, and clips of other speakers, that are to be left out, and why."""
    unknown = unknown_languages(heard)
    judged = [line for line in _judged(heard) if _family(line) not in unknown]
    out: dict[str, str] = {}
    for speaker, lines in by_speaker(judged).items():
        wrong, bad = _mean(lines), sum(line["wrong"] > MOST_WRONG for line in lines)
        if is_sampled(speaker) and bad >= LEAST_CLIPS and wrong > MOST_WRONG:
            out[speaker] = f"{wrong:.2f} of the characters of {len(lines)} clips are heard wrongly"
    single = (line for line in judged if line["wrong"] > MOST_WRONG and line["speaker"] not in out)
    return out | {line["id"]: f"{line['text']!r} is heard as {line['heard']!r}" for line in single}


def unknown_languages(heard: Iterable[dict[str, Any]]) -> dict[str, float]:
    """Those of which the recogniser gets half of the clips wrong: it does not know them, so it says nothing of a voice.
    Whisper's base model is so with Hindi, of which it hears 0.87 of Kokoro's characters wrong, and Persian (0.49)."""
    other = grouped((line for line in _judged(heard) if _family(line) != "en"), _family)
    usual = {language: round(median(line["wrong"] for line in lines), 3) for language, lines in other.items()}
    return {language: wrong for language, wrong in usual.items() if wrong > MOST_WRONG}


def by_language(heard: Iterable[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """How many clips were judged, and how many of their characters are heard wrongly."""
    languages = sorted(grouped(_judged(heard), _family).items())
    return {language: {"clips": len(lines), "wrong": round(_mean(lines), 3)} for language, lines in languages}


def _wrong(text: str, heard: str, language: str) -> float | None:
    """At most 1: who hears ten sentences in one says no more than who hears nothing. None where it cannot be said,
    since numbers are compared in words in English only (myxtts/evaluation/words.py)."""
    if language != "en" and any(character.isdigit() for character in heard):
        return None
    return round(min(character_error_rate([text], [heard], language), 1.0), 3)


def _judged(heard: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return [line for line in heard if line["wrong"] is not None]


def _mean(lines: Iterable[dict[str, Any]]) -> float:
    return fmean(line["wrong"] for line in lines)


def _family(row: dict[str, Any]) -> str:
    return str(row["language"]).split("-")[0]
