"""Languages without a file of their own: their numbers in words, the rest as it stands."""

from __future__ import annotations

from myxtts.features.normalise.counting import LONGEST, Number, has_rules, listed, spell
from myxtts.features.normalise.reader import Reader

# Left to the voice: Japanese numbers would come in kanji and Cherokee ones in small letters, which eSpeak does not
# read; the Lao rules are half Thai.
_LEFT = ("ja", "chr", "lo")
_SAME_NUMBERS = {"nb": "no", "bs": "sr_Latn", "hbs": "sr_Latn", "an": "es", "hak": "zh"}
_WITH_POINT = frozenset(listed("am bn cy en ga he hi iw kn ko ml mr ms mt my ne pa si sw ta te th tl fil ur yue zh zu"))


class Other(Reader):
    def __init__(self, code: str, with_point: bool):
        self.code = code
        self.points, self.groups = (".", ",") if with_point else (",", ".")
        self.minus = spell(-1, code).removesuffix(spell(1, code)).strip()
        super().__init__()

    def count(self, value: int, gender: str = "") -> str:
        return spell(value, self.code)

    def say_decimals(self, whole: str, number: Number) -> str:
        point = spell(1.5, self.code).removeprefix(spell(1, self.code)).removesuffix(spell(5, self.code))
        return f"{whole} {point.strip()} {self.digits(number.decimals)}"

    def cardinal(self, digits: str, gender: str = "") -> str:
        too_long = len(digits) > LONGEST or not self.count(int(digits))  # some languages count to ten million only
        return self.digits(digits) if too_long else super().cardinal(digits)


def make(language: str) -> Reader | None:
    """The reader of a language, None where its numbers are left to the voice."""
    code = _SAME_NUMBERS.get(language, language)
    if language in _LEFT or not has_rules(code):
        return None
    return Other(code, language in _WITH_POINT)
