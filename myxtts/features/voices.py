"""Who turns words into phonemes: eSpeak NG, or for English the word lists of `english/`; whichever is installed.

A code that ends in `WITHOUT_ESPEAK` is an English that is read from the lists.
"""

from __future__ import annotations

import functools

from myxtts.errors import MissingExtra
from myxtts.features import espeak
from myxtts.features.english import reading as english
from myxtts.features.english import words

ESPEAK, LISTS = READERS = ("espeak", "misaki")
AUTO = "auto"
WITHOUT_ESPEAK = "-x-misaki"


def languages() -> dict[str, str]:
    """Language codes and their English names; without eSpeak those that can be read nevertheless."""
    if espeak.is_installed() or words.version() is None:
        return espeak.languages()
    return english.LANGUAGES


def version() -> str | None:
    """eSpeak's version, None where only English is read, and without it."""
    return espeak.version() if espeak.is_installed() or words.version() is None else None


def english_reader(wanted: str) -> str:
    """Who reads English: the one that is wanted, which must be there; `auto` is eSpeak where it is installed."""
    if wanted == LISTS and words.version() is None:
        raise MissingExtra("misaki", "phonemes-en", "reading English without eSpeak")
    if wanted != AUTO:
        return wanted
    return LISTS if words.version() and not espeak.is_installed() else ESPEAK


def version_of_lists() -> str | None:
    return words.version()


def is_read_from_lists(language: str) -> bool:
    return language.endswith(WITHOUT_ESPEAK)


def speak_all(pieces: set[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """The IPA of each (language, words)."""
    listed = {piece for piece in pieces if is_read_from_lists(piece[0])}
    others = pieces - listed
    return {piece: _from_lists(*piece) for piece in listed} | (espeak.speak_all(others) if others else {})


@functools.lru_cache(maxsize=4096)
def _from_lists(language: str, text: str) -> str:
    return english.speak(language.removesuffix(WITHOUT_ESPEAK), text)
