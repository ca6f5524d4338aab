"""French."""

from __future__ import annotations

import re

from myxtts.features.normalise.counting import ROMAN, Number, roman
from myxtts.features.normalise.reader import DIGITS, Match, Noun, RuleParts, after
from myxtts.features.normalise.romance import Romance
from myxtts.features.normalise.words import fr as words

_KINGS = (
    "Louis|Charles|Henri|François|Philippe|Napoléon|Jean-Paul|Benoît|Pie|Léon|Jean|Paul|Élisabeth|Elisabeth|"
    "Catherine|Pierre|Nicolas|Alexandre|Guillaume|Édouard|Georges|Jacques|Frédéric|Albert|Léopold|Baudouin|"
    "Ramsès|Juan Carlos|Richard|Ivan"
)
_PARTS = (
    "chapitre|tome|volume|livre|acte|scène|partie|article|annexe|titre|niveau|section|phase|type|classe|Guerre mondiale"
)
_FEMININE = re.compile(
    r".*(?:tions?|sions?|tés?|ées?|ettes?|ures?|ances?|ences?|esses?|elles?|eures|ades?|ières?|ines?|ennes?|"
    r"euses?|trices?|iques?|ales?|ives?)|heures?|minutes?|secondes?|semaines?|fois|pages?|personnes?|femmes?|"
    r"filles?|voitures?|maisons?|villes?|tonnes?|pommes?|chambres?|pièces?|places?|bouteilles?|tasses?|"
    r"cuillères?|lettres?|livres sterling|chaises?|tables?|chansons?|langues?|étoiles?|équipes?|écoles?|"
    r"entreprises?|portes?|fenêtres?|rues?|nuits?|mains?|voix|dents?|vies?|vaches?|poules?"
)
_MASCULINE = re.compile(
    "musées?|lycées?|étés?|côtés?|comités?|trophées?|silences?|magazines?|domaines?|centimes?|problèmes?|modèles?|parallèles?|"
    "stades?|grades?|murmures?|mercures?|kiosques?|journal|cheval|animal|hôpital|canal"
)


class French(Romance):
    code = "fr"
    minus, point, cents_and, to, slash, hashtag = "moins", "virgule", "et", "à", "barre oblique", "hashtag"
    dot = "point"
    halves = {"m": "un demi", "f": "une demi"}
    by, per, power = "sur", "par", "puissance"
    months, short_months, symbols, in_address = words.MONTHS, words.SHORT_MONTHS, words.SYMBOLS, words.IN_ADDRESS
    currencies, scales, units, shortened = words.CURRENCIES, words.SCALES, words.UNITS, words.SHORTENED
    before_numbers = words.BEFORE_NUMBERS
    calls = "tél|téléphone|téléphoner au|appelez le|appeler le|fax|portable|mobile"

    def gender_of(self, match: Match) -> str:
        if not match["number"].endswith("1") or match["number"].endswith("11"):
            return ""
        return "f" if is_feminine(after(match)) else ""

    def is_one(self, number: Number) -> bool:
        return number.value < 2

    def join_of(self, word: str) -> str:
        return f"d'{word}" if word[0] in "aeiouyéh" and not word.startswith("yen") else f"de {word}"

    # ---- dates and times ----

    def find_shortened(self) -> list[RuleParts]:
        """'lun. 3 mai'; before a number only, since 'mer.' and 'jeu.' are more than days."""
        days = {day[:3]: day for day in words.DAYS}
        weekdays = (".", rf"\b({'|'.join(days)})\.(?= \d)", lambda match: days[match[1]])
        both = rf"\b({'|'.join(days)})\. ?(au|à|-|—) ?({'|'.join(days)})\b\.?(?! ?$)"
        week = (".", both, lambda match: f"{days[match[1]]} {'à' if match[2] in '-—' else match[2]} {days[match[3]]}")
        return [week, weekdays, *super().find_shortened()]

    def find_dates(self) -> list[RuleParts]:
        minutes = r"(?: ?(?P<minute>\d\d)(?: ?(?:min|mn))?(?! ?\w*/))?(?: ?(?P<second>\d\d) ?s)?"
        clock = rf"(?<![\w:.,/])(?P<hour>\d{{1,2}}) ?[hH]{minutes}(?![\w/])"
        return [
            (
                DIGITS,
                rf"(?<![\w.,])(?P<day>\d{{1,2}})(?:er)? (?P<month>{self.month})(?: (?P<year>\d{{4}})\b)?",
                self.named_date,
            ),
            *super().find_dates(),
            ("hH", clock, self._heures),
        ]

    def say_date(self, day: int, month: int, year: int | None, match: Match) -> str:
        said = f"{'premier' if day == 1 else self.count(day)} {self.months[month - 1]}"
        return f"{said} {self.say_year(year)}" if year else said

    def _heures(self, match: Match) -> str:
        second = match["second"]
        return self.say_clock(int(match["hour"]), int(match["minute"] or 0), int(second) if second else None, match)

    def say_clock(self, hour: int, minute: int, second: int | None, match: Match) -> str:
        said = f"{self.count(hour, 'f')} heure{'s' * (hour > 1)}"
        if minute:
            said += f" {self.count(minute, 'f')}"
        return said if second is None else f"{said} et {self.count(second, 'f')} seconde{'s' * (second > 1)}"

    # ---- ordinals and Roman numerals ----

    def find_own(self) -> list[RuleParts]:
        nth = r"(?:(?P<first>ers?|res?|[eè]res?)|(?P<second>nde?s?)|(?P<nth>es?|i?[eè]mes?))"
        return [
            ("s", rf"(?<!\w)(?P<value>\d{{1,2}}|{ROMAN})e s\.(?! ?[A-ZÀ-Þ])", self._century),
            (DIGITS, rf"(?<![\w.,])(?P<value>\d{{1,15}}){nth}(?!\w)", self._ordinal),
            ("IVXLCDM", rf"(?<!\w)(?P<value>[IVX]|(?=..[IVXLCDMeè]){ROMAN}){nth}(?!\w)", self._ordinal),
            ("IVXLCDM", rf"\b(?P<name>{_KINGS}) (?P<king>{ROMAN})\b", self._named),
            ("IVXLCDM", rf"\b(?P<name>(?i:{_PARTS})) (?P<king>{ROMAN})\b", self._named),
            ("M", rf"(?<![\w.,])(?P<number>{self.number}) M(?= d['e])", lambda match: f"{match['number']} millions"),
            ("°", r"\b[nN]° ?(?=\d)", lambda match: "numéro "),
            (DIGITS, r"\b24 ?[hH] ?/ ?24\b", lambda match: "vingt-quatre heures sur vingt-quatre"),
            (DIGITS, r"\b7 ?[jJ] ?/ ?7\b", lambda match: "sept jours sur sept"),
        ]

    def _century(self, match: Match) -> str:
        value = match["value"]
        return f"{self.ordinal(int(value) if value.isdigit() else roman(value))} siècle"

    def _ordinal(self, match: Match) -> str:
        value = int(match["value"]) if match["value"].isdigit() else roman(match["value"])
        many = "s" if match[0].endswith("s") else ""
        if match["first"]:
            return (
                "premier" if match["first"].startswith("er") and not match["first"].endswith("e") else "première"
            ) + many
        if match["second"]:
            return ("second" if match["second"].rstrip("s") == "nd" else "seconde") + many
        return self.ordinal(value) + many

    def _named(self, match: Match) -> str:
        value = roman(match["king"])
        first = value == 1 and match["name"][0].isupper()
        return f"{match['name']} {'premier' if first else self.count(value)}"

    # ---- amounts ----

    def say_money(self, number: Number, major: Noun, minor: Noun) -> str:
        """'cinq euros cinquante'"""
        if number.value and int(number.decimals):
            return f"{self.say_count(number._replace(decimals=''), major)} {self.count(int(number.decimals))}"
        return super().say_money(number, major, minor)

    def say_fraction(self, above: int, below: int) -> str:
        part = {2: "demi", 3: "tiers", 4: "quart"}.get(below) or self.ordinal(below)
        return f"{self.count(above)} {part}{'s' * (above > 1 and below != 3)}"

    def say_mixed(self, whole: int, fraction: str) -> str:
        return f"{self.count(whole)} et {fraction.removeprefix('un ') if fraction == 'un demi' else fraction}"

    def say_phone(self, groups: list[str]) -> str:
        """By twos, as they are written: 'zéro six douze'."""
        return ", ".join(self._phone_group(group) for group in groups)

    def _phone_group(self, group: str) -> str:
        if len(group) > 3 and len(group) % 2 == 0:
            return ", ".join(self._phone_group(group[at : at + 2]) for at in range(0, len(group), 2))
        return self.cardinal(group)


def is_feminine(word: str) -> bool:
    return _FEMININE.fullmatch(word) is not None and _MASCULINE.fullmatch(word) is None


def make(language: str) -> French:
    return French()
