"""The order in which written things are looked for, and what all languages share. A language fills the tables.

Each rule is a pattern and what is said for it. Rules run one after the other over the whole text; a rule may leave part
of what it found for a later one ('5-10 km' becomes 'five to 10 km'). What no rule finds stays as it is.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from typing import NamedTuple

from myxtts.features.normalise.counting import LONGEST, Number, spell

Match = re.Match[str]
RuleParts = tuple[str, str, Callable[[Match], str]]  # hints, pattern, what is said: of these a Rule is made
DIGITS = "0123456789"
_WORD_BEFORE = re.compile(r"([^\W\d_][\w'.-]*) ?[(\[\"']*$")
_WORD_AFTER = re.compile(r"[ \])\"']*([^\W\d_]+)")


class Rule(NamedTuple):
    """`say` is given each match of `pattern`; a text must have one character of `hints` to be searched."""

    hints: frozenset[str]
    pattern: re.Pattern[str]
    say: Callable[[Match], str]
    needs_digit: bool


def needing_digits(rules: Iterable[RuleParts]) -> list[RuleParts]:
    """These rules, but for those of Roman numerals, are not tried on texts without figures, as most are."""
    return [rule if set(rule[0]) <= set("IVXLCDM") else (f"{DIGITS} {rule[0]}", *rule[1:]) for rule in rules]


def _make_rule(hints: str, pattern: str, say: Callable[[Match], str]) -> Rule:
    digits, _, others = hints.rpartition(" ")
    return Rule(frozenset(others), re.compile(pattern), say, DIGITS in (digits, others))


class Noun(NamedTuple):
    """A unit or a coin: its gender and its forms, the singular first. How many there are is the language's."""

    gender: str
    forms: tuple[str, ...]


def noun(written: str) -> Noun:
    """'f|heure|heures' -> a feminine noun of two forms; a single form serves for all."""
    gender, *forms = written.split("|")
    return Noun(gender, tuple(forms))


def any_of(words: Iterable[str]) -> str:
    """A pattern for any of these words, the longest first."""
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True)) or "(?!)"


def abbreviation(spell: Callable[[str], str]) -> RuleParts:
    """The rule for capitals in a text of another script: 'NATO', letter by letter."""
    return "ABCDEFGHIJKLMNOPQRSTUVWXYZ", r"(?<![\w.@/])[A-Z]{2,5}(?![\w@])", lambda match: spell(match[0])


def before(match: Match) -> str:
    """The word that stands before what was found, in lower case; '' at the beginning or after a mark."""
    word = _WORD_BEFORE.search(match.string, max(0, match.start() - 40), match.start())
    return word[1].lower() if word else ""


def after(match: Match) -> str:
    """The word that stands after what was found, as it is written."""
    word = _WORD_AFTER.match(match.string, match.end())
    return word[1] if word else ""


def apart(said: str, match: Match) -> str:
    """What is said, with a space towards a letter, figure or sign that touched what was found."""
    before, after = match.string[match.start() - 1 : match.start()], match.string[match.end() : match.end() + 1]
    return f"{' ' * _needs_space(before)}{said}{' ' * _needs_space(after)}"


def _needs_space(char: str) -> bool:
    return bool(char) and unicodedata.category(char)[0] in "LNM" and not "\u4e00" <= char <= "\u9fff"


class _Ascii(dict[int, str]):
    """Every digit of the world as one of ours; filled as characters are met."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        self[code] = str(unicodedata.digit(char)) if unicodedata.category(char) == "Nd" else char
        return self[code]


_ASCII = _Ascii()


class Reader:
    """The numbers of one language. `dates`, `amounts` and `addresses` add to it what is written with them."""

    code = ""  # of the rules for its numbers
    points, groups = ".", ","  # between units and tenths; between thousands (a space always may)
    minus, plus, point, dot = "minus", "", "point", ""  # `dot` is the one of 2.0.1, `plus` that of +5: if other words
    symbols: dict[str, str] = {}  # read wherever they stand alone
    shortened: dict[str, str] = {}  # abbreviation -> words; a dot at the end of the words may end a sentence, too
    before_numbers: dict[str, str] = {}  # abbreviations that are ones only before a number
    counted: frozenset[str] = frozenset()  # what is no such abbreviation after a number
    letters: dict[int, str] = {}  # other spellings of this language's letters

    def __init__(self) -> None:
        self.number = rf"(?:\d{{1,3}}(?:[ '{self.groups}]\d{{3}})+(?![\d'{self.groups}]*\d)|\d+)(?:[{self.points}]\d+)?"
        self._rules = [_make_rule(*rule) for rule in self.find()]
        self._without_digits = [rule for rule in self._rules if not rule.needs_digit]

    def __call__(self, text: str) -> str:
        if not text.isascii():
            text = text.translate(_ASCII).translate(self.letters)
        characters = set(text)
        for hints, pattern, say, _ in self._without_digits if characters.isdisjoint(DIGITS) else self._rules:
            if not hints or not hints.isdisjoint(characters):
                said = pattern.sub(say, text)
                if said is not text:
                    text, characters = said, set(said)
        return " ".join(text.split())

    def find(self) -> list[RuleParts]:
        """The rules in order: (hints, pattern, what is said)."""
        return [
            *self.find_shortened(),
            *self.find_special(),
            *self.find_numbers(),
            ("".join(self.symbols), self._any_symbol(), self._symbol),
        ]

    def find_special(self) -> list[RuleParts]:
        """What a language writes in its own way; found before plain numbers."""
        return []

    # ---- abbreviations ----

    def find_shortened(self) -> list[RuleParts]:
        """Words with dots by their shape, then in the table: a pattern of a hundred words would cost 0.1 ms a text."""
        dotted = r"(?<![\w.@])[^\W\d_]{1,8}\.(?: ?-?(?:à-)?[^\W\d_]{1,4}\.)*(?!\w)"
        plain = any_of(word for word in self.shortened if not word.endswith("."))
        before = rf"(?<![\w.@])({any_of(self.before_numbers)}) ?(?=[\d]|[IVX]+\b)"
        return [
            (".", dotted, self._lengthen),
            ("", rf"(?<![\w.@])(?:{plain})(?![\w@])", self._lengthen),
            (f"{DIGITS}IVX", before, self._lengthen_before),
        ]

    def _lengthen_before(self, match: Match) -> str:
        return match[0] if self._is_counted(match[1], match) else f"{self.before_numbers[match[1]]} "

    def _is_counted(self, written: str, match: Match) -> bool:
        """'5 min.' is a measure."""
        known = written in self.counted or written.rstrip(".") in self.counted
        return known and match.string[: match.start()].rstrip()[-1:].isdigit()

    def is_shortened(self, word: str) -> bool:
        """Whether `word` is an abbreviation after which no sentence ends."""
        words = self.shortened.get(word) or self.shortened.get(word[:1].lower() + word[1:])
        return words is not None and not words.endswith(".")

    def _lengthen(self, match: Match) -> str:
        if self._is_counted(match[0], match):
            return match[0]
        rest = match.string[match.end() :].lstrip(" \"')]")
        return _lengthen(match[0], self.shortened, not rest, rest[:1].isupper())

    # ---- numbers ----

    def find_numbers(self) -> list[RuleParts]:
        return [
            (DIGITS, r"(?<![\d.,])\d+(?:\.\d+){2,}(?![\w.]*\d)", self._dotted),
            (DIGITS, rf"(?:(?<![\w)\]])(?P<sign>[-+±]) ?)?(?<!\d)(?P<number>{self.number})", self._plain_number),
        ]

    def parse(self, written: str, sign: str = "") -> Number:
        """What `self.number` has found."""
        whole, decimals = written, ""
        fraction = re.search(rf"[{self.points}](\d+)$", written)
        if fraction and not re.fullmatch(rf"\d{{1,3}}(?:[{re.escape(self.groups)}]\d{{3}})+", written):
            whole, decimals = written[: fraction.start()], fraction[1]
        return Number(sign, re.sub(r"\D", "", whole), decimals)

    def _plain_number(self, match: Match) -> str:
        return apart(self.say_number(match), match)

    def say_number(self, match: Match) -> str:
        """A number that stands for nothing special; `match` has a `number` and perhaps a `sign`."""
        return self.say(self.parse(match["number"], match["sign"] or ""), self.gender_of(match))

    def gender_of(self, match: Match) -> str:
        """Of what is counted, told by the words around."""
        return ""

    def _dotted(self, match: Match) -> str:
        """2.0.1, 192.168.1.1; but 1.234.567 is a number where dots are between thousands."""
        if re.fullmatch(self.number, match[0]):
            return match[0]
        return apart(f" {self.dot or self.point} ".join(self.cardinal(part) for part in match[0].split(".")), match)

    def say(self, number: Number, gender: str = "") -> str:
        said = self.cardinal(number.whole, "" if number.decimals else gender)
        if number.decimals:
            said = self.say_decimals(said, number)
        return f"{self.say_sign(number.sign)} {said}" if number.sign else said

    def say_sign(self, sign: str) -> str:
        if sign == "+" and self.plus:
            return self.plus
        return self.minus if sign == "-" else self.symbols.get(sign, sign)

    def say_decimals(self, whole: str, number: Number) -> str:
        """'three point one four'"""
        return f"{whole} {self.point} {self.digits(number.decimals)}"

    def cardinal(self, digits: str, gender: str = "") -> str:
        if len(digits) > LONGEST or (len(digits) > 1 and digits[0] == "0"):
            return self.digits(digits)
        return self.count(int(digits), gender)

    def count(self, value: int, gender: str = "") -> str:
        """A whole number in words."""
        return spell(value, self.code, "numbering")

    def digits(self, digits: str) -> str:
        """'007' -> 'zero zero seven'"""
        return " ".join(self.count(int(digit)) for digit in digits)

    # ---- what is left ----

    def _symbol(self, match: Match) -> str:
        """In words, and apart from what touches it: 'C++' has two of them."""
        follows = match.string[match.end() : match.end() + 1]
        return f" {self.symbols[match[0]]}{'' if follows and unicodedata.category(follows)[0] in 'PZ' else ' '}"

    def _any_symbol(self) -> str:
        return rf"[{re.escape(''.join(self.symbols))}]" if self.symbols else "(?!)"


def _lengthen(written: str, table: dict[str, str], is_end: bool, is_capital: bool) -> str:
    """'z. B.' in words, or as it stands. Of 'Prof. H. G.' the longest beginning that the table has."""
    parts = re.findall(r"[^.]*\.|[^.]+$", written)
    for many in range(len(parts), 0, -1):
        bare = "".join(parts[:many]).replace(" ", "")
        words = table.get(bare) or table.get(bare[0].lower() + bare[1:])
        if words is None:
            continue
        if many < len(parts):
            return f"{words.rstrip('.')} {_lengthen(''.join(parts[many:]).strip(), table, is_end, is_capital)}"
        ends = bare.endswith(".") and (is_end or (words.endswith(".") and is_capital))
        return words.rstrip(".") + "." * ends
    return written
