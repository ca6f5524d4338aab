"""Dates and times of day: found here, said by the language."""

from __future__ import annotations

from myxtts.features.normalise.reader import DIGITS, Match, Reader, RuleParts, any_of


class Dates(Reader):
    """12.05.2024, 2024-05-12 and 5/12/2024; 14:30 and 14:30:05. A language adds what it writes with names of months."""

    order = "dmy"  # of a date in figures whose year is not first
    months: tuple[str, ...] = ()  # as they are said in a date, January first
    short_months: dict[str, int] = {}  # other ways to write them
    capital_months = False  # 'may' is a word, May is a month
    short_needs_dot = False  # 'set' is September and a set
    to = ""  # between two times
    of_clock = ""  # a pattern for what may follow a time of day and is said with it ('Uhr')
    this_century = 50  # '51 is 1951

    def find_dates(self) -> list[RuleParts]:
        figures = r"(?<![\w./-])(\d{1,4})([./-])(\d{1,2})\2(\d{1,4})(?![\w/-]|\.\d)"
        clock = r"(?<![\w.,])(?<!\d:)(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d))?"
        clock += rf"(?:{self.of_clock})?(?![\w:])"
        times = r"(?<=:\d\d) ?[-—~] ?(?=\d{1,2}:\d\d)"
        short = r"(?<![\w/.,])(\d{1,2})/(\d{1,2})(?![\w/]|[.,]\d)"
        return [
            (DIGITS, figures, self._figures),
            ("/", short, self._short),
            (":", times, lambda match: f" {self.to} "),
            (":", clock, self._clock),
        ]

    @property
    def month(self) -> str:
        """A pattern for the name of a month, long or short; a short one may have a dot, or must where it is a word."""
        dot = r"(?:\.|(?= (?:del? )?\d{4}\b))" if self.short_needs_dot else r"\.?"
        flag = "" if self.capital_months else "i"
        return rf"(?{flag}:(?:{any_of(self.months)})(?!\w)|(?:{any_of(self.short_months)})(?!\w){dot})"

    def month_number(self, name: str) -> int:
        known = {month.lower(): at for at, month in enumerate(self.months, 1)}
        known |= {month.lower(): at for month, at in self.short_months.items()}
        return known[name.rstrip(".").lower()]

    def _figures(self, match: Match) -> str:
        first, _, second, third = match.groups()
        if len(first) == 4 and len(third) <= 2:
            return self._valid(third, second, first, match)
        if len(first) > 2 or len(third) in (1, 3):
            return match[0]
        day, month = (second, first) if self.order == "mdy" else (first, second)
        if int(month) > 12:
            day, month = month, day
        return self._valid(day, month, third, match)

    def _short(self, match: Match) -> str:
        """12/05: no fraction is written with a nought ahead, and 25/12 is none; 16/9 is a screen, 24/7 always."""
        first, second = match.groups()
        above = self.order == "dmy" and int(first) > 12 >= int(second) and second not in ("7", "9", "10")
        if "0" not in (first[0], second[0]) and not above:
            return match[0]
        day, month = (second, first) if self.order in ("mdy", "ymd") else (first, second)
        if not (1 <= int(day) <= 31 and 1 <= int(month) <= 12):
            return match[0]
        return self.say_date(int(day), int(month), None, match)

    def _valid(self, day: str, month: str, year: str, match: Match) -> str:
        if not (1 <= int(day) <= 31 and 1 <= int(month) <= 12) or len(year) == 3:
            return match[0]
        return self.say_date(int(day), int(month), self.full_year(year), match)

    def full_year(self, year: str) -> int:
        value = int(year)
        if len(year) > 2:
            return value
        return value + (2000 if value <= self.this_century else 1900)

    def say_date(self, day: int, month: int, year: int | None, match: Match) -> str:
        raise NotImplementedError

    def _clock(self, match: Match) -> str:
        hour, minute, second = int(match["hour"]), int(match["minute"]), match["second"]
        if hour > 24 or minute > 59:
            return match[0]
        return self.say_clock(hour, minute, int(second) if second else None, match)

    def say_clock(self, hour: int, minute: int, second: int | None, match: Match) -> str:
        raise NotImplementedError

    def say_year(self, year: int) -> str:
        return self.count(year)
