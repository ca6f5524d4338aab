"""Sentences to read aloud: few of them, with as many of a language's sounds next to each other as can be."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path

from myxtts.corpus.demo_sentences import LANGUAGES, sentences
from myxtts.errors import PrepareError
from myxtts.features import espeak
from myxtts.features.languages import resolve_language
from myxtts.features.phonemes import MARKS, STRESS, phonemise
from myxtts.prepare.script import Script, read_script

ORIGIN = "written for MyXTTS, Apache-2.0"

_CANDIDATES = 1200
_CHARACTERS_PER_SECOND = 14.0  # of a calm reader; the demo voice says 15.6
_PAUSE_SECONDS = 1.0  # after each sentence
_SHORTEST, _LONGEST = 20, 180  # characters


@dataclass(frozen=True)
class ReadingList:
    """`covered` of `known` pairs of sounds that occur in the text the sentences were chosen from."""

    sentences: list[str]
    seconds: float
    covered: int
    known: int
    unit: str  # what pairs were counted of: sounds or letters
    origin: str


def reading_list(language: str, minutes: float, text: Path | None = None) -> ReadingList:
    """The sentence with the most pairs that are still missing for its length comes first, and so on."""
    candidates = _candidates(language, text)
    pairs, unit = _pairs(candidates, language)
    known = Counter(pair for each in pairs for pair in each)
    chosen, seconds, heard = [], 0.0, set[str]()
    left = dict(enumerate(candidates))
    while left and seconds < minutes * 60:
        best = max(
            left, key=lambda n: (sum(1.0 / known[pair] for pair in pairs[n] - heard) / _seconds(candidates[n]), -n)
        )
        if not pairs[best] - heard:
            heard = set()  # all of them were met: from the beginning again
            if not pairs[best]:
                break
            continue
        heard |= pairs[best]
        seconds += _seconds(left[best])
        chosen.append(left.pop(best))
    covered = {pair for each in chosen for pair in pairs[candidates.index(each)]}
    return ReadingList(chosen, round(seconds, 1), len(covered), len(known), unit, text.name if text else ORIGIN)


def _candidates(language: str, text: Path | None) -> list[str]:
    if text is not None:
        fitting = [one for one in _sentences_of(read_script(text), language) if _SHORTEST <= len(one) <= _LONGEST]
        if not fitting:
            raise PrepareError(f"{text} has no sentence of {_SHORTEST} to {_LONGEST} characters: name another text")
        return list(dict.fromkeys(fitting))
    known = {name.split("-")[0]: name for name in LANGUAGES["espeak"]}
    name = known.get(language.split("-")[0])
    if name is None:
        raise PrepareError(
            f"there are no sentences in '{language}' here, only in {', '.join(known)}: "
            f"name a text of your own with --from FILE"
        )
    return list(dict.fromkeys(one.spoken for one in islice(sentences(name, 0), _CANDIDATES)))


def _sentences_of(text: str, language: str) -> list[str]:
    script = Script.of(text, language)
    edges = [-1, *sorted(script.ends)]
    return [script.text(before + 1, end) for before, end in pairwise(edges)]


def _pairs(candidates: list[str], language: str) -> tuple[list[set[str]], str]:
    if not espeak.is_installed():
        spelled, unit = [one.casefold() for one in candidates], "letters"
    else:
        spelled, unit = phonemise(candidates, resolve_language(language)), "sounds"
    silent = str.maketrans("", "", STRESS + MARKS + " ")
    return [{a + b for word in one.split() for a, b in pairwise(word.translate(silent))} for one in spelled], unit


def _seconds(sentence: str) -> float:
    return len(sentence) / _CHARACTERS_PER_SECOND + _PAUSE_SECONDS
