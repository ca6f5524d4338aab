"""Italian."""

from __future__ import annotations

import re

from myxtts.features.normalise.counting import ROMAN, listed, roman
from myxtts.features.normalise.reader import DIGITS, Match, RuleParts, after, before
from myxtts.features.normalise.romance import Romance
from myxtts.features.normalise.words import it as words

_QUEENS = ("Elisabetta", "Caterina", "Margherita", "Maria", "Isabella", "Cristina")
_KINGS = (
    "Luigi|Carlo|Enrico|Vittorio Emanuele|Umberto|Giovanni Paolo|Benedetto|Pio|Leone|Filippo|Federico|Francesco|"
    "Napoleone|"
    "Giorgio|Edoardo|Guglielmo|Alessandro|Pietro|Nicola|Ferdinando|Giovanni|Paolo|Ramses|Ottone|Clemente|Giulio|Sisto|"
    + "|".join(_QUEENS)
)
_PARTS = "capitolo|volume|libro|atto|scena|parte|articolo|titolo|fase|tipo|classe|canto|tomo"
_OF_ROMAN = "secolo|millennio|edizione|Guerra|guerra|Repubblica|legislatura|Olimpiade|congresso|canto|giornata|dinastia"


class Italian(Romance):
    code = "it"
    halves = {"m": "mezzo", "f": "mezza"}
    of = "di"
    minus, point, cents_and, to, slash, hashtag = "meno", "virgola", "e", "a", "barra", "cancelletto"
    dot = "punto"
    by, per, power = "per", "al", "elevato a"
    months, short_months, symbols, in_address = words.MONTHS, words.SHORT_MONTHS, words.SYMBOLS, words.IN_ADDRESS
    currencies, scales, units, shortened = words.CURRENCIES, words.SCALES, words.UNITS, words.SHORTENED
    before_numbers = words.BEFORE_NUMBERS
    calls = "tel|telefono|cell|cellulare|fax|chiamare il|chiama il"

    def gender_of(self, match: Match) -> str:
        """'un libro', 'una casa'; only the one itself has a gender."""
        word = after(match)
        if match["number"] != "1" or not word[:1].islower() or word in listed("e o a di in con su per"):
            return ""
        return (
            "f" if re.fullmatch(r".*(?:a|zione|sione|tà|tù|rice)|volta|notte|parte|chiave|classe|mano", word) else "m"
        )

    # ---- dates and times ----

    def find_dates(self) -> list[RuleParts]:
        named = rf"(?<![\w.,])(?P<day>\d{{1,2}})[º°]? (?P<month>{self.month})(?: (?:del )?(?P<year>\d{{4}})\b)?"
        return [
            (DIGITS, named, self.named_date),
            *super().find_dates(),
            (".", r"(?<=\bore )(?P<hour>\d{1,2})\.(?P<minute>\d\d)(?P<second>)(?!\w|\.\d)", self._dotted_clock),
            ("'", r"(?<=')(\d\d)(?!\w)", lambda match: self.cardinal(match[1])),
        ]

    def say_date(self, day: int, month: int, year: int | None, match: Match) -> str:
        said = f"{'primo' if day == 1 else self.count(day)} {self.months[month - 1]}"
        return f"{said} {self.say_year(year)}" if year else said

    def _dotted_clock(self, match: Match) -> str:
        return self.say_clock(int(match["hour"]), int(match["minute"]), None, match)

    def say_clock(self, hour: int, minute: int, second: int | None, match: Match) -> str:
        said = ("una" if hour == 1 else self.count(hour)) + (f" e {self.count(minute)}" if minute else "")
        if not minute and before(match) not in listed("ore le alle dalle delle l all"):
            said = "l'una" if hour == 1 else f"ore {said}"
        return said if second is None else f"{said} e {self.count(second)} secondi"

    # ---- ordinals and Roman numerals ----

    def find_own(self) -> list[RuleParts]:
        return [
            (
                DIGITS,
                r"(?<![\w.,])(?P<value>(?!0\d)\d{1,4})(?:(?P<m>[º°]|[oi]\b)(?!C)|(?P<f>ª|[ae]\b))",
                self.marked_ordinal,
            ),
            ("IVXLCDM", rf"\b(?P<name>{_KINGS}) (?P<king>{ROMAN})\b(?! [A-Z]\.)", self._king),
            ("IVXLCDM", rf"\b(?P<name>(?i:{_PARTS})) (?P<king>{ROMAN})\b", self._part_number),
            ("IVXLCDM", rf"(?<!\w)(?P<king>{ROMAN})(?= (?P<name>{_OF_ROMAN})\b)", self._nth),
            (
                "IVXLCDM",
                rf"\b(?P<name>secolo) (?P<king>{ROMAN})\b",
                lambda m: f"secolo {self.ordinal(roman(m['king']))}",
            ),
            (
                ":",
                r"(?<![\w.,:])(\d{1,2}):(\d)(?!\d)",
                lambda match: f"{self.count(int(match[1]))} a {self.count(int(match[2]))}",
            ),
        ]

    def _king(self, match: Match) -> str:
        return f"{match['name']} {self.ordinal(roman(match['king']), 'f' if match['name'] in _QUEENS else 'm')}"

    def _part_number(self, match: Match) -> str:
        return f"{match['name']} {self.count(roman(match['king']))}"

    def _nth(self, match: Match) -> str:
        gender = "m" if match["name"] in ("secolo", "millennio", "congresso", "canto") else "f"
        return self.ordinal(roman(match["king"]), gender)

    def find_last(self) -> list[RuleParts]:
        return [("", r"\buna ora\b", lambda match: "un'ora")]

    # ---- amounts ----

    def say_fraction(self, above: int, below: int) -> str:
        part = "mezzo" if below == 2 else self.ordinal(below)
        return f"{self.count(above, 'm')} {f'{part[:-1]}i' if above > 1 else part}"

    def say_mixed(self, whole: int, fraction: str) -> str:
        return f"{self.count(whole)} e {'mezzo' if fraction == 'un mezzo' else fraction}"


def make(language: str) -> Italian:
    return Italian()
