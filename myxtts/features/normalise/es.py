"""Spanish. In America (es-419, es-mx) a dot is between units and tenths, in Spain a comma."""

from __future__ import annotations

import re

from myxtts.features.normalise.counting import ROMAN, listed, roman, spell
from myxtts.features.normalise.reader import DIGITS, Match, RuleParts, after, before
from myxtts.features.normalise.romance import Romance
from myxtts.features.normalise.words import es as words

_KINGS = (
    "Felipe|Alfonso|Carlos|Fernando|Isabel|Juan Pablo|Juan Carlos|Benedicto|Pío|León|Luis|Enrique|Jaime|Pedro|"
    "Sancho|Eduardo|Jorge|Guillermo|Napoleón|Nicolás|Alejandro|Francisco|Catalina|Ramsés|Juan|Pablo|Federico|"
    "Ricardo|Iván|María"
)
_QUEENS = ("Isabel", "Catalina", "María")
_PARTS = (
    "siglos?|capítulo|tomo|volumen|libro|acto|escena|parte|artículo|anexo|título|fase|tipo|clase|Congreso|"
    "Guerra Mundial|Edición"
)
_OF_ROMAN = (
    "Guerra|Congreso|[Ee]dición|Legislatura|Olimpiada|Conferencia|Feria|Jornadas?|[Aa]niversario|Reich|"
    "República|Festival|Cumbre|Premio"
)
_FEMININE = re.compile(
    r".*(?:as?|ci[oó]n(?:es)?|si[oó]n(?:es)?|dad(?:es)?|tud(?:es)?|umbres?)|noches?|tardes?|veces|vez|clases?|"
    r"calles?|partes?|llaves?|mujer(?:es)?|manos?|flor(?:es)?|luz|luces|voz|voces|leyes|ley|redes|red|sedes?|"
    r"bases?"
)
_MASCULINE = re.compile(
    "días?|mapas?|problemas?|idiomas?|sistemas?|programas?|temas?|climas?|planetas?|poetas?|poemas?|cometas|"
    "kilogramas?|esquemas?|síntomas?|dilemas?|teoremas?|diagramas?|para|a|la|las|era|estaba|cada|contra|sobre|"
    "hasta|desde|hora"
)


class Spanish(Romance):
    code = "es"
    minus, point, cents_and, to, slash, hashtag = "menos", "coma", "con", "a", "barra", "hashtag"
    halves = {"m": "medio", "f": "media"}
    dot = "punto"
    by, per, power = "por", "por", "elevado a"
    first_day = "uno"
    months, short_months, symbols, in_address = words.MONTHS, words.SHORT_MONTHS, words.SYMBOLS, words.IN_ADDRESS
    currencies, scales, units, shortened = words.CURRENCIES, words.SCALES, words.UNITS, words.SHORTENED
    before_numbers = words.BEFORE_NUMBERS
    of_clock = r"(?: ?(?P<hours>h|hs|hrs|horas)\b\.?)?(?: ?(?P<half>[aApP]\. ?[mM]\.|[aApP][mM]\b))?"
    calls = "tel|teléfono|móvil|celular|fax|llame al|llamar al|llama al|whatsapp"
    phone = rf"(?<![\w.,])(?:[6-9]\d{{2}}[ -]?\d{{3}}[ -]?\d{{3}}|9\d \d{{3}} \d\d \d\d)(?![\w.,-]*\d)|{Romance.phone}"

    def gender_of(self, match: Match) -> str:
        """'un libro', 'veintiuna casas', 'doscientas páginas'; 'uno' where nothing is counted."""
        word = after(match)
        if not word or word in listed(
            "y o de en a e u por con que es son al del el más menos fue está si pero para sobre hasta como no se la "
            "las los ni era"
        ):  # fmt: skip
            return ""
        if _FEMININE.fullmatch(word) and not _MASCULINE.fullmatch(word):
            return "f"
        return "m" if word[0].islower() else ""

    # ---- dates and times ----

    def find_dates(self) -> list[RuleParts]:
        year = r"(?:,? (?:del? )?(?P<year>\d{4})\b)?"
        named = rf"(?<![\w.,])(?P<day>\d{{1,2}})\.?[ºo°]? (?:de )?(?P<month>{self.month}){year}"
        return [
            (DIGITS, named, self.named_date),
            *super().find_dates(),
            (DIGITS, r"(?<![\w.,:])(?P<hour>\d{1,2}) ?(?P<half>[aApP]\. ?[mM]\.|[aApP][mM]\b)", self._hour),
            (DIGITS, r"(?<=\blas )(?P<hour>\d{1,2})(?P<h> ?(?:h|hrs|hs)\b\.?)?(?![\w:.,]*\d)", self._hour),
        ]

    def say_date(self, day: int, month: int, year: int | None, match: Match) -> str:
        return self.full_date(self.first_day if day == 1 else self.count(day), month, year)

    def _hour(self, match: Match) -> str:
        said = self.count(int(match["hour"]), "f")
        if match.groupdict().get("h"):
            said += " horas"
        return f"{said} {_half(match)}".strip()

    def say_clock(self, hour: int, minute: int, second: int | None, match: Match) -> str:
        said = self.count(hour, "f")
        if minute:
            said += f" y {self.count(minute)}"
        if match["hours"]:
            said += " horas"
        elif not minute and before(match) not in ("las", "la") and not match["half"]:
            said += " en punto"
        if second is not None:
            said += f" y {self.count(second)} segundos"
        return f"{said} {_half(match)}".strip()

    # ---- ordinals and Roman numerals ----

    def find_shortened(self) -> list[RuleParts]:
        """'$1,450' is written in America, and then with a comma between thousands."""
        thousands = r"(?<=\$)(\d{1,3}(?:,\d{3})+)(?![\d,])"
        return [("$", thousands, lambda match: match[1].replace(",", "")), *super().find_shortened()]

    def find_own(self) -> list[RuleParts]:
        nth = r"(?:\.?(?P<m>[ºo°])(?!C)|\.?(?P<f>ª|a)|\.?(?P<short>er|ero|era|do|da|to|ta|vo|va|mo|ma|no|na))(?!\w)"
        return [
            (DIGITS, rf"(?<![\w.,])(?P<value>(?!0\d)\d{{1,4}}){nth}", self._ordinal),
            ("IVXLCDM", rf"\b(?P<name>{_KINGS}) (?P<king>{ROMAN})\b(?! [A-Z]\.)", self._king),
            (
                "IVXLCDM",
                rf"\b(?P<name>(?i:{_PARTS})) (?P<king>{ROMAN})\b(?: ?(?P<link>-|—|y|al|a) ?(?P<last>{ROMAN})\b)?",
                self._part_number,
            ),
            ("IVXLCDM", rf"(?<!\w)(?P<king>{ROMAN}) (?P<name>{_OF_ROMAN})\b", self._nth),
            ("/", r"(?<![\w/.,])(\d{1,2})/([3-9]|10) partes?\b", self._parts),
            (DIGITS, r"\b24/7\b", lambda match: "veinticuatro siete"),
            (
                ":",
                r"(?<![\w.,:])(\d{1,2}):(\d)(?!\d)",
                lambda match: f"{self.count(int(match[1]))} a {self.count(int(match[2]))}",
            ),
        ]

    def _ordinal(self, match: Match) -> str:
        value, short = int(match["value"]), match["short"] or ""
        if not value:
            return self.zero_degrees(match)
        if match["f"] or short.endswith("a"):
            return self.ordinal(value, "f")
        before_noun = after(match)[:1].islower() and after(match) not in listed("y de en del o que por con a")
        if short == "er" or (before_noun and value % 10 in (1, 3)):
            return spell(value, self.code, "ordinal-masculine-adjective")
        return self.ordinal(value)

    def _parts(self, match: Match) -> str:
        """'tres cuartas partes'"""
        many = "s" * (int(match[1]) > 1)
        return f"{self.count(int(match[1]), 'f')} {self.ordinal(int(match[2]), 'f')}{many} parte{many}"

    def _king(self, match: Match) -> str:
        value = roman(match["king"])
        nth = self.ordinal(value, "f" if match["name"] in _QUEENS else "m") if value <= 10 else self.count(value)
        return f"{match['name']} {nth}"

    def _part_number(self, match: Match) -> str:
        said = f"{match['name']} {self.count(roman(match['king']))}"
        if match["last"]:
            link = {"-": "al", "—": "al"}.get(match["link"], match["link"])
            said += f" {link} {self.count(roman(match['last']))}"
        return said

    def _nth(self, match: Match) -> str:
        gender = "m" if match["name"].lower() in ("congreso", "aniversario", "reich", "festival", "premio") else "f"
        said = self.ordinal(roman(match["king"]), gender)
        return f"{said} {match['name']}"

    # ---- amounts ----

    def say_fraction(self, above: int, below: int) -> str:
        if below == 2:
            return "un medio" if above == 1 else f"{self.count(above)} medios"
        part = {3: "tercio", 4: "cuarto"}.get(below) or (
            self.ordinal(below) if below <= 10 else f"{self.count(below)}avo".replace("eavo", "avo")
        )
        return f"{self.count(above, 'm')} {part}{'s' * (above > 1)}"

    def say_mixed(self, whole: int, fraction: str) -> str:
        return f"{self.count(whole)} y {'medio' if fraction == 'un medio' else fraction}"


class AmericanSpanish(Spanish):
    points, groups = ".", ","
    point, first_day = "punto", "primero"
    phone = Romance.phone
    currencies = Spanish.currencies | {"MXN": "m|peso|pesos;m|centavo|centavos"}


def _half(match: Match) -> str:
    half = (match.groupdict().get("half") or "")[:1].lower()
    return {"a": "a eme", "p": "pe eme"}.get(half, "")


def make(language: str) -> Spanish:
    return Spanish() if language == "es" else AmericanSpanish()
