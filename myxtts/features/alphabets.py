"""In which letters a text is written, and in which a language is."""

from __future__ import annotations

import unicodedata
from collections import Counter

from myxtts.features.languages import family_of

LATIN = "LATIN"
_CHINESE = ("CJK", "HIRAGANA", "KATAKANA")
# Families of languages by the first word of their letters' names in Unicode; all others are written in Latin ones.
_LETTERS = {
    "ARABIC": ("ar", "fa", "ur", "sd", "ug", "ps"),
    "CYRILLIC": ("ru", "uk", "be", "bg", "mk", "sr", "kk", "ky", "tt", "ba", "cv"),
    "DEVANAGARI": ("hi", "mr", "ne", "kok", "sa"),
    "CJK": ("cmn", "yue", "hak", "ja"),
    "HANGUL": ("ko",), "GREEK": ("el", "grc"), "HEBREW": ("he",), "GEORGIAN": ("ka",), "ARMENIAN": ("hy", "hyw"),
    "ETHIOPIC": ("am",), "BENGALI": ("bn", "as", "bpy"), "GUJARATI": ("gu",), "GURMUKHI": ("pa",), "KANNADA": ("kn",),
    "MALAYALAM": ("ml",), "TAMIL": ("ta",), "TELUGU": ("te",), "SINHALA": ("si",), "ORIYA": ("or",),
    "MYANMAR": ("my",), "THAI": ("th",), "CHEROKEE": ("chr",),
}  # fmt: skip
_LETTERS_OF = {family: letters for letters, families in _LETTERS.items() for family in families}


def letters_of_language(language: str) -> str:
    """'ARABIC' for fa, 'LATIN' for en-us, ..."""
    return _LETTERS_OF.get(family_of(language), LATIN)


def letters_of_text(text: str) -> str | None:
    """Those that most of it is written in; None where it has none."""
    found = Counter(_letters(each) for each in text if each.isalpha())
    return found.most_common(1)[0][0] if found else None


def name_of(letters: str) -> str:
    return "Chinese or Japanese" if letters == "CJK" else letters.capitalize()


def _letters(character: str) -> str:
    first = unicodedata.name(character, LATIN).partition(" ")[0]
    return "CJK" if first in _CHINESE else first
