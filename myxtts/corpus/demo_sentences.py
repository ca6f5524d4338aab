"""What is said in the demo corpus, and by whom: a deterministic list without repetition for each engine and seed.

The texts in `sentences/` were all written for this project. A language is a small grammar: lists of words and of
templates whose `{slots}` draw from other lists. Each list is a shuffled deck that is dealt to its end before it is
shuffled again, so a thousand sentences meet nearly every word; independent draws would miss one in three.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from itertools import islice

from myxtts.errors import CorpusError

MIN_CHARACTERS = 25  # about 2 s of speech
MAX_CHARACTERS = 140  # about 9 s
WRITTEN_SHARE = 0.5  # of the sentences with a number or title, those that write it as digits or an abbreviation
WHOLE_EVERY = 6  # every sixth sentence is a hand-written one, as long as there are any
GIVE_UP_AFTER = 2000  # fruitless draws in a row: the grammar has no more sentences

Grammar = dict[str, list[str]]

_SLOT = re.compile(r"\{([^{}|]+)\}")
_PAIR = re.compile(r"\{([^{}|]*)\|([^{}|]*)\}")
_ARTICLE = re.compile(r"\b([aA])~ (?=(\{[^{}|]*\|)?([\w'-]+))")
_AN = re.compile(r"(?!uni|use|usu|euro|ukulele|one\b|once\b|ewe)(?:[aeiou]|hour|honest|heir|honou?r)", re.IGNORECASE)


@dataclass(frozen=True)
class Sentence:
    """`text` is as a person would write it, `spoken` has neither digits nor abbreviations."""

    text: str
    spoken: str


@dataclass(frozen=True)
class Row:
    """One utterance of the plan. `number` counts from 0 and seeds whatever noise the engine draws."""

    number: int
    id: str
    text: str
    spoken: str
    speaker: str
    language: str

    def line(self) -> str:
        return f"{self.id}|{self.text}|{self.spoken}|{self.speaker}|{self.language}\n"


LANGUAGES = {"hibari": ("en-us",), "espeak": ("en-us", "fa", "es", "fr", "de")}
VOICES = {"hibari": ("heart",), "espeak": ("f1", "m1", "f2", "m3", "f3", "m4", "f4", "m7")}


def plan_rows(engine: str, seed: int, utterances: int) -> list[Row]:
    """The first rows of the fixed plan for (engine, seed): those of a small corpus begin every larger one."""
    if engine not in VOICES:
        raise CorpusError(f"'{engine}' is not an engine of the demo corpus: choose one of {', '.join(VOICES)}")
    if utterances < 1 or seed < 0:
        raise CorpusError(
            f"found utterances = {utterances} and seed = {seed}: ask for 1 or more, with a seed of 0 or more"
        )
    rows = list(islice(_all_rows(engine, seed), utterances))
    if len(rows) < utterances:
        raise CorpusError(
            f"the demo corpus has {len(rows)} different sentences for engine {engine} and seed {seed}, "
            f"{utterances} were asked for: ask for at most {len(rows)}"
        )
    return rows


def _all_rows(engine: str, seed: int) -> Iterator[Row]:
    """Languages and voices take turns; 5 and 8 have no common divisor, so every pair of them comes up."""
    languages, voices = LANGUAGES[engine], VOICES[engine]
    texts = [sentences(language, seed) for language in languages]
    number = 0
    while (sentence := next(texts[number % len(texts)], None)) is not None:
        speaker = f"{engine}-{voices[number % len(voices)]}"
        language = languages[number % len(languages)]
        yield Row(number, f"{engine}-{number + 1:05}", sentence.text, sentence.spoken, speaker, language)
        number += 1


def sentences(language: str, seed: int) -> Iterator[Sentence]:
    """All sentences of a language (en-us, es, fr, de, fa), in the order that the seed decides, none twice."""
    return write_sentences(load_grammar(language), f"{language}/{seed}")


def write_sentences(
    grammar: Grammar, key: str, shortest: int = MIN_CHARACTERS, longest: int = MAX_CHARACTERS
) -> Iterator[Sentence]:
    """All sentences of a grammar within these lengths, in the order that the key decides, none twice."""
    writer = _Writer(grammar, key)
    seen: set[str] = set()
    fruitless = 0
    while fruitless < GIVE_UP_AFTER:
        sentence = writer.write(len(seen))
        fruitless += 1
        if sentence.spoken not in seen and len(sentence.text) >= shortest and len(sentence.spoken) <= longest:
            seen.add(sentence.spoken)
            fruitless = 0
            yield sentence


# --- grammars ---------------------------------------------------------------------------------------------------------


def load_grammar(language: str) -> Grammar:
    """The lists of `sentences/<language>*.txt`, and for English the numbers that are easier to count than to list."""
    prefix = language.split("-")[0]
    folder = resources.files("myxtts.corpus") / "sentences"
    names = sorted(item.name for item in folder.iterdir() if re.fullmatch(rf"{prefix}(_\w+)?\.txt", item.name))
    grammar: Grammar = _english_numbers() if prefix == "en" else {}
    for name in names:
        read_lists((folder / name).read_text(encoding="utf-8"), grammar)
    return grammar


def read_lists(text: str, grammar: Grammar) -> None:
    """`[name]` opens a list of entries separated by commas, `[[name]]` one with an entry per line."""
    entries: list[str] = []
    per_line = False
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            per_line = line.startswith("[[")
            entries = grammar.setdefault(line.strip("[]"), [])
        elif line and not line.startswith("#"):
            entries.extend([line] if per_line else (part.strip() for part in line.split(",") if part.strip()))


class _Deck:
    def __init__(self, entries: list[str], key: str):
        self._entries = list(entries)
        self._random = random.Random(key)  # a string seed gives the same order in every process and version
        self._left: list[str] = []

    def draw(self) -> str:
        if not self._left:
            self._random.shuffle(self._entries)
            self._left = list(self._entries)
        return self._left.pop()


class _Writer:
    def __init__(self, grammar: Grammar, key: str):
        self._decks = {name: _Deck(entries, f"{key}/{name}") for name, entries in grammar.items()}
        self._whole_left = len(grammar["whole"])
        self._random = random.Random(key)

    def write(self, number: int) -> Sentence:
        template = self._expand(self._start(number), set())
        template = _ARTICLE.sub(lambda match: match[1] + ("n " if _AN.match(_said(match)) else " "), template)
        spoken = _capitalised(_PAIR.sub(r"\2", template))
        written = self._random.random() < WRITTEN_SHARE
        return Sentence(_capitalised(_PAIR.sub(r"\1", template)) if written else spoken, spoken)

    def _start(self, number: int) -> str:
        if self._whole_left and ("frames" not in self._decks or number % WHOLE_EVERY == 0):
            self._whole_left -= 1
            return self._decks["whole"].draw()
        return self._decks["frames" if "frames" in self._decks else "whole"].draw()

    def _expand(self, template: str, used: set[str]) -> str:
        def fill(match: re.Match[str]) -> str:
            name, _, form = match[1].partition(":")
            entry = self._draw_unused(name, used)
            return self._expand(inflect(entry, form), used)

        return _SLOT.sub(fill, template)

    def _draw_unused(self, name: str, used: set[str]) -> str:
        for _ in range(8):  # one sentence should not say the same word twice; short lists may have no other
            entry = self._decks[name].draw()
            if entry not in used:
                break
        if "{" not in entry:
            used.add(entry)
        return "{" + entry + "}" if "|" in entry and "{" not in entry else entry


def _said(article: re.Match[str]) -> str:
    """The word that decides between a and an. A pair begins with a digit or a title, none of which takes "an"."""
    return "" if article[2] else article[3]


def _capitalised(sentence: str) -> str:
    first = next(i for i, character in enumerate(sentence) if character not in '"«„“¿¡')
    return sentence[:first] + sentence[first].upper() + sentence[first + 1 :]


# --- English words ----------------------------------------------------------------------------------------------------


def inflect(entry: str, form: str) -> str:
    """A form of a list entry: `pl` of a noun, `past`, `pp`, `ing` and `s` of a verb, or as it stands."""
    if "{" in entry:
        return entry
    if form == "pl":
        singular, _, plural = entry.partition("/")
        return plural or _with_s(singular)
    stem, _, particle = entry.partition(" ")
    if "/" not in stem and not form and not stem.endswith("+"):
        return entry
    base, past, participle = (stem.split("/") + [""] * 2)[:3]
    verb = {
        "": base.rstrip("+"),
        "s": _with_s(base.rstrip("+")),
        "ing": _with_ing(base),
        "past": past or _with_ed(base),
        "pp": participle or past or _with_ed(base),
    }[form]
    return f"{verb} {particle}" if particle else verb


def _with_s(word: str) -> str:
    if re.search(r"[^aeiou]y$", word):
        return word[:-1] + "ies"
    return word + ("es" if re.search(r"(s|x|z|ch|sh)$", word) else "s")


def _with_ed(base: str) -> str:
    if base.endswith("+"):
        return base[:-1] + base[-2] + "ed"
    if base.endswith("e"):
        return base + "d"
    return base[:-1] + "ied" if re.search(r"[^aeiou]y$", base) else base + "ed"


def _with_ing(base: str) -> str:
    if base.endswith("+"):
        return base[:-1] + base[-2] + "ing"
    return base[:-1] + "ing" if re.search(r"[^eoy]e$", base) else base + "ing"


# --- English numbers --------------------------------------------------------------------------------------------------

_UNITS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS = ("", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_ORDINALS = (
    *("", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh"),
    *("twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth", "nineteenth"),
    "twentieth",
)
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


def number_words(number: int) -> str:
    """A whole number from 0 to 9,999 in words."""
    if number < 20:
        return _UNITS[number]
    if number < 100:
        return _TENS[number // 10] + (f"-{_UNITS[number % 10]}" if number % 10 else "")
    size, name = (1000, "thousand") if number >= 1000 else (100, "hundred")
    rest = number % size
    return f"{_UNITS[number // size]} {name}" + (f" {number_words(rest)}" if rest else "")


def year_words(year: int) -> str:
    """A year from 1100 to 1999 as it is read aloud."""
    century, rest = divmod(year, 100)
    if rest == 0:
        return f"{number_words(century)} hundred"
    return f"{number_words(century)} {'oh ' if rest < 10 else ''}{number_words(rest)}"


def _english_numbers() -> Grammar:
    return {
        "n": [f"{n}|{number_words(n)}" for n in range(2, 100)],
        "big": [f"{n}|{number_words(n)}" for n in range(101, 1000, 7)],
        "year": [f"{year}|{year_words(year)}" for year in range(1702, 2000, 3)],
        "clock": [_clock(hour, minute) for hour in range(1, 13) for minute in (0, 5, 15, 20, 30, 45, 50)],
        "money": [f"${n}|{number_words(n)} dollars" for n in (*range(2, 30), *range(35, 1000, 35))],
        "percent": [f"{n}%|{number_words(n)} percent" for n in range(2, 98, 3)],
        "date": [f"{month} {_day(day)}" for month in _MONTHS for day in range(1, 21)],
    }


def _clock(hour: int, minute: int) -> str:
    if minute == 0:
        return f"{hour} o'clock|{number_words(hour)} o'clock"
    return f"{hour}:{minute:02}|{number_words(hour)} {'oh ' if minute < 10 else ''}{number_words(minute)}"


def _day(day: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(day, "th")
    return "{" + f"{day}{ending}|{_ORDINALS[day]}" + "}"
