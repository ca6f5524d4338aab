"""In which letters a text is written, and in which a language is, where it has one alphabet only."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence

from myxtts.features.languages import ALIASES, family_of, tag_of
from myxtts.features.letters import clean

# Families of languages by the first word of their letters' names in Unicode. Those of two alphabets (Serbian, Kurdish,
# Uzbek, Punjabi ...) are not here, nor are those that nobody has looked up: of these nothing is known.
_LETTERS = {
    "LATIN": (
        "en", "es", "fr", "it", "pt", "de", "nl", "sv", "da", "nb", "fi", "pl", "cs", "sk", "hu", "ro", "tr", "vi",
        "id", "ms", "et", "lv", "lt", "sl", "hr", "ca", "gl", "eu", "sq", "is", "ga", "cy", "gd", "af", "sw", "mt",
        "lb", "eo", "la",
    ),
    "ARABIC": ("ar", "fa", "ur", "sd", "ug", "ps"),
    "CYRILLIC": ("ru", "uk", "be", "bg", "mk", "ky", "ba", "cv"),
    "DEVANAGARI": ("hi", "mr", "ne", "kok"),
    "CJK": ("cmn", "yue", "ja"),
    "HANGUL": ("ko",), "GREEK": ("el", "grc"), "HEBREW": ("he",), "GEORGIAN": ("ka",), "ARMENIAN": ("hy", "hyw"),
    "ETHIOPIC": ("am", "ti"), "BENGALI": ("bn", "as", "bpy"), "GUJARATI": ("gu",), "KANNADA": ("kn",),
    "MALAYALAM": ("ml",), "TAMIL": ("ta",), "TELUGU": ("te",), "SINHALA": ("si",), "ORIYA": ("or",),
    "MYANMAR": ("my",), "THAI": ("th",),
}  # fmt: skip
_LETTERS_OF = {family: letters for letters, families in _LETTERS.items() for family in families}
_SCRIPTS = {"latn", "cyrl", "arab", "latin"}  # subtags: pinyin is no Chinese writing
_WRITTEN_AS = {
    "HIRAGANA": "CJK",
    "KATAKANA": "CJK",
    "KATAKANA-HIRAGANA": "CJK",
    "IDEOGRAPHIC": "CJK",
    "BOPOMOFO": "CJK",
}
_OF_NONE = {"MODIFIER", "MASCULINE", "FEMININE", "MICRO"}


def letters_of_language(language: str) -> str | None:
    """'ARABIC' for fa, 'LATIN' for en-us; None where that is not known, or where there are several."""
    tag = tag_of(language)
    return None if _SCRIPTS & set(tag.split("-")) else _LETTERS_OF.get(family_of(ALIASES.get(tag, tag)))


def letters_of_text(text: str) -> str | None:
    """Those that most of it is written in; None where it has none."""
    found = Counter(filter(None, (_letters(each) for each in clean(text) if each.isalpha())))
    return found.most_common(1)[0][0] if found else None


def language_of(text: str, languages: Sequence[str], usual: str) -> str:
    """The usual one, or of a text in other letters than it has the first language that is written in them."""
    letters, own = letters_of_text(text), letters_of_language(usual)
    if letters is None or own in (None, letters):
        return usual
    return next((each for each in languages if letters_of_language(each) == letters), usual)


def name_of(letters: str) -> str:
    return "Chinese or Japanese" if letters == "CJK" else letters.capitalize()


def _letters(character: str) -> str | None:
    first = unicodedata.name(character, "MODIFIER").partition(" ")[0]
    return None if first in _OF_NONE else _WRITTEN_AS.get(first, first)
