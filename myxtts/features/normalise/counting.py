"""Whole numbers in words, from the CLDR rules inside `unicode-rbnf`; each answer is kept.

A form is a rule set of a language without its prefix: `cardinal-feminine`, `ordinal-neuter-genitive`, `numbering-year`.
"""

from __future__ import annotations

import functools
import threading
from typing import NamedTuple

from unicode_rbnf import RbnfEngine
from unicode_rbnf.engine import RbnfError

LONGEST = 15  # digits; more are read one by one. The rules count in floats, exact to 2**53
_LOCK = threading.Lock()  # an engine rewrites its rules while it counts


class Number(NamedTuple):
    """A number as it was written: '-1,234.50' in English is ('-', '1234', '50')."""

    sign: str
    whole: str
    decimals: str

    @property
    def value(self) -> int:
        """Of a number too long to be counted only its end, which decides how the noun after it ends."""
        return int(self.whole) if len(self.whole) <= LONGEST else 10**LONGEST + int(self.whole[-2:])


@functools.cache
def has_rules(language: str) -> bool:
    return language in RbnfEngine.get_supported_languages()


@functools.cache
def _engine(language: str) -> RbnfEngine:
    return RbnfEngine.for_language(language)


@functools.lru_cache(maxsize=16384)
def spell(number: float, language: str, form: str = "") -> str:
    """A number of up to `LONGEST` digits in words, '' where the language has no rule for it."""
    with _LOCK:
        try:
            result = _engine(language).format_number(number, ruleset_names=[f"spellout-{form}"] if form else None)
        except RbnfError:
            return ""
    return result.text.replace("\u200b", "")


_ROMAN = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}
ROMAN = "(?=[IVXLCDM])M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})(?<=[IVXLCDM])"


def roman(numeral: str) -> int:
    """'XIV' -> 14."""
    values = [_ROMAN[letter] for letter in numeral]
    return sum(-v if v < after else v for v, after in zip(values, [*values[1:], 0], strict=True))


def listed(words: str) -> list[str]:
    """'one two' -> ['one', 'two']: a list that is easier to read and to write."""
    return words.split()
