"""Arabic: numbers of our own. Three to ten take the other gender than what is counted, and cases are heard."""

from __future__ import annotations

import functools
import re

from myxtts.features.normalise.counting import Number, listed, roman
from myxtts.features.normalise.language import Language
from myxtts.features.normalise.reader import DIGITS, Match, Noun, RuleParts, abbreviation, after, any_of, before
from myxtts.features.normalise.words import ar as words

_OF_MEN = listed("صفر واحد اثنان ثلاثة أربعة خمسة ستة سبعة ثمانية تسعة عشرة")
_OF_WOMEN = listed("صفر واحدة اثنتان ثلاث أربع خمس ست سبع ثماني تسع عشر")
_TENS = listed("عشر عشرون ثلاثون أربعون خمسون ستون سبعون ثمانون تسعون")
_HUNDREDS = listed("مئة مئتان ثلاثمئة أربعمئة خمسمئة ستمئة سبعمئة ثمانمئة تسعمئة")
_SCALES = (
    (10**12, "تريليون", "تريليونان", "تريليونات"),
    (10**9, "مليار", "ملياران", "مليارات"),
    (10**6, "مليون", "مليونان", "ملايين"),
    (1000, "ألف", "ألفان", "آلاف"),
)
_TWELVE = {"اثنا عشر": "اثني عشر", "اثنتا عشرة": "اثنتي عشرة"}
_NTH = listed("الأول الثاني الثالث الرابع الخامس السادس السابع الثامن التاسع العاشر")
_NTH_F = listed("الأولى الثانية الثالثة الرابعة الخامسة السادسة السابعة الثامنة التاسعة العاشرة")
_OBLIQUE = frozenset(
    listed(
        "في من إلى الى على عن منذ حتى خلال بعد قبل نحو حوالي بين لمدة مدة عام سنة قرابة مع كل بعمر بنسبة نسبة بسعر "
        "بقيمة قيمة بمبلغ مبلغ عمر بحوالي بنحو بمعدل إلا بعام بسنة لعام لسنة وعام وسنة العام بدل بثمن درجة لأكثر بـ "
        "لـ كـ ولـ وبـ"
    )
)
_NTH_AFTER = {"m": words.NTH_MEN, "f": words.NTH_WOMEN}


@functools.lru_cache(maxsize=16384)
def spell(value: int, gender: str = "m", oblique: bool = False) -> str:
    """A number in words, for so many things of that gender; `oblique` after a preposition."""
    said = " و".join(_parts(value, gender)) or "صفر"
    if oblique:
        said = re.sub(r"(?<=\w)[او]ن\b", "ين", said)
        for plain, twelve in _TWELVE.items():
            said = said.replace(plain, twelve)
    return said


def _parts(value: int, gender: str) -> list[str]:
    parts = []
    for size, one, two, many in _SCALES:
        times, value = divmod(value, size)
        if times == 1:
            parts.append(one)
        elif times == 2:
            parts.append(two)
        elif times:
            parts.append(f"{' و'.join(_parts(times, 'm'))} {many if 3 <= times % 100 <= 10 else one}")
    hundreds, value = divmod(value, 100)
    if hundreds:
        parts.append(_HUNDREDS[hundreds - 1])
    return [*parts, *_below_hundred(value, gender)]


def _below_hundred(value: int, gender: str) -> list[str]:
    ones = _OF_WOMEN if gender == "f" else _OF_MEN
    if value == 0:
        return []
    if value <= 10:
        return [ones[value]]
    if value == 11:
        return ["إحدى عشرة" if gender == "f" else "أحد عشر"]
    if value == 12:
        return ["اثنتا عشرة" if gender == "f" else "اثنا عشر"]
    if value < 20:
        return [f"{ones[value - 10]} {'عشرة' if gender == 'f' else 'عشر'}"]
    tens, one = divmod(value, 10)
    first = {1: "إحدى"}.get(one, ones[one]) if gender == "f" else ones[one]
    return [first, _TENS[tens - 1]] if one else [_TENS[tens - 1]]


def spell_nth(value: int, gender: str = "m", oblique: bool = False) -> str:
    """'الحادي والعشرون'; up to 99."""
    nth = _NTH_F if gender == "f" else _NTH
    if value <= 10:
        return nth[value - 1]
    tens, one = divmod(value, 10)
    first = {1: "الحادية" if gender == "f" else "الحادي"}.get(one, nth[one - 1] if one else "")
    if tens == 1:
        return f"{first} {'عشرة' if gender == 'f' else 'عشر'}"
    round_ten = f"ال{_TENS[tens - 1]}"
    if oblique:
        round_ten = f"{round_ten[:-2]}ين"
    return f"{first} و{round_ten}" if one else round_ten


class Arabic(Language):
    code = "ar"
    points, groups = ".٫,", ",٬"
    minus, point, cents_and, to, slash, hashtag = "سالب", "فاصلة", "و", "إلى", "شرطة مائلة", "هاشتاغ"
    less = "ناقص"
    dot = "نقطة"
    by, per, power = "في", "لكل", "أس"
    months = words.MONTHS
    short_months = words.OTHER_MONTHS
    of_clock = r"(?: ?(?P<half>صباحا|صباحًا|مساءً|مساء|ظهرا|ظهرًا|ص\b|م\b))?(?![\w\u064b-\u0652])"
    calls = "هاتف|الهاتف|تلفون|جوال|الجوال|اتصل على|اتصل بـ|فاكس|رقم الهاتف|واتساب|ت"
    symbols, in_address, currencies = words.SYMBOLS, words.IN_ADDRESS, words.CURRENCIES
    signs, scales, units = words.SIGNS, words.SCALES, words.UNITS
    shortened, before_numbers, counted = words.SHORTENED, words.BEFORE_NUMBERS, frozenset(["م.", "ص.", "ه."])

    def count(self, value: int, gender: str = "") -> str:
        """`gender` is 'm' or 'f', with a dash for the oblique case: 'f-'."""
        return spell(value, gender[:1] or "m", gender.endswith("-"))

    def gender_of(self, match: Match) -> str:
        word = after(match)
        feminine = word.endswith(("ة", "ات")) and word not in words.MASCULINE or word in words.FEMININE
        few = 3 <= int(re.sub(r"\D", "", match["number"])[-2:]) <= 10
        if few and re.fullmatch("أ\\w{3}ة", word):  # the plural of a man: أسئلة, أجهزة
            feminine = False
        return ("f" if feminine else "m") + ("-" if self._is_oblique(match) else "")

    def _is_oblique(self, match: Match) -> bool:
        word = before(match)
        return word in _OBLIQUE or word in self.months

    def say_number(self, match: Match) -> str:
        said = super().say_number(match)
        touching = re.match(r" [ء-ي]{3}", match.string[match.end() :])
        return _construct(said) if touching and after(match) not in words.NO_NOUNS else said

    def say_decimals(self, whole: str, number: Number) -> str:
        zeros = len(number.decimals) - len(number.decimals.lstrip("0"))
        rest = number.decimals[zeros:]
        if not rest or len(rest) > 3:
            return f"{whole} {self.point} {self.digits(number.decimals)}"
        return " ".join([whole, self.point, *["صفر"] * zeros, spell(int(rest))])

    # ---- amounts ----

    def say_measure(self, number: Number, unit: Noun, match: Match) -> str:
        return self.say_count(number, unit, before(match) in _OBLIQUE)

    def say_count(self, number: Number, unit: Noun, oblique: bool = False) -> str:
        """'كيلومتر واحد', 'كيلومتران', 'ثلاثة كيلومترات', 'أحد عشر كيلومترًا', 'مئة كيلومتر'"""
        sign = f"{self.say_sign(number.sign)} " if number.sign else ""
        forms, value = unit.forms, number.value
        if len(forms) < 3 or number.decimals:
            said = self.say(number._replace(sign=""), unit.gender + "-" * oblique)
            return f"{sign}{said} {forms[0]}"
        if number.whole == "1":
            return f"{sign}{forms[0]} {'واحدة' if unit.gender == 'f' else 'واحد'}"
        if number.whole == "2" and forms[1] != forms[0]:  # but 'اثنان يورو', and the zero of 02 is said
            return sign + (re.sub(r"ان(?=( \S+)?$)", "ين", forms[1]) if oblique else forms[1])
        last = value % 100
        form = forms[2] if 3 <= last <= 10 else forms[3 % len(forms)] if last > 10 else forms[0]
        return f"{sign}{_construct(self.cardinal(number.whole, unit.gender + '-' * oblique))} {form}"

    def scaled_money(self, number: Number, scale: Noun, major: Noun) -> str:
        return f"{self.say_count(number, scale)} {major.forms[0]}"

    def say_money(self, number: Number, major: Noun, minor: Noun) -> str:
        said = super().say_money(number, major, minor)
        return said.replace(" و ", " و")

    def say_first(self, number: Number, match: Match) -> str:
        return self.say(number, "m-" if before(match) in _OBLIQUE else "m")

    def say_fraction(self, above: int, below: int) -> str:
        one, two, many = words.FRACTIONS.get(below, ("", "", ""))
        if not one:
            return f"{spell(above)} على {spell(below)}"
        return one if above == 1 else two if above == 2 else f"{spell(above)} {many}"

    def say_mixed(self, whole: int, fraction: str) -> str:
        return f"{spell(whole)} و{fraction}"

    # ---- dates and times ----

    def find_dates(self) -> list[RuleParts]:
        era = r"(?: ?(?P<era>هجرية|هجري|ميلادية|ميلادي|هـ?|م)(?!\w))?"
        year = rf"(?: (?:عام |سنة )?(?P<year>\d{{4}}){era})?"
        to = r"(?P<link> ?[-—] ?| إلى | حتى | و ?)"
        pair = rf"(?<![\w.,/])(?P<first>\d{{1,2}}){to}(?=\d{{1,2}} (?:من )?{self.month})"
        return [
            (DIGITS, pair, self._date_pair),
            (DIGITS, rf"(?<![\w.,/])(?P<day>\d{{1,2}}) (?:من )?(?P<month>{self.month})(?!\w){year}", self._named_date),
            *super().find_dates(),
            (
                DIGITS,
                r"(?<=الساعة )(?P<hour>\d{1,2})(?![\w:.,]*\d)",
                lambda m: self.say_clock(int(m["hour"]), 0, None, m),
            ),
            ("-—", r"(?<![\w.,])([12]\d{3}) ?[-—] ?(?=[12]\d{3}(?!\d))", self._first_year),
            ("هم", rf"(?<![\w.,])(?P<year>\d{{4}}|\d{{1,3}}(?= ?ه)){era.removesuffix('?')}", self._year),
        ]

    def _first_year(self, match: Match) -> str:
        """'1939-1945م'"""
        return f"{spell(int(match[1]), 'm', before(match) in _OBLIQUE)} إلى "

    def _date_pair(self, match: Match) -> str:
        link = match["link"].strip()
        said = spell_nth(int(match["first"]), "m", before(match) in _OBLIQUE)
        return f"{said} {'إلى' if link in '-—' else link} " if link != "و" else f"{said} وـ "

    def _named_date(self, match: Match) -> str:
        if not 1 <= int(match["day"]) <= 31:
            return match[0]
        year = match["year"]
        said = self.say_date(int(match["day"]), 0, int(year) if year else None, match)
        return f"{said} {_era(match['era'])}".strip()

    def say_date(self, day: int, month: int, year: int | None, match: Match) -> str:
        name = self.months[month - 1] if month else match["month"]
        said = f"{spell_nth(day, 'm', before(match) in _OBLIQUE)} من {name}"
        return f"{said} {spell(year, 'm', True)}" if year else said

    def _year(self, match: Match) -> str:
        oblique = before(match) in _OBLIQUE
        return f"{spell(int(match['year']), 'f' if before(match) == 'سنة' else 'm', oblique)} {_era(match['era'])}"

    def say_clock(self, hour: int, minute: int, second: int | None, match: Match) -> str:
        said = (
            "الواحدة"
            if hour == 1
            else "منتصف الليل"
            if hour in (0, 24) and not minute
            else spell_nth(hour or 12, "f", True)
        )
        if minute:
            said += {15: " والربع", 30: " والنصف"}.get(
                minute
            ) or f" و{self.say_count(Number('', str(minute), ''), words.MINUTE, True)}"
        if second:
            said += f" و{self.say_count(Number('', str(second), ''), words.SECOND, True)}"
        half = match.groupdict().get("half")
        return f"{said} {words.HALVES.get(half, half)}" if half else said

    # ---- ordinals, Latin letters ----

    def find_late(self) -> list[RuleParts]:
        return [abbreviation(words.spell_latin)]

    def find_own(self) -> list[RuleParts]:
        nth = "|".join(word for words in _NTH_AFTER.values() for word in words)
        return [
            (
                DIGITS,
                rf"(?<!\w)(?P<noun>(?:[ولبك]|لل)?(?:{nth})) (?:ال)?(?P<value>\d{{1,2}})(?![\w:.,/]*\d)(?! ?[%٪])",
                self._ordinal,
            ),
            (
                DIGITS,
                rf"(?<!\w)(?P<noun>{'|'.join(words.NTH_WITH_ARTICLE)}) ال ?(?P<value>\d{{1,2}})(?!\w)",
                self._nth_with_article,
            ),
            ("IVX", r"(?<=[\u0600-\u06ff] )(?=[IVX]{2})(X{0,2}(?:IX|IV|V?I{0,3}))(?![\w.])", self._roman),
            (DIGITS, r"(?<!\w)ال ?(?P<number>\d{1,3})(?!\w)", lambda m: f"ال{self.cardinal(m['number'])}"),
            (":", r"(?<![\w.,:])(\d{1,2}):(\d)(?!\d)", lambda m: f"{spell(int(m[1]))} مقابل {spell(int(m[2]))}"),
            ("%٪", rf"[%٪] ?(?P<number>{self.number})", lambda m: f"{m['number']}%"),
            (
                DIGITS,
                r"(?<!\w)(?:[بلوك]|ول|وب)(?=\d)|(?<!\w)(?:[بلك])(?= \d)",
                lambda m: f"{m[0]}ـ " if m.string[m.end()] != " " else f"{m[0]}ـ",
            ),
            ("12", rf"(?<![\w.,/:])(?P<value>[12]) (?P<noun>{any_of(words.COUNTED)})(?!\w)", self._one_or_two),
        ]

    def _nth_with_article(self, match: Match) -> str:
        """'المركز الـ5' -> 'المركز الخامس'"""
        noun = match["noun"]
        return f"{noun} {spell_nth(int(match['value']), 'f' if noun.endswith('ة') else 'm', before(match) in _OBLIQUE)}"

    def _roman(self, match: Match) -> str:
        """'لويس XIV'"""
        return spell_nth(roman(match[1]), "m", False)

    def find_last(self) -> list[RuleParts]:
        """'ب5' was taken apart with a tatweel, which no clean text has: 'بخمسة'."""
        return [("ـ", r"ـ ", lambda match: "")]

    def _one_or_two(self, match: Match) -> str:
        """'كتاب واحد', 'كتابان'"""
        noun, woman = match["noun"], match["noun"].endswith("ة") or match["noun"] in words.FEMININE
        if match["value"] == "1":
            return f"{noun} {'واحدة' if woman else 'واحد'}"
        ending = "ين" if self._is_oblique(match) else "ان"
        return f"{noun[:-1]}ت{ending}" if noun.endswith("ة") else f"{noun}{ending}"

    def _ordinal(self, match: Match) -> str:
        noun, value = match["noun"], int(match["value"])
        bare = re.sub(r"^(?:لل|[ولبك])(?=ال|[^ا])", "", noun) if noun not in _NTH_AFTER["m"] + _NTH_AFTER["f"] else noun
        if not 1 <= value <= 99:
            return match[0]
        gender = "f" if bare in _NTH_AFTER["f"] or noun in _NTH_AFTER["f"] else "m"
        oblique = before(match) in _OBLIQUE or noun[:1] in "لب" and noun not in _NTH_AFTER["m"] + _NTH_AFTER["f"]
        return f"{noun} {spell_nth(value, gender, oblique)}"


def _construct(said: str) -> str:
    """'مئتا درهم': a dual that is counted with loses its last letter."""
    return said[:-1] if re.search(r"(?:مئت|ألف|مليون|مليار)(?:ان|ين)$", said) else said


def _era(era: str | None) -> str:
    return {"ه": "هجرية", "هـ": "هجرية", "م": "ميلادية"}.get(era or "", era or "")


def make(language: str) -> Arabic:
    return Arabic()
