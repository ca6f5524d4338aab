"""Languages without a file of their own: their numbers in words, the rest as it stands."""

from __future__ import annotations

from myxtts.features.normalise.counting import LONGEST, Number, has_rules, listed, spell
from myxtts.features.normalise.reader import Reader, RuleParts

# Left to the voice: Japanese and Hakka numbers would come in Chinese characters and Cherokee ones in small letters,
# which eSpeak does not read; the Lao rules are half Thai.
_LEFT = ("ja", "hak", "chr", "lo")
# Where the rules for decimals are broken, or decline both numbers.
_POINTS = {"pl": "przecinek", "lt": "kablelis", "lv": "komats", "mt": "punt", "kk": "бүтін", "ky": "бүтүн"}
_SAME_NUMBERS = {"nb": "no", "bs": "sr_Latn", "hbs": "sr_Latn", "an": "es"}
_WITH_POINT = frozenset(listed("am bn cy en ga he hi iw kn ko ml mr ms mt my ne pa si sw ta te th tl fil ur yue zh zu"))


class Other(Reader):
    def __init__(self, code: str, with_point: bool):
        self.code = code
        self.points, self.groups = (".", ",") if with_point else (",", ".")
        self.point = _point(code)
        self.minus = spell(-1, code).removesuffix(spell(1, code)).strip()
        super().__init__()

    def count(self, value: int, gender: str = "") -> str:
        return spell(value, self.code)

    def say_decimals(self, whole: str, number: Number) -> str:
        return f"{whole} {self.point} {self.digits(number.decimals)}"

    def find_special(self) -> list[RuleParts]:
        """Times of day: '14:30' as two numbers."""
        clock = r"(?<![\w.,:])([01]?\d|2[0-4]):([0-5]\d)(?![\w:])"
        return [(":", clock, lambda match: f"{self.cardinal(match[1])} {self.cardinal(match[2])}")]

    def cardinal(self, digits: str, gender: str = "") -> str:
        too_long = len(digits) > LONGEST or not self.count(int(digits))  # some languages count to ten million only
        return self.digits(digits) if too_long else super().cardinal(digits)


def _point(code: str) -> str:
    """What is said between 2 and .5; some languages say 'one' otherwise there, so other numbers are asked first."""
    for whole in (2, 3, 4, 0, 1):
        said, before, after = spell(whole + 0.5, code), spell(whole, code), spell(5, code)
        if before and said.startswith(before) and said.endswith(after):
            return said.removeprefix(before).removesuffix(after).strip()
    return _POINTS.get(code, "")


def make(language: str) -> Reader | None:
    """The reader of a language, None where its numbers are left to the voice."""
    code = _SAME_NUMBERS.get(language, language)
    if language in _LEFT or not has_rules(code):
        return None
    return Other(code, language in _WITH_POINT)
