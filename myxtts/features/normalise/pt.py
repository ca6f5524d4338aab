"""Portuguese: of Portugal (pt) and of Brazil (pt-br)."""

from __future__ import annotations

import re

from myxtts.features.normalise.counting import ROMAN, roman
from myxtts.features.normalise.reader import DIGITS, Match, RuleParts, after, before
from myxtts.features.normalise.romance import Romance
from myxtts.features.normalise.words import pt as words

_QUEENS = ("Isabel", "Maria", "Catarina", "Vitória")
_KINGS = (
    "Pedro|João|Afonso|Henrique|Manuel|Filipe|Luís|Carlos|Sancho|João Paulo|Bento|Pio|Leão|Napoleão|Jorge|Eduardo|"
    "Guilherme|"
    "Nicolau|Alexandre|Fernando|Francisco|Paulo|Ramsés|Dinis|José|Miguel|" + "|".join(_QUEENS)
)
_PARTS = "séculos?|capítulo|volume|livro|ato|acto|cena|parte|artigo|anexo|título|fase|tipo|classe|tomo"
_FEMININE = re.compile(
    r".*(?:as?|ãs?|ção|ções|são|sões|dades?|agens?|agem)|vez(?:es)?|noites?|tardes?|partes?|chaves?|mulher(?:es)?|mãos?|flor(?:es)?|luz(?:es)?|"
    "leis?|redes?|fases?|bases?|classes?|televisões|televisão"
)
_MASCULINE = re.compile(
    "irmão|dias?|mapas?|problemas?|idiomas?|sistemas?|programas?|temas?|climas?|planetas?|poemas?|gramas?|para|a|da|na|era|cada|esquemas?"
)


class Portuguese(Romance):
    code = "pt_PT"
    halves = {"m": "meio", "f": "meia"}
    minus, point, cents_and, to, slash, hashtag = "menos", "vírgula", "e", "a", "barra", "cardinal"
    dot = "ponto"
    by, per, power = "por", "por", "elevado a"
    first_day = "um"
    months, short_months, symbols, in_address = words.MONTHS, words.SHORT_MONTHS, words.SYMBOLS, words.IN_ADDRESS
    currencies, scales, units, shortened = words.CURRENCIES, words.SCALES, words.UNITS, words.SHORTENED
    before_numbers = words.BEFORE_NUMBERS
    of_clock = r"(?: ?(?P<hours>h|hs|horas)\b)?"
    calls = "tel|telefone|telemóvel|celular|fax|ligue para|ligar para|whatsapp"

    def gender_of(self, match: Match) -> str:
        """'uma casa', 'duas casas', 'duzentas páginas'."""
        word = after(match)
        return "f" if _FEMININE.fullmatch(word) and not _MASCULINE.fullmatch(word) else ""

    # ---- dates and times ----

    def find_dates(self) -> list[RuleParts]:
        year = r"(?: (?:de )?(?P<year>\d{4})\b)?"
        named = rf"(?<![\w.,])(?P<day>\d{{1,2}})(?P<nth>\.?[ºo°])? (?:de )?(?P<month>{self.month}){year}"
        clock = r"(?<![\w:.,])(?P<hour>\d{1,2}) ?h(?:(?P<minute>\d\d)(?:min|m)?)?(?P<hours>)(?![\w/])"
        return [(DIGITS, named, self.named_date), *super().find_dates(), ("h", clock, self._horas)]

    def say_date(self, day: int, month: int, year: int | None, match: Match) -> str:
        first = "primeiro" if match.groupdict().get("nth") else self.first_day
        return self.full_date(first if day == 1 else self.count(day), month, year)

    def _horas(self, match: Match) -> str:
        hour, minute = int(match["hour"]), int(match["minute"] or 0)
        said = f"{self.count(hour, 'f')} hora{'s' * (hour != 1)}"
        return f"{said} e {self.count(minute)}" if minute else said

    def say_clock(self, hour: int, minute: int, second: int | None, match: Match) -> str:
        said = self.count(hour, "f") + (f" e {self.count(minute)}" if minute else "")
        if match["hours"] or (not minute and before(match) not in ("às", "as", "das", "pelas")):
            said += " horas" if hour != 1 else " hora"
        return said if second is None else f"{said} e {self.count(second)} segundos"

    # ---- ordinals and Roman numerals ----

    def find_own(self) -> list[RuleParts]:
        return [
            (
                DIGITS,
                r"(?<![\w.,])(?P<value>(?!0\d)\d{1,4})\.?(?:(?P<m>[º°]|os?\b)(?!C)|(?P<f>ª|as?\b))",
                self.marked_ordinal,
            ),
            ("IVXLCDM", rf"\b(?P<name>{_KINGS}) (?P<king>{ROMAN})\b(?! [A-Z]\.)", self._king),
            (
                "IVXLCDM",
                rf"\b(?P<name>(?i:{_PARTS})) (?P<king>{ROMAN})\b(?: (?P<link>e|a|ao) (?P<last>{ROMAN})\b)?",
                self._part_number,
            ),
            ("IVXLCDM", rf"(?<!\w)(?P<king>{ROMAN})(?= (?P<name>Guerra|Congresso|Edição|edição|República))", self._nth),
            (
                ":",
                r"(?<![\w.,:])(\d{1,2}):(\d)(?!\d)",
                lambda match: f"{self.count(int(match[1]))} a {self.count(int(match[2]))}",
            ),
        ]

    def _king(self, match: Match) -> str:
        value, woman = roman(match["king"]), match["name"] in _QUEENS
        return f"{match['name']} {self.ordinal(value, 'f' if woman else 'm') if value <= 10 else self.count(value)}"

    def _part_number(self, match: Match) -> str:
        said = f"{match['name']} {self.count(roman(match['king']))}"
        return f"{said} {match['link']} {self.count(roman(match['last']))}" if match["last"] else said

    def _nth(self, match: Match) -> str:
        return self.ordinal(roman(match["king"]), "m" if match["name"] == "Congresso" else "f")

    # ---- amounts ----

    def say_fraction(self, above: int, below: int) -> str:
        if below == 2:
            return "um meio" if above == 1 else f"{self.count(above)} meios"
        part = {3: "terço", 4: "quarto"}.get(below) or (
            self.ordinal(below) if below <= 10 else f"{self.count(below)} avo"
        )
        return f"{self.count(above, 'm')} {part}{'s' * (above > 1)}"

    def say_mixed(self, whole: int, fraction: str) -> str:
        return f"{self.count(whole)} e {'meio' if fraction == 'um meio' else fraction}"


class Brazilian(Portuguese):
    code = "pt"
    first_day = "primeiro"
    hashtag = "hashtag"
    signs = {"$": "USD"}

    def __init__(self) -> None:
        self.units = {symbol: name.replace("quilómet", "quilômet") for symbol, name in self.units.items()}
        self.currencies = {code: name.replace("cêntimo", "centavo") for code, name in self.currencies.items()}
        self.in_address = self.in_address | {"#": "jogo da velha", "_": "underline"}
        super().__init__()


def make(language: str) -> Portuguese:
    return Brazilian() if language == "pt-br" else Portuguese()
