"""One spelling of what was said, so that only what was heard wrongly counts: case, punctuation, digits, letter forms.

Numbers are written out in English only; in other languages digits of every script become 0-9.
"""

from __future__ import annotations

import re
import unicodedata

_LETTERS = str.maketrans(
    {"ي": "ی", "ى": "ی", "ك": "ک", "ة": "ه", "ۀ": "ه", "أ": "ا", "إ": "ا", "ـ": "", "\u200c": " ", "\u200d": ""}
)
_APOSTROPHES = re.compile("['’‘ʼ`´]")
_VOWEL_SIGNS = re.compile("[\u064b-\u0652\u0670]")  # Arabic script writes them or not as it likes
_NUMBER = re.compile(r"([$€£]?)(\d{1,3}(?:,\d{3})+|\d+)(?:\.(\d+))?(st|nd|rd|th)?\b")
_AND = re.compile(r"\b(hundred|thousand) and\b")
_TODAY = re.compile(r"\bto[-\u2010\u2011](day|morrow|night)\b")  # recognisers write it as often as today
# And of two spellings of a word either one, whichever the text has.
_SPELLINGS = (
    (re.compile(r"ell(ed|ers?|ing|ous)\b"), r"el\1"),  # travelled
    (re.compile(r"\b((?:behavi|col|fav|flav|harb|hon|hum|lab|neighb|parl|rum|sav|vap)o)u(r\w*)"), r"\1\2"),  # harbour
    (re.compile(r"\b(cent|lit|met|theat)re(s?)\b"), r"\1er\2"),  # theatre
    (re.compile(r"\bper cent\b"), "percent"),
)
_TITLES = {"mr": "mister", "mrs": "missus", "dr": "doctor", "ok": "okay"}
_CURRENCIES = {"$": "dollars", "€": "euros", "£": "pounds"}

_WITHOUT_SPACES = frozenset({"zh", "cmn", "yue", "ja", "th", "lo", "km", "my", "bo"})

_ONES = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
]  # fmt: skip
_TENS = ["zero", "ten", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_ORDINALS = {
    "one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth", "nine": "ninth",
    "twelve": "twelfth",
}  # fmt: skip


def spoken_words(text: str, language: str = "en") -> list[str]:
    """The words of a text as they are compared: 'Dr. Lee paid $3.5!' is doctor lee paid three point five dollars."""
    english = language.split("-")[0] == "en"
    text = unicodedata.normalize("NFKC", text).casefold().translate(_LETTERS)
    text = _VOWEL_SIGNS.sub("", _APOSTROPHES.sub("", "".join(map(_digit, text))))
    if english:
        text = _NUMBER.sub(_say_number, _TODAY.sub(r"to\1", text)).replace("%", " percent ").replace("&", " and ")
    words = "".join(char if _is_spoken(char) else " " for char in text).split()
    if english:
        text = _AND.sub(r"\1", " ".join(_TITLES.get(word, word) for word in words))
        for written, otherwise in _SPELLINGS:
            text = written.sub(otherwise, text)
        words = text.split()
    return words


def without_spaces(language: str) -> bool:
    """Whether a language is written without spaces between its words, so that only its characters can be counted."""
    return language.split("-")[0].lower() in _WITHOUT_SPACES


def number_words(number: int) -> str:
    """0..999,999 in English words, without 'and'."""
    if number < 20:
        return _ONES[number]
    if number < 100:
        return _TENS[number // 10] + (f" {_ONES[number % 10]}" if number % 10 else "")
    unit, name = (1000, "thousand") if number >= 1000 else (100, "hundred")
    rest = f" {number_words(number % unit)}" if number % unit else ""
    return f"{number_words(number // unit)} {name}{rest}"


def _digit(char: str) -> str:
    value = unicodedata.decimal(char, None)
    return char if value is None else str(value)


def _is_spoken(char: str) -> bool:
    return unicodedata.category(char)[0] in "LMN"


def _say_number(match: re.Match[str]) -> str:
    currency, whole, decimals, ordinal = match.groups()
    digits = whole.replace(",", "")
    plain = len(digits) <= 6 and (digits == "0" or digits[0] != "0")
    words = number_words(int(digits)) if plain else " ".join(_ONES[int(digit)] for digit in digits)
    if ordinal:
        words = _ordinal(words)
    if decimals:
        words += " point " + " ".join(_ONES[int(digit)] for digit in decimals)
    return f" {words} {_CURRENCIES.get(currency, '')} "


def _ordinal(words: str) -> str:
    before, space, last = words.rpartition(" ")
    regular = f"{last[:-1]}ieth" if last.endswith("y") else f"{last}th"
    return before + space + _ORDINALS.get(last, regular)
