"""What French, Spanish, Italian and Portuguese share: decimals read as a number, genders, 'de' after millions."""

from __future__ import annotations

from myxtts.features.normalise.counting import Number, spell
from myxtts.features.normalise.language import Language
from myxtts.features.normalise.reader import Match, Noun


class Romance(Language):
    points, groups = ",.", "."
    short_needs_dot = True
    of = "de"
    halves: dict[str, str] = {}  # gender -> 'medio'

    def count(self, value: int, gender: str = "") -> str:
        form = {"m": "cardinal-masculine", "f": "cardinal-feminine"}.get(gender, "numbering")
        return spell(value, self.code, form)

    def say_decimals(self, whole: str, number: Number) -> str:
        """'trois virgule quatorze', 'zéro virgule zéro cinq'; more than three figures one by one."""
        zeros = len(number.decimals) - len(number.decimals.lstrip("0"))
        rest = number.decimals[zeros:]
        if not rest or len(rest) > 3:
            return f"{whole} {self.point} {self.digits(number.decimals)}"
        return " ".join([whole, self.point, *[self.count(0)] * zeros, self.count(int(rest))])

    def scaled_money(self, number: Number, scale: Noun, major: Noun) -> str:
        coin = major.forms[-1]
        return f"{self.say_count(number, scale)} {self.join_of(coin) if scale.gender else coin}"

    def say_part_of(self, above: int, below: int, unit: Noun) -> str:
        """'tres cuartos de kilogramo', 'medio kilogramo'"""
        half = self.halves.get(unit.gender) if (above, below) == (1, 2) else None
        return f"{half} {unit.forms[0]}" if half else f"{self.say_fraction(above, below)} {self.join_of(unit.forms[0])}"

    def join_of(self, word: str) -> str:
        return f"{self.of} {word}"

    def ordinal(self, value: int, gender: str = "m") -> str:
        return spell(value, self.code, f"ordinal-{'feminine' if gender == 'f' else 'masculine'}")

    def marked_ordinal(self, match: Match) -> str:
        """Of a match with a `value` whose mark is masculine, or feminine: `f`."""
        value = int(match["value"])
        return self.ordinal(value, "f" if match["f"] else "m") if value else self.zero_degrees(match)

    def zero_degrees(self, match: Match) -> str:
        """Nobody counts a zeroth: '0°' and '0º' are left to the rule for temperatures."""
        return match[0].replace("º", "°")

    def full_date(self, day: str, month: int, year: int | None) -> str:
        said = f"{day} {self.of} {self.months[month - 1]}"
        return f"{said} {self.of} {self.say_year(year)}" if year else said

    def named_date(self, match: Match) -> str:
        """Of a match with a `day`, a `month` and perhaps a `year`."""
        day, year = int(match["day"]), match["year"]
        if not 1 <= day <= 31:
            return match[0]
        return self.say_date(day, self.month_number(match["month"]), int(year) if year else None, match)
