"""Persian: Jalali dates, «هزار و چهارصد و سه» without «یک», ordinals in «م», decimals in «ممیز» or «و نیم»."""

from __future__ import annotations

import re

from myxtts.features.normalise.amounts import noun_of
from myxtts.features.normalise.counting import Number, roman, spell
from myxtts.features.normalise.language import Language
from myxtts.features.normalise.reader import DIGITS, Match, Noun, RuleParts, abbreviation, apart
from myxtts.features.normalise.words import fa as words

_ONE_THOUSAND = re.compile(r"(?:^|(?<= و ))یک هزار")
_PARTS = {1: "دهم", 2: "صدم", 3: "هزارم", 4: "ده‌هزارم", 5: "صدهزارم", 6: "میلیونم"}
_AFTER_DECIMALS = (
    r"درصد|میلیون|میلیارد|هزار|برابر|متر|کیلو\w*|سانتی\w*|گرم|لیتر|ساعت|سال|ریشتر|تن|درجه|دقیقه|ثانیه|دلار|یورو|"
    r"تومان|امتیاز|نمره|تریلیون|مگا\w*|گیگا\w*|از"
)


class Persian(Language):
    code = "fa"
    order = "ymd"
    points, groups = ".٫,", ",٬،"
    minus, point, cents_and, to, slash, hashtag = "منفی", "ممیز", "و", "تا", "اسلش", "هشتگ"
    less, plus, dot = "منهای", "مثبت", "نقطه"
    by, per, power = "در", "به ازای هر", "به توان"
    months = words.MONTHS
    short_months = words.GREGORIAN
    calls = "تلفن|شماره تماس|موبایل|همراه|تماس با|فکس|نمابر"
    letters = str.maketrans({"ي": "ی", "ى": "ی", "ك": "ک"})
    symbols, in_address, currencies = words.SYMBOLS, words.IN_ADDRESS, words.CURRENCIES
    signs, scales, units = words.SIGNS, words.SCALES, words.UNITS
    shortened, before_numbers = words.SHORTENED, words.BEFORE_NUMBERS

    def count(self, value: int, gender: str = "") -> str:
        return _ONE_THOUSAND.sub("هزار", spell(value, self.code, "cardinal"))

    def ordinal(self, value: int) -> str:
        """'بیست و سوم', 'سی‌ام'"""
        said = self.count(value)
        if said.endswith("سه"):
            return f"{said[:-1]}وم"
        return f"{said}\u200cام" if said.endswith("ی") else f"{said}م"

    def say_decimals(self, whole: str, number: Number) -> str:
        """'دو و نیم'; 'سه ممیز چهارده صدم'"""
        if number.decimals == "5":
            return f"{whole} و نیم" if number.value else "نیم"
        if len(number.decimals) > 6 or not int(number.decimals):
            return f"{whole} ممیز {self.digits(number.decimals)}"
        return f"{whole} ممیز {self.count(int(number.decimals))} {_PARTS[len(number.decimals)]}"

    # ---- dates and times ----

    def find_dates(self) -> list[RuleParts]:
        year = r"(?: (?:سال )?(?P<year>\d{4}|\d\d)(?![\d:/.]))?"
        month = rf"(?P<month>{self.month}|(?:می|مه)(?= \d{{4}}))(?!\u200c\w)(?:\u200c? ?ماه)?"
        day = rf"(?<![\w.,/:])(?P<day>\d{{1,2}})(?:م|ام| ?ام)? ?(?:ماه )?{month}{year}"
        pair = rf"(?<![\w.,/])(?P<first>\d{{1,2}})(?P<link> ?[-—] ?| تا | و | الی )(?=\d{{1,2}} {self.month})"
        return [
            (DIGITS, pair, self._date_pair),
            (DIGITS, day, self._named_date),
            *super().find_dates(),
        ]

    def _date_pair(self, match: Match) -> str:
        link = match["link"].strip()
        return f"{self.ordinal(int(match['first']))} {'تا' if link in '-—' else link} "

    def _named_date(self, match: Match) -> str:
        day, year = int(match["day"]), match["year"]
        if not 1 <= day <= 31:
            return match[0]
        said = f"{self.ordinal(day)} {match['month']}{' ماه' if 'ماه' in match[0] else ''}"
        return f"{said} {self.count(int(year))}" if year else said

    def _figures(self, match: Match) -> str:
        """Year, month, day is the usual order: 99/05/12 is of the year 1399."""
        first, _, second, third = match.groups()
        old = int(first) > 31
        if len(first) == 2 and (old or (len(third) == 2 and int(third) <= 31)) and len(third) <= 2 >= len(second):
            return self._valid(third, second, f"1{'4' if int(first) <= 20 else '3'}{first}", match)
        return super()._figures(match)

    def say_date(self, day: int, month: int, year: int | None, match: Match) -> str:
        names = words.GREGORIAN_NAMES if year and year > 1700 else self.months
        said = f"{self.ordinal(day)} {names[month - 1]}"
        return f"{said} {self.count(year)}" if year else said

    def say_clock(self, hour: int, minute: int, second: int | None, match: Match) -> str:
        said = self.count(hour)
        if minute:
            said += f" و {self.count(minute)} دقیقه"
        return f"{said} و {self.count(second)} ثانیه" if second else said

    # ---- ordinals, decimals with a slash, Latin letters ----

    def find_late(self) -> list[RuleParts]:
        return [abbreviation(words.spell_latin)]

    def find_own(self) -> list[RuleParts]:
        return [
            ("مآا", r"(?<![\w.,/])(?P<value>\d{1,15})[ \u200c]?(?P<suffix>مین|امین|اُمین|م|اُم|ام)(?!\w)", self._ordinal),
            (
                "قسطپ",
                r"(?<!\w)(?P<noun>قرن|سده|طبقه|پایه) (?P<value>\d{1,2})(?![\w/:.,٫])",
                lambda m: f"{m['noun']} {self.ordinal(int(m['value']))}",
            ),
            ("%٪", rf"[%٪] ?(?P<number>{self.number})", lambda m: f"{m['number']}%"),
            ("-", r"(?<![\w.,/-])(?P<number>\d+)- ?(?=درجه|°)", lambda m: f"-{m['number']} "),
            ("-+", r"(?<![\w.,/+-])(?P<number>\d+)(?P<sign>[-+])(?=[ ،.]|$)", self._sign_behind),
            ("/", rf"(?<![\w/.])(?P<whole>\d+)/(?P<decimals>\d+)(?= ?(?:{_AFTER_DECIMALS}))", self._slash_decimal),
            ("ک", r"(?<=کد پستی )(\d{5})-?(\d{5})(?!\d)", lambda m: f"{self.digits(m[1])}، {self.digits(m[2])}"),
            ("IVX", r"(?<=[\u0600-\u06ff] )(?=[IVX]{2})(X{0,2}(?:IX|IV|V?I{0,3}))(?![\w.])", self._roman),
            ("/", r"(?<![\w/.])24/7\b", lambda m: "بیست و چهار ساعته و هفت روز هفته"),
            (":", r"(?<![\w.,:])(\d{1,2}):(\d)(?!\d)", lambda m: f"{self.count(int(m[1]))} به {self.count(int(m[2]))}"),
            ("-—", r"(?<![\w.,/+-])(?P<a>\d{1,2}) ?[-—] ?(?P<b>\d{1,2})(?![\w/-])", self._score),
        ]

    def _ordinal(self, match: Match) -> str:
        said = self.ordinal(int(match["value"]))
        return f"{said}ین" if match["suffix"].endswith("ین") else said

    def _sign_behind(self, match: Match) -> str:
        """'دمای کمینه ۲-'; elsewhere '۲-' begins a list."""
        return f"{match['sign']}{match['number']}" if re.search("دما|درجه|هوا", match.string) else match[0]

    def _roman(self, match: Match) -> str:
        """'جنگ جهانی II', 'لویی XIV'"""
        return self.ordinal(roman(match[1]))

    def _slash_decimal(self, match: Match) -> str:
        whole = self.cardinal(match["whole"])
        return self.say_decimals(whole, Number("", match["whole"], match["decimals"]))

    def _score(self, match: Match) -> str:
        """A range goes up; a result need not."""
        first, last = int(match["a"]), int(match["b"])
        if first <= last and not re.search("نتیجه|برد|باخت|پیروز|شکست|مساوی|تساوی|گل", match.string):
            return match[0]
        return match[0] if "=" in match.string else f"{self.count(first)} بر {self.count(last)}"

    # ---- amounts ----

    def say_fraction(self, above: int, below: int) -> str:
        return "یک دوم" if (above, below) == (1, 2) else f"{self.count(above)} {self.ordinal(below)}"

    def _vulgar(self, match: Match) -> str:
        if match[2] != "½":
            return super()._vulgar(match)
        said = f"{self.count(int(match[1]))} و نیم" if match[1] else "نیم"
        return apart(f"{said} {noun_of(self.units[match['unit']]).forms[0]}" if match["unit"] else said, match)

    def _fraction(self, match: Match) -> str:
        above, below = int(match[1]), int(match[2])
        if above == below:
            return super()._fraction(match)
        if above < below <= 100 and above and match[2][0] != "0":
            return self.say_fraction(above, below)
        if len(match[2]) <= 2 and not match[1].startswith("0"):
            return self._slash_number(match)
        return super()._fraction(match)

    def _slash_number(self, match: Match) -> str:
        return self.say_decimals(self.cardinal(match[1]), Number("", match[1], match[2]))

    def say_mixed(self, whole: int, fraction: str) -> str:
        return f"{self.count(whole)} و {fraction}"

    def say_count(self, number: Number, unit: Noun) -> str:
        return f"{self.say(number)} {unit.forms[0]}"

    # ---- telephone numbers ----

    phone = (
        r"(?<![\w.,/+-])(?<!\d )(?:(?:\+98|0098)[ -]?\(?9\d\d\)?[ -]?\d{3}[ -]?\d{2}[ -]?\d{2}"
        r"|09\d\d[ -]?\d{3}[ -]?\d{2}[ -]?\d{2}"
        r"|\(?0\d{2}\)?[ -]?\d{4}[ -]?\d{4}|\+\d{1,3}(?:[ -]\(?\d{1,5}\)?){2,5})(?!\d)"
    )

    def say_phone_number(self, written: str) -> str:
        digits = re.sub(r"\D", "", written)
        lead, groups = "", re.findall(r"\d+", written)
        if digits.startswith(("98", "0098")) and len(digits) >= 12:
            lead = f"{'به‌علاوه' if written[0] == '+' else 'صفر صفر'} نود و هشت، "
            digits = digits.removeprefix("00").removeprefix("98")
            groups = [digits[:3], digits[3:6], digits[6:8], digits[8:]]
        elif len(digits) == 11 and digits[0] == "0":
            mobile = digits[1] == "9"
            cuts = (0, 4, 7, 9, 11) if mobile else (0, 3, 5, 7, 9, 11)
            groups = [digits[a:b] for a, b in zip(cuts, cuts[1:], strict=False)]
        elif len(digits) == 8:
            groups = [digits[at : at + 2] for at in range(0, 8, 2)]
        return lead + "، ".join(map(self._phone_group, groups))

    def _phone_group(self, group: str) -> str:
        """'021' -> 'صفر بیست و یک'"""
        zeros = len(group) - len(group.lstrip("0"))
        rest = group[zeros:]
        words = ["صفر"] * zeros
        if rest:
            words.append(self.count(int(rest)) if len(rest) <= 4 else self.digits(rest))
        return " ".join(words)


def make(language: str) -> Persian:
    return Persian()
