"""The phonemes of misaki and of gruut in eSpeak's notation: the same symbols, so that one voice understands both."""

from __future__ import annotations

import re

_VOWELS = "aeiouæɑɔəɚɛɜɪʊʌᵻɐɒ"
_SHORT = {
    "A": "eɪ", "I": "aɪ", "O": "oʊ", "W": "aʊ", "Y": "ɔɪ", "Q": "əʊ", "ʤ": "dʒ", "ʧ": "tʃ", "ᵊ": "ə", "T": "ɾ",
    "g": "ɡ", "\u0361": "",
}  # fmt: skip
_LONG = str.maketrans(_SHORT)
_AMERICAN = (
    (re.compile("([ˈˌ])ɚ"), r"\1ɜː"),  # gruut has one sign where eSpeak has two
    (re.compile("ɜɹ"), "ɜː"),
    (re.compile(f"əɹ(?=[ˈˌ]?[{_VOWELS}])"), "ɚɹ"),
    (re.compile("əɹ"), "ɚ"),
    (re.compile("ɑ|ɔ(?!ɪ)|u"), r"\g<0>ː"),
    (re.compile(f"(?<=[ˈˌ])i|i(?=[ˈˌ]?[^{_VOWELS}ˈˌ])"), "iː"),  # but happy, media
    (re.compile(f"^([^{_VOWELS}]*)i$"), r"\1iː"),  # he, we
    (re.compile("ʔn"), "ʔn\u0329"),
    (re.compile(f"(?<![{_VOWELS}ˈˌ])ə$"), "ɐ"),  # NASA
)
_BRITISH_LISTED = ((re.compile("(?<!a)ɪə"), "iə"), (re.compile("ɛː"), "eə"), (re.compile("əː"), "ɜː"))
# eSpeak's British: r only before a vowel. Of use for gruut's guesses, which are American.
_BRITISH = (
    (re.compile("([ˈˌ])ɚ|ɜɹ"), r"\1ɜː"),
    (re.compile("ɚ|əɹ"), "ə"),
    (re.compile("oʊ"), "əʊ"),
    (re.compile("æ"), "a"),
    (re.compile("ɑ(?!ɹ)"), "ɒ"),
    (re.compile("ɑ|ɔ(?!ɪ)|u"), r"\g<0>ː"),
    (re.compile(f"ɹ(?!ː?[ˈˌ]?[{_VOWELS}])"), ""),
    (re.compile(f"(?<=[ˈˌ])i|i(?=[ˈˌ]?[^{_VOWELS}ˈˌ])"), "iː"),
)


def from_misaki(sounds: str, british: bool) -> str:
    """Of its British words the vowels have their lengths already."""
    return _apply(sounds.translate(_LONG), _BRITISH_LISTED if british else _AMERICAN)


def from_gruut(sounds: str, british: bool) -> str:
    return _apply(sounds.translate(_LONG), _BRITISH if british else _AMERICAN)


def starts_with_vowel(sounds: str) -> bool:
    return sounds.lstrip("ˈˌ")[:1] in tuple(_VOWELS)


def _apply(sounds: str, rules: tuple[tuple[re.Pattern[str], str], ...]) -> str:
    for pattern, new in rules:
        sounds = pattern.sub(new, sounds)
    return sounds


# ---- endings ---------------------------------------------------------------------------------------------------------

_SIBILANT, _VOICELESS = ("s", "z", "ʃ", "ʒ"), ("p", "t", "k", "f", "θ")


def with_s(sounds: str) -> str:
    """books, dogs, boxes"""
    if sounds.endswith(_SIBILANT):
        return sounds + "ᵻz"
    return sounds + ("s" if sounds.endswith(_VOICELESS) else "z")


def with_ed(sounds: str) -> str:
    """needed, asked, called"""
    if sounds.endswith(("t", "d", "ɾ")):
        return sounds + "ᵻd"
    return sounds + ("t" if sounds.endswith((*_VOICELESS, "s", "ʃ")) else "d")
