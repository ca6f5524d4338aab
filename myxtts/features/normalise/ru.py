"""Russian: numbers agree with what is counted, in gender and in case."""

from __future__ import annotations

import re

from myxtts.features.normalise.counting import ROMAN, Number, listed, roman, spell
from myxtts.features.normalise.language import Language
from myxtts.features.normalise.reader import DIGITS, Match, Noun, RuleParts, abbreviation, after, before
from myxtts.features.normalise.words import ru as words

_GENITIVE = frozenset(
    listed(
        "до от из без около для после с со более менее больше меньше свыше кроме против среди течение у из-за порядка "
        "возрасте размере сумме старше младше выше ниже дороже дешевле вместо спустя ради близ вокруг дольше"
    )
)
_DATIVE = frozenset(["к", "ко", "благодаря", "согласно", "вопреки"])
_INSTRUMENTAL = frozenset(["между", "над", "под", "перед"])
_LOCATIVE = frozenset(["о", "об", "при"])
_AFTER = {"genitive": _GENITIVE, "dative": _DATIVE, "locative": _LOCATIVE, "instrumental": _INSTRUMENTAL}
_CASES = {"genitive": "-genitive", "dative": "-dative", "instrumental": "-ablative", "locative": "-locative", "": ""}
_HUNDREDTH = dict(enumerate(listed("двухсот трёхсот четырёхсот пятисот шестисот семисот восьмисот девятисот"), start=2))
_YO = re.compile(r"\b(тр|четыр)е(?=[хм](?!я|ть))|\bчетверт(?=[а-я]+)")
_PLURAL_ENDS = {
    "ьми": "instrumental", "ах": "locative", "ях": "locative", "ам": "dative", "ям": "dative", "ами": "instrumental",
    "ями": "instrumental",
}  # fmt: skip
_SUFFIXES = {
    suffix: form
    for form, suffixes in {
        "masculine": "й ый ий ой",
        "feminine": "я ая",
        "neuter": "е ое ее",
        "masculine-genitive": "го ого его",
        "masculine-dative": "му ому",
        "masculine-locative": "м ом ем",
        "masculine-ablative": "ым им",
        "feminine-accusative": "ю ую",
        "plural-genitive": "х ых",
        "plural-ablative": "ми ыми",
    }.items()
    for suffix in suffixes.split()
}
_CENTURY_CASES = {
    "веке": "-locative", "века": "-genitive", "веку": "-dative", "веком": "-ablative", "тысячелетии": "-locative",
    "тысячелетия": "-genitive",
}  # fmt: skip
_PARTS = {1: "десят", 2: "сот", 3: "тысячн", 4: "десятитысячн", 5: "стотысячн", 6: "миллионн"}


_OF_YEARS = frozenset(listed("в во к с до от после около"))
_AWAY = {"километров": "километрах", "метров": "метрах"}  # 'в 5 км от города'


class Russian(Language):
    code = "ru"
    points, groups = ",.", "  "
    minus, point, cents_and, to, slash, hashtag = "минус", "запятая", "", "—", "слэш", "хештег"
    dot = "точка"
    by, per, power = "на", "за", "в степени"
    months = words.MONTHS
    short_months = words.SHORT_MONTHS
    calls = "тел|телефон|телефону|звоните|звонить|факс|моб"
    symbols, in_address, currencies = words.SYMBOLS, words.IN_ADDRESS, words.CURRENCIES
    signs, scales, units = words.SIGNS, words.SCALES, words.UNITS
    shortened, before_numbers, counted = words.SHORTENED, words.BEFORE_NUMBERS, frozenset(["г.", "гг."])

    # ---- words ----

    def count(self, value: int, gender: str = "") -> str:
        """`gender` is 'm', 'f' or 'n', and a case after a dash: 'f-genitive'."""
        gender, _, case = gender.partition("-")
        long = {"f": "feminine", "n": "neuter"}.get(gender, "neuter" if case == "locative" else "masculine")
        said = spell(value, self.code, f"cardinal-{long}{_CASES.get(case, f'-{case}')}")
        return _one_thousand(_with_yo(said), value)

    def ordinal(self, value: int, form: str) -> str:
        """`form`: 'feminine', 'masculine-genitive', ..."""
        rest = value % 1000
        if rest >= 200 and rest % 100 == 0:
            lead = f"{self.count(value - rest)} " if value > rest else ""
            ending = spell(100, self.code, f"ordinal-{form}").removeprefix("сот")
            return f"{lead}{_HUNDREDTH[rest // 100]}{ending}"
        said = spell(value, self.code, f"ordinal-{form}")
        said = re.sub(
            r"(пят|шест|сем|восем)ьдесят(?=[а-я])", lambda m: f"{'восьм' if m[1] == 'восем' else m[1]}идесят", said
        )
        if form.endswith("locative"):
            said = re.sub(r"сороковой$", "сороковом", said)
        return _one_thousand(_with_yo(said), value)

    def case_of(self, match: Match) -> str:
        """Of the number, told by the preposition before it and by the ending of what is counted."""
        word, noun = before(match), after(match).lower()
        for ending, case in _PLURAL_ENDS.items():
            if noun.endswith(ending) and len(noun) > len(ending) + 1 and (case != "dative" or word in _DATIVE | {"по"}):
                return case
        return next((case for case, prepositions in _AFTER.items() if word in prepositions), "")

    def gender_of(self, match: Match) -> str:
        digits, noun, case = re.sub(r"\D", "", match["number"]), after(match).lower(), self.case_of(match)
        gender = "m"
        last, tens = digits[-1], digits[-2:]
        if last == "1" and tens != "11" and noun:
            if noun[-1] in "ую" and case == "":
                return "f-accusative"
            if case == "genitive":
                gender = "f" if noun[-1] in "ыи" else "m"
            else:
                gender = "f" if noun[-1] in "аяьи" and noun not in words.MASCULINE else "n" if noun[-1] in "ое" else "m"
        elif last == "2" and tens != "12" and noun and noun[-1] in "иы" and noun not in words.MASCULINE:
            gender = "f"
        return f"{gender}-{case}" if case else gender

    def say_decimals(self, whole: str, number: Number, case: str = "") -> str:
        """'три целых четырнадцать сотых'"""
        if len(number.decimals) > 6:
            return f"{whole} {self.point} {self.digits(number.decimals)}"
        rest, part, form = int(number.decimals), _PARTS[len(number.decimals)], f"f-{case}".rstrip("-")
        ending = {"genitive": "ой", "accusative": "ую"}.get(case, "ая")  # of one, and else 'ых'
        ones, parts = self.cardinal(number.whole, form), self.count(rest, form)
        return (
            f"{ones} цел{ending if _is_one(number.whole) else 'ых'} {parts} "
            f"{part}{ending if _is_one(number.decimals) else 'ых'}"
        )

    # ---- amounts ----

    def say_count(self, number: Number, unit: Noun, case: str = "") -> str:
        gender, _, own = unit.gender.partition("-")
        case = case or own
        if number.decimals:
            sign = f"{self.say_sign(number.sign)} " if number.sign else ""
            return f"{sign}{self.say_decimals('', number, case)} {unit.forms[1 % len(unit.forms)]}"
        if case == "accusative":  # as the nominative, but for 'одну копейку'
            if gender == "f" and _is_one(number.whole) and unit.forms[0][-1] in "ая":
                coin = unit.forms[0]
                return f"{self.say(number, 'f-accusative')} {coin[:-1]}{'у' if coin[-1] == 'а' else 'ю'}"
            case = ""
        said = self.say(number, f"{gender or 'm'}-{case}" if case else gender)
        return f"{said} {self._form(number.whole, unit, case)}"

    def in_case(self, counted: Noun, match: Match) -> Noun:
        """'до 92 руб.', 'около 27 млн', 'на 1,5 млн'"""
        case = self._amount_case(match)
        return counted._replace(gender=f"{counted.gender or 'm'}-{case}") if case else counted

    def _amount_case(self, match: Match) -> str:
        word = before(match)
        return "genitive" if word in _GENITIVE else "accusative" if word in ("на", "в", "за", "через") else ""

    def _form(self, digits: str, unit: Noun, case: str) -> str:
        """'километр', 'километра', 'километров'"""
        one, few = digits[-1] == "1" and digits[-2:] != "11", digits[-1] in "234" and digits[-2:-1] != "1"
        if len(unit.forms) < 3:
            return unit.forms[0 if one else -1]
        if case:
            return unit.forms[1 if one else 2]
        return unit.forms[0 if one else 1 if few else 2]

    def say_measure(self, number: Number, unit: Noun, match: Match) -> str:
        if before(match) == "в" and after(match) == "от" and unit.forms[-1] in _AWAY and not number.decimals:
            far = f"{unit.forms[0]}е" if _is_one(number.whole) else _AWAY[unit.forms[-1]]
            return f"{self.say(number, 'm-locative')} {far}"
        case = self.case_of(match)
        return self.say_count(number, unit, case if case == "genitive" else self._amount_case(match))

    def scaled_money(self, number: Number, scale: Noun, major: Noun) -> str:
        return f"{self.say_count(number, scale)} {major.forms[-1]}"

    def say_first(self, number: Number, match: Match) -> str:
        word = before(match)
        return self.say(number, "m-genitive" if word in _GENITIVE else "")

    def say_fraction(self, above: int, below: int) -> str:
        one = above % 10 == 1 and above != 11
        return f"{self.count(above, 'f')} {self.ordinal(below, 'feminine' if one else 'plural-genitive')}"

    def say_part_of(self, above: int, below: int, unit: Noun) -> str:
        return f"{self.say_fraction(above, below)} {unit.forms[1 % len(unit.forms)]}"

    def say_mixed(self, whole: int, fraction: str) -> str:
        if whole == 1 and fraction == "одна вторая":
            return "полтора"
        return f"{self.count(whole)} {'с половиной' if fraction == 'одна вторая' else f'и {fraction}'}"

    def find_shortened(self) -> list[RuleParts]:
        """'школа им. Пушкина'; elsewhere 'им' is a word that may end a sentence."""
        named = rf"\b(?P<place>(?:{words.NAMED_AFTER})\w*) им\. ?(?=[А-ЯЁ])"
        return [(".", named, lambda match: f"{match['place']} имени "), *super().find_shortened()]

    # ---- dates and times ----

    def find_dates(self) -> list[RuleParts]:
        year = r"(?: (?P<year>\d{4})(?: ?(?:года|г\.|г\b))?)?"
        day = rf"(?<![\w.,])(?P<day>\d{{1,2}})(?:-?(?:го|е))? (?P<month>{self.month}){year}(?!\w)"
        pair = rf"(?<![\w.,])(?P<first>\d{{1,2}})(?P<link> ?[-—] ?| и | по | до )(?=\d{{1,2}} {self.month})"
        short = (
            r"(?:(?<=[12]\d\d\d )|(?<=[12]\d\d\d))г(?=[,;)\s]|$)"  # without a dot after a year only: 100 г is a weight
        )
        past = rf"(?P<year>\d{{3,4}})(?:-(?P<suffix>[а-я]{{1,3}}))? ?(?P<word>год[а-я]*|гг?\.|{short})"
        decade = r"(?P<decade>[12]\d[0-9]0|[2-9]0)-(?P<ending>е|х|ми)\b"
        years = r"(?<![\w.,])(?P<from>\d{4}) ?[-—] ?(?P<to>\d{4}) ?(?P<word>год[а-я]*|гг\.?)"
        return [
            (DIGITS, pair, self._date_pair),
            (DIGITS, day, self._named_date),
            *super().find_dates(),
            ("г", years, self._years),
            (
                "г",
                r"(?<=\b[сСот] )(\d{4})(?= (?:по|до) \d{4}(?: ?г|$))",
                lambda m: self.ordinal(int(m[1]), "masculine-genitive"),
            ),
            ("-", rf"(?<![\w.,]){decade}", self._decade),
            ("г", rf"(?<![\w.,—-]){past}", self._year),
        ]

    def _date_pair(self, match: Match) -> str:
        link = match["link"].strip()
        return f"{self.ordinal(int(match['first']), self._day_form(match))} {'—' if link in '-—' else link} "

    def _named_date(self, match: Match) -> str:
        if not 1 <= int(match["day"]) <= 31:
            return match[0]
        year = match["year"]
        return self.say_date(
            int(match["day"]), self.month_number(match["month"]), int(year) if year else None, match
        ) + _end(match)

    def _day_form(self, match: Match) -> str:
        word = before(match)
        if word in listed("на по сегодня завтра вчера это послезавтра"):
            return "neuter"
        return "neuter-dative" if word in _DATIVE else "neuter-ablative" if word in _INSTRUMENTAL else "neuter-genitive"

    def say_date(self, day: int, month: int, year: int | None, match: Match) -> str:
        said = f"{self.ordinal(day, self._day_form(match))} {self.months[month - 1]}"
        return f"{said} {self.ordinal(year, 'masculine-genitive')} года" if year else said

    def _year(self, match: Match) -> str:
        value, word = int(match["year"]), match["word"]
        weight = value < 1000 and word in ("г.", "г") and before(match) not in _OF_YEARS
        if value < 100 or weight:  # '200 г.'
            return match[0]
        form, noun = _year_form(word, before(match), match["suffix"])
        return f"{self.ordinal(value, form)} {noun}{_end(match)}"

    def _years(self, match: Match) -> str:
        form, noun = _year_form(match["word"], before(match), None)
        noun = {"год": "годы", "году": "годах"}.get(noun, noun) if match["word"].startswith("гг") else match["word"]
        form = {"годах": "masculine-locative", "годов": "masculine-genitive", "годам": "masculine-dative"}.get(
            noun, "masculine"
        )
        return f"{self.ordinal(int(match['from']), form)} — {self.ordinal(int(match['to']), form)} {noun}{_end(match)}"

    def _decade(self, match: Match) -> str:
        case = {"е": "", "х": "-genitive", "м": "-dative", "ми": "-ablative"}[match["ending"]]
        return self.ordinal(int(match["decade"]), f"plural{case}")

    def say_clock(self, hour: int, minute: int, second: int | None, match: Match) -> str:
        case = self.case_of(match)
        case = case if case in ("genitive", "dative") and before(match) != "в" else ""
        said = self.count(hour, f"m-{case}" if case else "m")
        if minute == 0 and second is None:
            hours = {"genitive": "часов", "dative": "часам"}.get(case) or self._form(
                str(hour), Noun("m", ("час", "часа", "часов")), ""
            )
            return f"{said} {'часа' if case == 'genitive' and hour == 1 else hours}"
        zero = "ноль " if minute < 10 else ""
        said += f" {zero}{self.count(minute, f'f-{case}' if case else '')}"
        return said if second is None else f"{said} {self.count(second)}"

    # ---- ordinals and Roman numerals ----

    def find_late(self) -> list[RuleParts]:
        return [abbreviation(words.spell_latin)]

    def find_own(self) -> list[RuleParts]:
        return [
            ("-", r"(?<![\w.,])(?P<value>\d{1,15})-(?P<suffix>[йяемхю]|[а-я]{2,3})(?![\w-])", self._ordinal),
            ("-", r"(?<![\w.,])(?P<value>\d{1,15})-(?P<word>[а-яё]{4,})", self._compound),
            (
                "IVXLCDM",
                rf"(?<!\w)(?P<value>{ROMAN})(?P<many>[-—]{ROMAN})? (?P<word>век[а-я]*|вв?\.|тысячелет[а-я]*)",
                self._century,
            ),
            ("IVXLCDM", rf"(?<!\w)(?P<value>{ROMAN})(?= (?P<word>{'|'.join(words.AFTER_ROMAN)})\b)", self._before_noun),
            ("IVXLCDM", rf"(?P<name>[А-ЯЁ][а-яё]+) (?P<value>{ROMAN})\b(?!\.?[A-Z])", self._king),
            (
                "IVXLCDM",
                rf"\b(?P<name>(?i:глав[аые]|част[ьи]|том[а-я]*|раздел[а-я]*|класс[а-я]*)) (?P<value>{ROMAN})\b",
                self._king,
            ),
            (
                ":",
                r"(?<![\w.,:])(\d{1,2}):(\d{1,2})(?![\w:])",
                lambda m: f"{self.count(int(m[1]))} {self.count(int(m[2]))}",
            ),
        ]

    def _ordinal(self, match: Match) -> str:
        form, noun, word = _SUFFIXES.get(match["suffix"]), after(match).lower(), before(match)
        if form is None:
            return match[0]
        if (
            match["suffix"] in ("й", "ой")
            and (word in _GENITIVE | {"в", "на"} or noun.endswith(("ей", "ой")))
            and noun[-1:] in tuple("еиыйю")
        ):
            form = "feminine-locative"
        if match["suffix"] == "м" and word in _INSTRUMENTAL:
            form = "masculine-ablative"
        return self.ordinal(int(match["value"]), form)

    def _compound(self, match: Match) -> str:
        """'5-летний' -> 'пятилетний'"""
        value, word = int(match["value"]), match["word"]
        plain = {1: "одно", 40: "сорока", 90: "девяносто", 100: "сто", 1000: "тысяче"}
        return (plain.get(value) or self.count(value, "m-genitive").replace(" ", "")) + word

    def _century(self, match: Match) -> str:
        word, ahead = match["word"], before(match)
        thousand = word.startswith("тыс")
        case = _CENTURY_CASES.get(word, "")
        if word == "в.":
            case = "-locative" if ahead in ("в", "во") else "-genitive"
            word = "веке" if case == "-locative" else "века"
        elif word == "вв.":
            case = "-locative" if ahead in ("в", "во") else "-genitive" if ahead else ""
            word = {"-locative": "веках", "-genitive": "веков"}.get(case, "века")
        elif word in ("веках", "веков"):
            case = "-locative" if word == "веках" else "-genitive"
        form = ("neuter" if thousand else "masculine") + case
        last = f" — {self.ordinal(roman(match['many'][1:]), form)}" if match["many"] else ""
        return f"{self.ordinal(roman(match['value']), form)}{last} {word}{_end(match)}"

    def _before_noun(self, match: Match) -> str:
        return self.ordinal(roman(match["value"]), words.AFTER_ROMAN[match["word"]])

    def _king(self, match: Match) -> str:
        """'Пётр I', 'при Петре I', 'Екатерины II'"""
        name, value = match["name"], roman(match["value"])
        forms = words.KINGS.get(name.lower().replace("ё", "е"))
        return (
            f"{name} {self.ordinal(value, forms).capitalize() if name[0].isupper() else self.ordinal(value, forms)}"
            if forms
            else match[0]
        )

    phone = rf"(?<![\w.,+-])[78]9\d{{9}}(?!\d)|{Language.phone}"

    def say_phone(self, groups: list[str]) -> str:
        if len(groups) == 1 and len(groups[0]) == 11:
            [whole] = groups
            groups = [whole[0], whole[1:4], whole[4:7], whole[7:9], whole[9:]]
        return ", ".join(self.cardinal(group) if len(group) <= 3 else self.digits(group) for group in groups)


def _is_one(digits: str) -> bool:
    return digits[-1] == "1" and digits[-2:] != "11"


def _with_yo(said: str) -> str:
    return (
        _YO.sub(lambda match: "четвёрт" if match[0].startswith("четверт") else f"{match[1]}ё", said)
        if "е" in said
        else said
    )


def _one_thousand(said: str, value: int) -> str:
    """'тысяча', not 'одна тысяча'."""
    if 1000 <= value < 2000:
        return re.sub(r"^одн(?:а|ой|у) (?=тысяч)", "", said)
    return said


def _year_form(word: str, ahead: str, suffix: str | None) -> tuple[str, str]:
    """The ordinal's form and the noun: 'в 1998 году', 'с 1998 г.', '1998 год'."""
    if word in ("г.", "г", "гг."):
        word = {"в": "году", "во": "году", "к": "году", "на": "год", "за": "год", "по": "год"}.get(ahead, "года")
    cases = {
        "году": "-dative" if ahead in ("к", "ко", "по") else "-locative",
        "года": "-genitive",
        "годом": "-ablative",
        "годе": "-locative",
    }
    return f"masculine{cases.get(word, '')}", word


def _end(match: Match) -> str:
    """The dot of an abbreviation that also ended the sentence."""
    return "." if match[0].endswith(".") and not match.string[match.end() :].strip() else ""


def make(language: str) -> Russian:
    return Russian()
