"""One English word: its phonemes from misaki's lists, with an ending, letter by letter, or guessed."""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import json
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path

from myxtts.errors import TextError
from myxtts.features.english import gruut
from myxtts.features.english.notation import from_gruut, from_misaki, with_ed, with_s

PACKAGE = "misaki"

_LAST = "None"
_LONGEST_INITIALS = 5
_BARE_VOWELS = frozenset("aeiouy")
_LETTERS = str.maketrans(
    {"æ": "ae", "œ": "oe", "ø": "o", "ß": "ss", "ð": "th", "þ": "th", "ł": "l", "đ": "d", "ı": "i"}
)
_SHORTENED = {"'ll": "əl", "'ve": "əv", "'d": "d", "'re": "ɚ", "'m": "m", "n't": "ənt"}
_NAME_PARTS = {"O": "oʊ", "D": "də", "L": "l"}
Stem = tuple[str, Callable[[str], str]]  # a word, and what an ending adds to its sounds
Sounds = str | dict[str, str]  # of a word that is read in several ways: part of speech -> sounds


def version() -> str | None:
    """The packages that are read, None unless both are installed."""
    try:
        return ", ".join(f"{name} {importlib.metadata.version(name)}" for name in (PACKAGE, gruut.PACKAGE))
    except importlib.metadata.PackageNotFoundError:
        return None


class Words:
    """The words of American or British English."""

    def __init__(self, british: bool):
        self._british = british
        self._gold, self._silver = (_load(f"{'gb' if british else 'us'}_{name}.json") for name in ("gold", "silver"))
        self.find = functools.lru_cache(maxsize=32768)(self._find)

    def is_ambiguous(self, word: str) -> bool:
        """Whether its part of speech decides."""
        return any(isinstance(self._gold.get(form), dict) for form in (word, word.lower()))

    def at_end(self, word: str, kind: str) -> str:
        """`kind`, or what misaki calls a word that nothing follows ('Yes, I can'), if that makes a difference."""
        sounds = self._gold.get(word.lower())
        return _LAST if isinstance(sounds, dict) and _LAST in sounds else kind

    def _find(self, word: str, kind: str, begins: bool) -> str:
        """The phonemes of a word; `kind` is its part of speech, `begins` whether its capital may mean nothing."""
        forms = (word.lower(), word) if begins and word[1:].islower() else (word, word.lower())
        for form in dict.fromkeys((*forms, *map(_plain, forms))):
            if form in self._gold or form in self._silver:
                return self._listed(form, kind) or self.spell_out(word)
        if len(word) > 1 and word.isupper() and word.isalpha() and self._are_initials(word):
            return self.spell_out(word)
        first, _, rest = word.partition("'")
        if first in _NAME_PARTS and rest[:1].isupper():  # O'Brien
            return _NAME_PARTS[first] + self.find(rest, kind, False)
        plain = _plain(word.lower())
        return self._with_ending(plain, kind) or self._guess(plain) or self.spell_out(word)

    def spell_out(self, word: str) -> str:
        """'FBI' letter by letter, the last one stressed."""
        names = [self._listed(letter, "") for letter in _plain(word.upper()) if letter in self._gold]
        return "".join([name.replace("ˈ", "ˌ") for name in names[:-1]] + names[-1:])

    def _are_initials(self, word: str) -> bool:
        return len(word) <= _LONGEST_INITIALS or _BARE_VOWELS.isdisjoint(word.lower())

    def _listed(self, form: str, kind: str) -> str:
        sounds = self._gold.get(form, self._silver.get(form)) or ""
        if isinstance(sounds, dict):
            sounds = _choose(sounds, kind)
        return from_misaki(sounds, self._british)

    def _with_ending(self, word: str, kind: str) -> str:
        """From misaki's stems, or from gruut's words and their stems."""
        stems: list[Stem] = [(word, str), *_stems(word)]
        for stem, add in stems:
            if stem in self._gold or stem in self._silver:
                return add(self._listed(stem, kind))
        for stem, add in stems:
            if stem in gruut.listed():
                return add(from_gruut(gruut.listed()[stem], self._british))
        return ""

    def _guess(self, word: str) -> str:
        return from_gruut(gruut.guess(word.strip("'")), self._british)


def _choose(sounds: dict[str, str], kind: str) -> str:
    """Of several readings the one for this part of speech ('' if its letters are said)."""
    for key in (kind, _CLASSES.get(kind[:2], "")):
        if key in sounds:
            return sounds[key] or ""
    return sounds["DEFAULT"]


_CLASSES = {"VB": "VERB", "NN": "NOUN", "JJ": "ADJ", "RB": "ADV"}


def _stems(word: str) -> Iterator[Stem]:
    """What a word may be an inflection of, and what its ending adds to the sounds."""
    for ending, sounds in _SHORTENED.items():
        if word.endswith(ending):
            yield word.removesuffix(ending), lambda stem, more=sounds: stem + more  # type: ignore[misc]
    if word.endswith(("'s", "s'")):
        yield word[:-2], with_s
        yield word[:-1], str  # 'the boys'' is said as it is
    if word.endswith("s") and not word.endswith("ss"):
        yield from ((stem, with_s) for stem in (word[:-1], word[:-2] if word.endswith("es") else "", _y(word, "ies")))
    if word.endswith("ed"):
        yield from ((stem, with_ed) for stem in (word[:-1], word[:-2], _y(word, "ied"), _undoubled(word[:-2])))
    if word.endswith("ing"):
        stems = (word[:-3], word[:-3] + "e", _undoubled(word[:-3]))
        yield from ((stem, lambda sounds: sounds + "ɪŋ") for stem in stems)


def _y(word: str, ending: str) -> str:
    return f"{word.removesuffix(ending)}y" if word.endswith(ending) else ""


def _undoubled(stem: str) -> str:
    return stem[:-1] if stem[-1:] == stem[-2:-1] else ""


def _plain(word: str) -> str:
    """'café' as 'cafe'."""
    if word.isascii():
        return word
    bare = unicodedata.normalize("NFD", word.translate(_LETTERS))
    return "".join(char for char in bare if char.isascii())


def _load(name: str) -> dict[str, Sounds]:
    spec = importlib.util.find_spec(PACKAGE)
    assert spec is not None
    assert spec.origin is not None
    path = Path(spec.origin).parent / "data" / name
    try:
        words: dict[str, Sounds] = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise TextError(f"cannot read {path}: {error}; install {PACKAGE} again") from None
    return words
