"""English. American unless the code says otherwise (en-gb, and whatever is not en-us): dates, 'and' in numbers."""

from __future__ import annotations

import re

from myxtts.features.normalise.counting import ROMAN, Number, listed, roman, spell
from myxtts.features.normalise.language import Language
from myxtts.features.normalise.reader import DIGITS, Match, Noun, RuleParts, after, any_of, before
from myxtts.features.normalise.words import en as words

_MONTHS = "January February March April May June July August September October November December"
_KINGS = (
    "Henry|Charles|George|Edward|James|William|Richard|Louis|Elizabeth|Mary|Victoria|Pope \\w+|John Paul|Benedict|Pius|"
    "Leo|Francis|Philip|Peter|Catherine|Alexander|Napoleon|Nicholas|Ivan|Frederick|Wilhelm|Ferdinand|Ramses|Ramesses|"
    "Rameses|Harald|Gustav|Olaf|Otto|Alfonso|Juan Carlos|Felipe|Xerxes|Darius|Cyrus"
)
_PARTS = (
    "Chapter|Part|Volume|Book|Act|Scene|Section|Appendix|Article|Phase|Type|Class|Title|Level|Stage|Grade|Table|Figure"
)
_YEARS = re.compile(
    "in|since|until|till|by|from|of|year|circa|during|before|after|late|early|mid|around|between|and|to|about|"
    "spring|summer|autumn|fall|winter|" + _MONTHS.lower().replace(" ", "|") + "|class|copyright|©|ad|bc"
)

_DURATION = r"(?<![\w.,:])(\d{1,3}) ?h(?:rs?)? ?(\d{1,2}) ?m(?:ins?)?(?: ?(\d{1,2}) ?s(?:ecs?)?)?\b"
_DAYS = {day[:3]: day for day in listed("Monday Tuesday Wednesday Thursday Friday Saturday Sunday")}
_PER = "day|week|month|year|hour|night|person|minute|second|mile|gallon|pound|unit|game"
_HALF = r"(?P<half>[aApP]\. ?[mM]\.|[aApP][mM]\b)"


class English(Language):
    code = "en"
    order = "mdy"
    capital_months = True
    verbose = False  # 'one hundred and five'
    months, short_months, symbols, in_address = words.MONTHS, words.SHORT_MONTHS, words.SYMBOLS, words.IN_ADDRESS
    currencies, signs, scales, units = words.CURRENCIES, words.SIGNS, words.SCALES, words.UNITS
    shortened, before_numbers = words.SHORTENED, words.BEFORE_NUMBERS
    of_clock = rf" ?{_HALF}"
    cents_and, to, slash, hashtag = "and", "to", "slash", "hashtag"
    by, per, power = "by", "per", "to the power of"
    calls = "call|phone|tel|telephone|dial|fax|mobile|text"

    def count(self, value: int, gender: str = "") -> str:
        said = spell(value, self.code, "cardinal-verbose" if self.verbose else "cardinal")
        return said.replace(",", "") if self.verbose else said

    def ordinal(self, value: int) -> str:
        return spell(value, self.code, "ordinal-verbose" if self.verbose else "ordinal").replace(",", "")

    def digits(self, digits: str) -> str:
        return " ".join(spell(int(digit), self.code, "cardinal") for digit in digits)

    # ---- dates, years, times ----

    def find_dates(self) -> list[RuleParts]:
        year = r"(?:,? (?P<year>\d{4})\b(?!,\d))?"
        nth = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?(?![\d:.,]*\d)"
        late = r"(?P<late>[1-9]\d{2}0)'?s\b|(?<!\w)'(?P<short>\d0)s\b|(?<![\w.,])(?P<tens>[2-9]0)s\b"
        return [
            ("h", _DURATION, self._duration),
            (DIGITS, rf"(?<!\w)(?P<month>{self.month}) {nth}(?!\w){year}", self._month_first),
            (DIGITS, rf"(?<![\w.,])(?:the )?{nth}(?: of)? (?P<month>{self.month}){year}", self._day_first),
            ("s", late, self._decade),
            *super().find_dates(),
            ("mM", r"(?<=[aApP][mM]) ?[-—] ?(?=\d{1,2}(?::\d\d)? ?[aApP]\.?[mM])", lambda match: " to "),
            ("mM", r"(?<![\w:.,])(?P<hour>\d{1,2}) ?" + _HALF, self._hour),
        ]

    def _duration(self, match: Match) -> str:
        """'2h 15m 30s'"""
        names = zip((match[1], match[2], match[3]), ("hour", "minute", "second"), strict=True)
        return " ".join(f"{self.count(int(n))} {name}{'s' * (int(n) != 1)}" for n, name in names if n)

    def _month_first(self, match: Match) -> str:
        if not 1 <= int(match["day"]) <= 31:
            return match[0]
        return self.say_date(int(match["day"]), self.month_number(match["month"]), _int(match["year"]), match)

    def _day_first(self, match: Match) -> str:
        if not 1 <= int(match["day"]) <= 31:
            return match[0]
        said = f"the {self.ordinal(int(match['day']))} of {self.months[self.month_number(match['month']) - 1]}"
        if not match[0].startswith("the "):
            said = said.removeprefix("the ") if before(match) in ("the", "a", "this", "next", "last") else said
        return f"{said} {self.say_year(int(match['year']))}" if match["year"] else said

    def say_date(self, day: int, month: int, year: int | None, match: Match) -> str:
        said = f"{self.months[month - 1]} {self.ordinal(day)}"
        if self.order == "dmy" and not match.groupdict().get("month"):
            said = f"the {self.ordinal(day)} of {self.months[month - 1]}"
        return f"{said}, {self.say_year(year)}" if year else said

    def _decade(self, match: Match) -> str:
        short = match["short"] or match["tens"]
        said = self.count(int(short)) if short else self.say_year(int(match["late"]))
        return f"{said[:-1]}ies" if said.endswith("y") else f"{said}s"

    def say_year(self, year: int) -> str:
        century, rest = divmod(year, 100)
        if not 1000 < year < 2100 or year % 1000 == 0 or 2000 <= year <= 2009:
            return self.count(year)
        if rest == 0:
            return f"{self.count(century)} hundred"
        return f"{self.count(century)} {f'oh {self.count(rest)}' if rest < 10 else self.count(rest)}"

    def _hour(self, match: Match) -> str:
        if int(match["hour"]) > 12:
            return match[0]
        return f"{self.count(int(match['hour']))} {_half(match)}{self.stop(match)}"

    def say_clock(self, hour: int, minute: int, second: int | None, match: Match) -> str:
        half = match.groupdict().get("half")
        said = self.count(hour)
        if minute:
            said += f" {'oh ' if minute < 10 else ''}{self.count(minute)}"
        elif not half:
            said += " o'clock" if 0 < hour <= 12 else " hundred"
        if second is not None:
            said += f" and {self.count(second)} second{'s' * (second != 1)}"
        return f"{said} {_half(match)}{self.stop(match)}" if half else said

    # ---- ordinals, Roman numerals, plain years ----

    def find_own(self) -> list[RuleParts]:
        return [
            (DIGITS, r"(?<![\w.])(\d{1,3}(?:,\d{3}){1,4}|\d{1,15})(?:st|nd|rd|th)\b", self._ordinal),
            ("IVXLCDM", rf"\b(?P<name>{_KINGS}) (?P<king>{ROMAN})\b(?!\.\w)", self._king),
            ("IVXLCDM", rf"\b(?P<name>{_PARTS}|War|Bowl|Vatican) (?P<part>{ROMAN})\b", self._part_number),
            (
                "IVXLCDM",
                rf"\b(?P<name>{_PARTS.lower()}) (?P<part>(?=[IVXLCDM]{{2}}){ROMAN})\b",
                self._part_number,
            ),
            ("'", r"(?<!\w)'(\d\d)(?![\w'])", self._short_year),
            ("f", r"(?<![\w.,])(\d{1,2}) ?ft\.? (\d{1,2}) ?in\b(\.(?! ?[A-Z])(?=.))?", self._feet),
            ("/", r"\b(?:24/7|9/11)\b", lambda match: "twenty-four seven" if match[0] == "24/7" else "nine eleven"),
            ("/", r"(?<![\w/.,])(?P<first>1[0-2]|[1-9])/(?P<second>1[7-9]|2\d|3[01])(?![\w/]|[.,]\d)", self._month_day),
            ("IVXLCDM", rf"(?<!\w)({ROMAN})(?= centur)", lambda match: self.ordinal(roman(match[1]))),
            (
                "IVX",
                r"\b([A-Z][a-z]+) (?=[IVX]{2,}\b)(X{0,2}(?:IX|IV|V?I{0,3}))\b",
                lambda m: f"{m[1]} {self.count(roman(m[2]))}",
            ),
            (
                ":",
                r"(?<![\w.,:])(\d{1,3}):(\d)(?![\d:])",
                lambda m: f"{self.count(int(m[1]))} to {self.count(int(m[2]))}",
            ),
            (".", r"(?<![\w.])\.(\d+)", lambda match: f"point {self.digits(match[1])}"),
            ("x", r"(?<![\w.,])(\d+)x(?!\w| ?\d)", lambda match: f"{self.cardinal(match[1])} times"),
            ("cCdD", r"\b([cC]all|[dD]ial) (\d{3})(?![\w-])(?! [a-z]+s\b)", lambda m: f"{m[1]} {self.digits(m[2])}"),
            (
                "/",
                r"(?<![\w/.,])(\d{1,2}) (?=([1-9]\d?)/([1-9]\d?)(?![\w/]))",
                lambda match: f"{self.count(int(match[1]))} and ",
            ),
            ("'\"", r"(?<![\w.,])(\d)'(?: ?(\d{1,2})\")", self._feet),
            (DIGITS, r"(?<![\w.,:])(\d+)[:-](\d+)(?= (?:ratio|win|lead|loss|victory|defeat|score))", self._score),
            (DIGITS, r"(?<![\w.,$€£-])(\d{4})(?: ?[-—] ?)(\d{4}|\d\d)(?![\w.,]*\d)", self._years),
        ]

    def find_shortened(self) -> list[RuleParts]:
        return [
            ("$", r"\$(?=\.\d)", lambda match: "$0"),
            ("/", rf"(?<=\d)/(?=(?:{_PER})\b)", lambda match: " per "),
            ("-—", r"(?<=[aApP]\.[mM]\.) ?[-—] ?(?=\d)", lambda match: " to "),
            ("/", r"\bw/(?= )", lambda match: "with"),
            ("-—", rf"\b({'|'.join(_DAYS)})\.? ?[-—] ?({'|'.join(_DAYS)})\b\.?", self._days),
            (DIGITS, r"(?<=\b[A-Z]{2} )(\d{5})(?:-(\d{4}))?(?![\w,])", self._zip),
            (".", r"\b(St|Dr)\.(?= [A-Z]|[,.]|$| )", self._street),
            *super().find_shortened(),
        ]

    def _days(self, match: Match) -> str:
        """'Mon.-Fri.'"""
        return f"{_DAYS[match[1]]} to {_DAYS[match[2]]}" + ("" if match.string[match.end() :].strip() else ".")

    def _zip(self, match: Match) -> str:
        """'NY 10001'"""
        return ", ".join(self.digits(part) for part in match.groups() if part)

    def _street(self, match: Match) -> str:
        """'Main St.' and 'St. John', 'Oak Dr.' and 'Dr. Oak'."""
        word = re.search(r"([A-Za-z']+) $", match.string[: match.start()])
        after_name = word is not None and word[1][0].isupper() and word.start() > 0
        follows_name = re.match(r" [A-Z]", match.string[match.end() :])
        named = ("Saint", "Doctor") if follows_name and not after_name else ("Street", "Drive")
        return named[match[1] == "Dr"] + ("" if match.string[match.end() :].strip() else ".")

    def _month_day(self, match: Match) -> str:
        month, day = int(match["first"]), int(match["second"])
        return match[0] if self.order == "dmy" else f"{self.months[month - 1]} {self.ordinal(day)}"

    def _ordinal(self, match: Match) -> str:
        return self.ordinal(int(match[1].replace(",", "")))

    def _king(self, match: Match) -> str:
        return f"{match['name']} the {self.ordinal(roman(match['king']))}"

    def _short_year(self, match: Match) -> str:
        """'in '08'"""
        year = int(match[1])
        return f"oh {self.count(year)}" if 0 < year < 10 else self.count(year)

    def _part_number(self, match: Match) -> str:
        return f"{match['name']} {self.count(roman(match['part']))}"

    def _feet(self, match: Match) -> str:
        inches = f" {self.count(int(match[2]))} inch{'es' * (match[2] != '1')}" if match[2] else ""
        return f"{self.count(int(match[1]))} {'foot' if match[1] == '1' else 'feet'}{inches}"

    def _score(self, match: Match) -> str:
        return f"{self.cardinal(match[1])} to {self.cardinal(match[2])}"

    def _years(self, match: Match) -> str:
        if not 1000 <= int(match[1]) < 2100:
            return match[0]
        last = self.count(int(match[2])) if len(match[2]) == 2 else self.say_year(int(match[2]))
        return f"{self.say_year(int(match[1]))} to {last}"

    def find_late(self) -> list[RuleParts]:
        return [(DIGITS, r"(?<![\w.,$€£+-])([12]\d{3})(?![\w,]*\d|\.\d|\w)", self._year)]

    def _year(self, match: Match) -> str:
        year, follows = int(match[1]), after(match)
        if not 1000 < year < 2100:
            return match[0]
        counted = follows[:1].islower() and (follows.endswith("s") or follows in ("people", "men", "women", "children"))
        if counted and follows not in listed("was has is as does census s"):
            return match[0]
        return self.say_year(year) if year >= 1700 or _YEARS.fullmatch(before(match)) else match[0]

    # ---- amounts ----

    def say_fraction(self, above: int, below: int) -> str:
        if below == 2:
            return "one half" if above == 1 else f"{self.count(above)} halves"
        part = "quarter" if below == 4 else self.ordinal(below)
        return f"{self.count(above)} {part}{'s' * (above > 1)}"

    def say_mixed(self, whole: int, fraction: str) -> str:
        said = fraction.replace("one ", "a ") if fraction.startswith(("one half", "one quarter")) else fraction
        return f"{self.count(whole)} and {said}"

    def say_part_of(self, above: int, below: int, unit: Noun) -> str:
        article = "an" if unit.forms[0].startswith(("hour", "ounce", "inch", "acre")) else "a"
        said = "half" if (above, below) == (1, 2) else f"{self.say_fraction(above, below)} of"
        return f"{said} {article} {unit.forms[0]}"

    def say_phone(self, groups: list[str]) -> str:
        return ", ".join(map(self.digits, groups))

    def say_decimals(self, whole: str, number: Number) -> str:
        return f"{whole} point {' '.join(self.digits(number.decimals).split())}"


class BritishEnglish(English):
    order = "dmy"
    verbose = True

    def __init__(self) -> None:
        self.units = {symbol: _british(name) for symbol, name in self.units.items()}
        super().__init__()


def _british(name: str) -> str:
    return re.sub(r"(met|lit)er", r"\1re", name)


def _int(digits: str | None) -> int | None:
    return int(digits) if digits else None


def _half(match: Match) -> str:
    return f"{match['half'][0].upper()} M"


def make(language: str) -> English:
    return English() if language == "en" or language.startswith("en-us") else BritishEnglish()


__all__ = ["make", "any_of"]
