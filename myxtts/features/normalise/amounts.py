"""Money, measures, percentages, ranges and fractions: a number and what there is so many of."""

from __future__ import annotations

import functools
import unicodedata

from myxtts.features.normalise.counting import Number
from myxtts.features.normalise.reader import DIGITS, Match, Noun, Reader, RuleParts, any_of, apart, needing_digits, noun

SIGNS = {
    "€": "EUR", "$": "USD", "US$": "USD", "£": "GBP", "¥": "JPY", "₽": "RUB", "₹": "INR", "₺": "TRY", "₴": "UAH",
    "₩": "KRW", "₪": "ILS", "₿": "BTC", "R$": "BRL", "CA$": "CAD", "A$": "AUD",
}  # fmt: skip
VULGAR = {
    "½": (1, 2), "⅓": (1, 3), "⅔": (2, 3), "¼": (1, 4), "¾": (3, 4), "⅕": (1, 5), "⅖": (2, 5), "⅗": (3, 5), "⅘": (4, 5),
    "⅙": (1, 6), "⅚": (5, 6), "⅛": (1, 8), "⅜": (3, 8), "⅝": (5, 8), "⅞": (7, 8), "⅐": (1, 7), "⅑": (1, 9),
    "⅒": (1, 10),
}  # fmt: skip
# '10⁻³', 'z⁴'; the square and the cube have words of their own, and a figure after a word is a footnote.
_RAISED_DIGITS = "⁰¹²³⁴⁵⁶⁷⁸⁹"
_RAISED = rf"(?:(?<=[\d)])|(?<=\b[A-Za-z]))(?:⁻[{_RAISED_DIGITS}]+|[{_RAISED_DIGITS}]{{2,}}|[⁰¹⁴-⁹])"
_SIGNED = r"(?:(?<![\w)\]])(?P<sign>[-+±]) ?)?"


@functools.cache
def noun_of(written: str) -> Noun:
    return noun(written)


class Amounts(Reader):
    """'$5.50', '5,50 €', '3 km/h', '25 %', '5-10', '3/4'."""

    currencies: dict[str, str] = {}  # code -> noun of the coin, and after ';' the one of its hundredth
    signs: dict[str, str] = {}  # more signs, or other ones than `SIGNS`
    scales: dict[str, str] = {}  # 'Mio.' -> noun; written between a number and its coin, or alone
    units: dict[str, str] = {}  # symbol -> noun
    cents_and = ""  # between coins and hundredths
    to = ""  # of a range
    by = ""  # of 10 x 15
    per = ""  # of 5 €/h
    power = ""  # of 10^6
    less = ""  # of 5 - 3, where it is another word than that of -3
    slash = ""

    def __init__(self) -> None:
        known = SIGNS | self.signs | {code: code for code in self.currencies}
        self._coin_signs = {sign: code for sign, code in known.items() if code in self.currencies}
        words = [(form, code) for code in self.currencies for form in self.coin(code)[0].forms]
        self._coin_words = {form: code for form, code in reversed(words) if form not in self._coin_signs}
        self.counted = self.counted | self._coin_signs.keys() | self.scales.keys() | self.units.keys()
        super().__init__()

    def is_shortened(self, word: str) -> bool:
        return word in self.scales or super().is_shortened(word)

    def find_amounts(self) -> list[RuleParts]:
        return [*needing_digits([*self._find_ranges(), *self._find_money()]), *self._find_measures()]

    def _find_ranges(self) -> list[RuleParts]:
        number, ahead = self.number, any_of(self._coins_ahead())
        by = rf"(?<![\w.,])(?P<number>{number}) ?(?:x|×(?= ?[\d.,]+ ?(?:[mck]?m|×|x)\b)) ?(?=\d)"
        coins = rf"(?<!\w)({ahead}) ?({number}) ?[-—] ?(?:{ahead})?(?={number})"
        shared = rf"(?: ?(?P<shared>[%°]C?)(?= ?[-—] ?{number} ?(?P=shared)))?"  # '5%-10%' is 'five to ten percent'
        numbers = rf"(?<![\w.,:/+-])(?P<number>{number}){shared} ?[-—] ?(?P<end>{number})"
        return [
            ("x×", by, self._by),
            ("*", r"(?<=\d) ?\* ?(?=\d)", lambda match: f" {self.symbols['×']} "),
            (_RAISED_DIGITS, _RAISED, lambda match: f"^{unicodedata.normalize('NFKC', match[0])}".replace("−", "-")),
            ("^", r"(?<=[\w)])\^(?=-?\d)", lambda match: f" {self.power} "),
            (DIGITS, coins, self._money_range),
            ("-—", numbers, self._range),
        ]

    def _coins_ahead(self) -> list[str]:
        """Signs and codes, but no words, may stand before their number."""
        return [sign for sign in self._coin_signs if sign.upper() == sign != sign.lower() or not sign[0].isalpha()]

    def _find_money(self) -> list[RuleParts]:
        amount = rf"(?P<number>{self.number})(?: ?(?P<scale>{any_of(self.scales)})(?!\w))?"
        per = rf"(?:/(?P<per>{any_of(self.units)}|[^\W\d_]{{3,}})(?!\w))?"  # '5 €/h', '5 €/mois'
        ahead, behind = any_of(self._coins_ahead()), any_of(self._coin_signs)
        code = rf"(?: (?P<code>{any_of(code for code in self.currencies if len(code) == 3)})(?!\w))?"  # '$5 CAD'
        exact = rf"(?P<number>(?:\d{{1,3}}(?:[ '{self.groups}]\d{{3}})+|\d+)[{self.points}]\d\d)(?P<scale>)?"
        return [
            (DIGITS, rf"{_SIGNED}(?<!\w)(?P<coin>{ahead}) ?(?P<minus>-)?{amount}(?!\d){code}{per}", self._money),
            (DIGITS, rf"{_SIGNED}(?<![\w.,]){amount} ?(?P<coin>{behind}){per}(?![\w$])", self._money),
            (DIGITS, rf"{_SIGNED}(?<![\w.,]){exact} (?P<coin>{any_of(self._coin_words)})(?!\w)", self._money),
        ]

    def _find_measures(self) -> list[RuleParts]:
        alone = any_of(scale for scale in self.scales if len(scale) > 1 or not scale.isupper())
        number, vulgar, units = self.number, "".join(VULGAR), any_of(self.units)
        per = rf"(?:/(?P<per>{units})(?!\w))?"  # 'mg/ml'; 'km/h' is a unit
        dot = r"(?:\.(?= [a-zß-ÿа-яё\d&(]|[,;:)]))?"  # of '7 lbs. 6 oz.', if it ends no sentence
        return [
            ("/", rf"(?<![\w/.,])(\d{{1,2}})/(\d{{1,2}}) ?(?P<unit>{units})(?!\w){dot}", self._part_of_unit),
            (DIGITS, rf"{_SIGNED}(?<![\w.,/])(?P<number>{number}) ?(?P<unit>{units})(?!\w){per}{dot}", self._measure),
            (DIGITS, rf"(?<![\w.,])(?P<number>{number}) ?(?P<scale>{alone})(?!\w)", self._scaled),
            (
                vulgar,
                rf"(?:(?<![\w.,])((?!0\d)\d{{1,15}}) ?)?([{vulgar}])(?: ?(?P<unit>{units})(?!\w){dot})?",
                self._vulgar,
            ),
            (f"{DIGITS} /", r"(?<![\w/.,])(\d{1,3})/(\d{1,4})(?![\w/]|[.,]\d)", self._fraction),
        ]

    # ---- money ----

    def _money_range(self, match: Match) -> str:
        return f"{self.say(self.parse(match[2]))} {self.to} {match[1]}"

    def _money(self, match: Match) -> str:
        groups = match.groupdict()
        sign = groups["sign"] or groups.get("minus") or ""
        number = self.parse(match["number"], sign)
        coin = self.coin(groups.get("code") or (self._coin_signs | self._coin_words)[match["coin"]])
        major, minor = self.in_case(coin[0], match), coin[1] and self.in_case(coin[1], match)
        if not number.decimals.strip("0"):
            number = number._replace(decimals="")
        if scale := groups["scale"]:
            said = self.scaled_money(number, self.in_case(self.scale(scale), match), major)
        elif minor and len(number.decimals) == 2:
            said = self.say_money(number, major, minor)
        else:
            said = self.say_count(number, major)
        if groups.get("per"):
            said = f"{said} {self.say_per(noun_of(self.units.get(groups['per'], '|' + groups['per'])))}"
        return apart(said, match) + self.stop(match)

    def stop(self, match: Match) -> str:
        """The dot of '5 min.' where it also ends the sentence."""
        rest = match.string[match.end() :].lstrip()
        return "." * (match[0].endswith(".") and (not rest or rest[0].isupper()))

    def say_per(self, unit: Noun) -> str:
        return f"{self.per} {unit.forms[0]}"

    def coin(self, code: str) -> tuple[Noun, Noun | None]:
        major, _, minor = self.currencies[code].partition(";")
        return noun_of(major), noun_of(minor) if minor else None

    def say_money(self, number: Number, major: Noun, minor: Noun) -> str:
        """'five euros and fifty cents'; nothing is said of no cents."""
        euros, cents = number._replace(decimals=""), Number("", str(int(number.decimals)), "")
        if cents.value == 0:
            return self.say_count(euros, major)
        if euros.whole == "0":
            return self.say_count(cents._replace(sign=number.sign), minor)
        return f"{self.say_count(euros, major)} {self.cents_and} {self.say_count(cents, minor)}"

    def scaled_money(self, number: Number, scale: Noun, major: Noun) -> str:
        """'five million euros'"""
        return f"{self.say_count(number, scale)} {major.forms[-1]}"

    def scale(self, written: str) -> Noun:
        return noun_of(self.scales[written])

    def _scaled(self, match: Match) -> str:
        scale = self.in_case(self.scale(match["scale"]), match)
        return self.say_count(self.parse(match["number"]), scale) + self.stop(match)

    def in_case(self, counted: Noun, match: Match) -> Noun:
        """What is counted, as the words before it want it."""
        return counted

    # ---- measures ----

    def _measure(self, match: Match) -> str:
        number = self.parse(match["number"], match["sign"] or "")
        said = self.say_measure(number, noun_of(self.units[match["unit"]]), match)
        if match["per"]:
            said = f"{said} {self.say_per(noun_of(self.units[match['per']]))}"
        return said + self.stop(match)

    def say_measure(self, number: Number, unit: Noun, match: Match) -> str:
        return self.say_count(number, unit)

    def _part_of_unit(self, match: Match) -> str:
        """'3/4 kg'"""
        above, below = int(match[1]), int(match[2])
        if not 0 < above < below or "0" in (match[1][0], match[2][0]):
            return match[0]
        return self.say_part_of(above, below, noun_of(self.units[match["unit"]]))

    def say_part_of(self, above: int, below: int, unit: Noun) -> str:
        return f"{self.say_fraction(above, below)} {unit.forms[0]}"

    def say_count(self, number: Number, unit: Noun) -> str:
        """So many of these: 'one hour', 'two hours', 'two point five hours'."""
        form = unit.forms[0] if self.is_one(number) else unit.forms[-1]
        return f"{self.say(number, unit.gender)} {form}"

    def is_one(self, number: Number) -> bool:
        return number.whole == "1" and not number.decimals

    # ---- ranges and fractions ----

    def _range(self, match: Match) -> str:
        """The first number in words; the second stays for the rules to come."""
        if "-" in match[0] and "=" in match.string:
            return f"{self.say(self.parse(match['number']))} {self.less or self.minus} {match['end']}"
        if "—" in match[0] and " " in match[0].strip():
            return match[0]
        first = self.say_first(self.parse(match["number"]), match)
        return f"{first} {self.to} {match['end']}"

    def say_first(self, number: Number, match: Match) -> str:
        return self.say(number)

    def _by(self, match: Match) -> str:
        return f"{self.say(self.parse(match['number']))} {self.by} "

    def _vulgar(self, match: Match) -> str:
        above, below = VULGAR[match[2]]
        unit = noun_of(self.units[match["unit"]]) if match["unit"] else None
        if unit and not match[1]:
            return apart(self.say_part_of(above, below, unit), match)
        said = self.say_fraction(above, below)
        said = self.say_mixed(int(match[1]), said) if match[1] else said
        return apart(f"{said} {unit.forms[1 % len(unit.forms)]}" if unit else said, match)

    def say_mixed(self, whole: int, fraction: str) -> str:
        raise NotImplementedError

    def _fraction(self, match: Match) -> str:
        above, below = int(match[1]), int(match[2])
        if above == below:
            return f"{self.cardinal(match[1])} {self.cardinal(match[2])}"
        if 0 < above < below <= 100 and match[1][0] != "0" and match[2][0] != "0":
            return self.say_fraction(above, below)
        return f"{self.cardinal(match[1])} {self.slash} {self.cardinal(match[2])}"

    def say_fraction(self, above: int, below: int) -> str:
        raise NotImplementedError
