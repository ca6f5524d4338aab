"""German: ordinals take the ending that the article before them asks for."""

from __future__ import annotations

import re

from myxtts.features.normalise.counting import ROMAN, Number, listed, roman, spell
from myxtts.features.normalise.language import Language
from myxtts.features.normalise.reader import DIGITS, Match, Noun, RuleParts, after, before
from myxtts.features.normalise.words import de as words

_QUEENS = "Elisabeth|Elizabeth|Katharina|Maria|Margarethe|Margrethe|Christina|Beatrix|Isabella|Johanna|Viktoria"
_KINGS = (
    "Ludwig|Friedrich|Wilhelm|Karl|Heinrich|Otto|Franz|Josef|Joseph|Leopold|Maximilian|Rudolf|Georg|Eduard|Jakob|August|"
    "Ferdinand|Philipp|Napoleon|Nikolaus|Peter|Alexander|Iwan|Gustav|Johannes Paul|Benedikt|Pius|Leo|Johannes|Paul|"
    f"Konrad|Albrecht|Christian|Charles|Henri|Juan Carlos|Ramses|{_QUEENS}"
)
_PARTS = "Kapitel|Band|Teil|Akt|Szene|Artikel|Anhang|Abschnitt|Buch|Stufe|Klasse|Weltkrieg|Phase|Typ|Vatikanum|Hartz"
_TO_N = frozenset(
    listed(
        "am vom zum zur im beim dem den des einen einem einer meinem meiner seinem seiner ihrem ihrer unserem unserer "
        "ab bis diesem diesen jedem jeden beiden keinem keiner eurem eurer deinem deiner meinen seinen ihren unseren "
        "euren deinen keinen"
    )
)
_TO_E = frozenset(
    listed(
        "der jeder dieser die das diese dieses jede jedes eine meine seine ihre unsere welche ins ans aufs fürs keine"
    )
)
_DATIVE = frozenset(
    listed("in an auf mit bei nach seit von zu aus während wegen trotz unter vor hinter neben ab zwischen über")
)
_FEMININE = re.compile(
    r".*(?:ung|heit|keit|schaft|ion|tät|enz|anz|ur|ik|in|e)|Uhr|Frau|Stadt|Nacht|Wand|Hand|Bank|Mark|Million|Milliarde|"
    "Person|Zahl|Art|Wahl|Kuh|Maus|Nuss|Mutter|Tochter|Schwester|Nummer|Feder|Oper|Liga|Bundesliga|Etappe|Straße|Tonne"
)
_NOT_FEMININE = re.compile(
    "Name|Junge|Kunde|Ende|Auge|Kollege|Käse|Löwe|Hase|Interesse|Gebäude|Gemüse|.*ein|.*stein|Termin|Benzin|.*jahre?|"
    "Jahre|Tage|Monate|Kilo.*e|Meter|Zentner|Neffe|Affe|Knabe|Experte|Zeuge|Gedanke|Bau|Abitur|Franzose|Chinese|Fabrikgelände"
)
_NEUTER = re.compile(
    "Kapitel|Jahrhundert|Jahrtausend|Jahrzehnt|Jahr|Mal|Semester|Buch|Stockwerk|Spiel|Quartal|Halbjahr|Tor|Kind|Bild|Lied|"
    "Haus|Obergeschoss|Untergeschoss|Lehrjahr|Schuljahr|Gebot|Drittel|Viertel|Viertelfinale|Finale|Treffen|Album"
)

_HALF_OF = re.compile("Jahr|Kilo|Kilogramm|Pfund|Dutzend|Prozent|Glas|Brot|Hähnchen|Jahrhundert|Gramm")


# What begins a sentence rather than goes on after an abbreviation.
_BEGINNINGS = frozenset(
    listed(
        "Der Die Das Dem Den Des Ein Eine Einer Einem Er Sie Es Wir Ich Ihr Man Und Aber Doch Dann Da Dies Diese "
        "Dieser Dieses Damit Danach Dabei Dafür Auch In Im Am An Auf Bei Beim Bis Mit Nach Nun Nur Noch Seit Vor Von "
        "Vom Zu Zum Zur Zwar Wenn Weil Wie Was Wer Wo Als Alle So Sein Seine Mein Meine Unser Unsere Jetzt Heute Hier "
        "Dort Kein Keine"
    )
)


class German(Language):
    code = "de"
    points, groups = ",.", "."
    minus, point, cents_and, to, slash, hashtag = "minus", "Komma", "und", "bis", "Schrägstrich", "Hashtag"
    dot = "Punkt"
    by, per, power = "mal", "pro", "hoch"
    months, short_months, symbols, in_address = words.MONTHS, words.SHORT_MONTHS, words.SYMBOLS, words.IN_ADDRESS
    currencies, scales, units, shortened = words.CURRENCIES, words.SCALES, words.UNITS, words.SHORTENED
    before_numbers = words.BEFORE_NUMBERS
    of_clock = r"(?: ?Uhr\b| ?h\b)"
    calls = "Tel|Telefon|Telefonnummer|Ruf|Rufnummer|Fax|Handy|Mobil|Hotline|Notruf"

    def count(self, value: int, gender: str = "") -> str:
        if value in (100, 1000):
            return "hundert" if value == 100 else "tausend"
        form = {"m": "cardinal-masculine", "n": "cardinal-masculine", "f": "cardinal-feminine"}.get(gender, "numbering")
        return spell(value, self.code, form)

    def gender_of(self, match: Match) -> str:
        """'1 Woche', '1 Kind': 'eins' is said only where nothing is counted."""
        word = after(match)
        if (
            match["number"] != "1"
            or not word[:1].isupper()
            or before(match) in listed("nummer kapitel seite band teil artikel paragraf absatz satz gleis zimmer platz")
        ):
            return ""
        return "f" if is_feminine(word) else "m"

    def stop(self, match: Match) -> str:
        """A capital says nothing here: '5 Mio. Menschen', but '5 Mio. Das ist viel.'"""
        rest = match.string[match.end() :].split()
        return "." * (match[0].endswith(".") and (not rest or rest[0] in _BEGINNINGS))

    def say_year(self, year: int) -> str:
        return spell(year, self.code, "numbering-year") if 1100 <= year < 2000 else self.count(year)

    # ---- dates and times ----

    def find_shortened(self) -> list[RuleParts]:
        """'Mo., 3. Mai'; before a number only, since 'so.' and 'Do.' are more than days."""
        days = dict(zip(listed("Mo Di Mi Do Fr Sa So"), words.DAYS, strict=True))
        weekdays = (".", r"\b(Mo|Di|Mi|Do|Fr|Sa|So)\.(?=,? (?:den )?\d)", lambda match: days[match[1]])
        both = rf"\b({'|'.join(days)})\.? ?[-—] ?({'|'.join(days)})\b(?:\.(?! ?[A-ZÄÖÜ]|$))?"
        week = ("-—", both, lambda match: f"{days[match[1]]} bis {days[match[2]]}")
        street = (".", r"(?<=[a-zäöüß])(s?)tr\. ?(?=\d|$|,)", lambda match: f"{match[1]}traße ")
        return [week, weekdays, street, *super().find_shortened()]

    def find_dates(self) -> list[RuleParts]:
        year = r"(?: (?P<year>\d{4}|\d\d(?= ))\b)?"
        pair = rf"(?<![\w.,])(?P<first>\d{{1,2}})\. ?(?P<link>bis zum|bis|und|oder|-|—) ?(?=\d{{1,2}}\. ?{self.month})"
        return [
            (
                ".",
                r"(?<![\w.,])(?P<first>\d{1,2}\.(?:\d{1,2}\.)?) ?(?P<link>bis|und|oder|-|—) ?(?=\d{1,2}\.\d{1,2}\.)",
                self._date_pair,
            ),
            (".", pair, self._date_pair),
            (".", rf"(?<![\w.,])(?P<day>\d{{1,2}})\. ?(?P<month>{self.month}){year}", self._named_date),
            *super().find_dates(),
            (".", r"(?<![\w.,])(?P<day>\d{1,2})\.(?P<month>0?[1-9]|1[0-2])\.(?!\d)", self._short_date),
            (
                "U",
                r"(?<![\w.,:])(\d{1,2}) ?[-—] ?(?=\d{1,2}(?:[.:]\d\d)? ?Uhr)",
                lambda m: f"{self.count(int(m[1]))} bis ",
            ),
            (
                "U",
                r"(?<![\w.,:])(?P<hour>\d{1,2})(?:\.(?P<minute>\d\d))? ?Uhr(?: (?P<more>\d\d?)(?!\d|\w))?",
                self._uhr,
            ),
            (DIGITS, r"(?<![\w.,])(\d{4}|\d\d)er(?=\b|-)", self._decade),
        ]

    def _date_pair(self, match: Match) -> str:
        day = int(match["first"].partition(".")[0])
        link = {"-": "bis", "—": "bis"}.get(match["link"], match["link"])
        rest = match["first"].rstrip(".").partition(".")[2]
        month = f" {self.months[int(rest) - 1]}" if rest and 1 <= int(rest) <= 12 else ""
        if not 1 <= day <= 31:
            return match[0]
        return f"{self._ordinal_after(day, before(match), 'r', '')}{month} {link} "

    def _named_date(self, match: Match) -> str:
        return self.say_date(int(match["day"]), self.month_number(match["month"]), _int(match["year"]), match)

    def _short_date(self, match: Match) -> str:
        if not 1 <= int(match["day"]) <= 31:
            return match[0]
        rest = match.string[match.end() :].lstrip()
        end = "." if not rest else ""
        return self.say_date(int(match["day"]), int(match["month"]), None, match) + end

    def say_date(self, day: int, month: int, year: int | None, match: Match) -> str:
        said = f"{self._ordinal_after(day, before(match), 'r', '')} {self.months[month - 1]}"
        return f"{said} {self.say_year(year)}" if year else said

    def _uhr(self, match: Match) -> str:
        minute = match["minute"] or match["more"]
        return self.say_clock(int(match["hour"]), int(minute or 0), None, match)

    def say_clock(self, hour: int, minute: int, second: int | None, match: Match) -> str:
        said = f"{self.count(hour, 'm')} Uhr"
        if minute or second is not None:
            said += f" {self.count(minute)}"
        return said if second is None else f"{said} und {self.count(second, 'f')} Sekunde{'n' * (second != 1)}"

    def _decade(self, match: Match) -> str:
        return f"{self.say_year(int(match[1]))}er"

    # ---- ordinals and Roman numerals ----

    def find_own(self) -> list[RuleParts]:
        return [
            (".", r"(?<![\w.,])(\d{1,4})\. ?(?=(?:bis|und|oder|/|-) ?\d{1,4}\. [^\W\d_])", self._ordinal),
            (".", r"(?<![\w.,:])(\d{1,3})\. (?=[^\W\d_])", self._ordinal),
            ("IVXLCDM", rf"\b(?P<name>(?:{_KINGS})s?) (?P<king>{ROMAN})\b\.?", self._king),
            ("IVXLCDM", rf"\b(?P<name>{_PARTS}) (?P<part>{ROMAN})\b", self._part_number),
            ("IVXLCDM", rf"(?<![\w.])({ROMAN})\. (?=[A-ZÄÖÜ][a-zäöü])", self._roman_ordinal),
            (":", r"(?<![\w.,:])(\d{1,3}):(\d{1,3}(?:\.\d{3})*)(?![\w:]|[.,]\d)", self._score),
            ("/", r"(?<![\w/.,])24/7(?![\w/])", lambda match: "vierundzwanzig sieben"),
            ("m", r"(?<![\w.,])(\d+) ?[-—] ?(?=\d+ ?-?mal\b)", lambda match: f"{self.cardinal(match[1])} bis "),
            ("%", r"(?<![\w.,])(\d+) ?%ig", lambda match: f"{self.cardinal(match[1])}prozentig"),
            (
                DIGITS,
                r"(?<![\w.,])(\d+) ?(?:-?mal|x)\b(?! ?\d)",
                lambda match: f"{self.cardinal(match[1], 'm')}mal",
            ),
            ("-", r"(?<![\w.,-])(\d+)-(?=[a-zäöü])", lambda match: self.cardinal(match[1], "m")),
            ("½/", r"(?<![\w½/])(?:½|1/2) (?=[A-ZÄÖÜ])", self._half),
            (",.", rf"(?P<number>{self.number})[.,][-—]{{1,2}}(?!\d)", lambda match: match["number"]),
        ]

    def _ordinal(self, match: Match) -> str:
        word, ahead = after(match), before(match)
        known = ahead in _TO_N or ahead in _TO_E or is_neuter(word) or is_feminine(word)
        if word in ("bis", "und", "oder"):
            return f"{self._ordinal_after(int(match[1]), ahead, 'r', match.string[: match.start()])} "
        if (
            word[:1].islower()
            or match[1] == "1"
            or (len(match[1]) <= 2 and (known or not ahead))
            or ahead in _TO_N | _TO_E
        ):
            ending = "s" if is_neuter(word) else "e" if is_feminine(word) else "r"
            return f"{self._ordinal_after(int(match[1]), ahead, ending, match.string[: match.start()])} "
        return match[0]

    def _ordinal_after(self, value: int, word: str, ending: str, lead: str) -> str:
        """The ordinal as the word before it wants it; `ending` where nothing does."""
        if word in _TO_N or (word in ("der", "jeder", "dieser") and _follows_preposition(lead)):
            ending = "n"
        elif word in _TO_E:
            ending = "e"
        return spell(value, self.code, "ordinal" if ending == "e" else f"ordinal-{ending}")

    def _king(self, match: Match) -> str:
        value, lead, name = roman(match["king"]), before(match), match["name"]
        woman = name in _QUEENS.split("|")
        if name.endswith("s") and name.rstrip("s") in _KINGS.split("|") and name not in _KINGS.split("|"):
            article, ending = ("der" if woman else "des"), "n"
        elif lead in _DATIVE:
            article, ending = ("der" if woman else "dem"), "n"
        elif lead in ("für", "durch", "gegen", "um", "ohne", "über"):
            article, ending = ("die" if woman else "den"), "e" if woman else "n"
        else:
            article, ending = ("die" if woman else "der"), "e"
        nth = spell(value, self.code, "ordinal" if ending == "e" else "ordinal-n")
        rest = match.string[match.end() :].strip()
        end = "." if not rest and match[0].endswith(".") else ""
        return f"{name} {article} {nth.capitalize()}{end}"

    def _half(self, match: Match) -> str:
        word = after(match)
        return "eine halbe " if is_feminine(word) else "ein halbes " if _HALF_OF.fullmatch(word) else "ein halber "

    def _part_number(self, match: Match) -> str:
        return f"{match['name']} {self.count(roman(match['part']))}"

    def _roman_ordinal(self, match: Match) -> str:
        word = after(match)
        ending = "s" if is_neuter(word) else "e" if is_feminine(word) else "r"
        return f"{self._ordinal_after(roman(match[1]), before(match), ending, match.string[: match.start()])} "

    def _score(self, match: Match) -> str:
        return f"{self.count(int(match[1]))} zu {self.count(int(match[2].replace('.', '')))}"

    def find_late(self) -> list[RuleParts]:
        return [(DIGITS, r"(?<![\w.,])(1[1-9]\d\d)(?![\w]|[.,]\d)", self._year)]

    def _year(self, match: Match) -> str:
        counted = after(match)[:1].isupper() and before(match) not in listed("jahr jahre jahren im seit von bis um und")
        return match[0] if counted else self.say_year(int(match[1]))

    # ---- amounts ----

    def say_money(self, number: Number, major: Noun, minor: Noun) -> str:
        """'fünf Euro fünfzig'"""
        said = super().say_money(number, major, minor)
        if number.value and int(number.decimals):
            return f"{self.say_count(number._replace(decimals=''), major)} {self.count(int(number.decimals))}"
        return said

    def say_first(self, number: Number, match: Match) -> str:
        years = len(match["number"]) == 4 and len(match["end"]) in (2, 4) and not number.decimals
        return self.say_year(number.value) if years and 1100 <= number.value < 2000 else self.say(number)

    def say_fraction(self, above: int, below: int) -> str:
        if below == 2:
            return "ein halb" if above == 1 else f"{self.count(above)} halbe"
        part = spell(below, self.code, "ordinal").removesuffix("te").removesuffix("s") + (
            "tel" if below < 20 else "stel"
        )
        return f"{self.count(above, 'n')} {part.replace('drit', 'Drit').capitalize()}"

    def say_part_of(self, above: int, below: int, unit: Noun) -> str:
        if (above, below) != (1, 2):
            return super().say_part_of(above, below, unit)
        return f"{ {'f': 'eine halbe', 'n': 'ein halbes'}.get(unit.gender, 'ein halber') } {unit.forms[0]}"

    def say_mixed(self, whole: int, fraction: str) -> str:
        return f"{self.count(whole, 'n')}ein{'halb'}" if fraction == "ein halb" else f"{self.count(whole)} {fraction}"


def is_feminine(word: str) -> bool:
    return _FEMININE.fullmatch(word) is not None and _NOT_FEMININE.fullmatch(word) is None


def is_neuter(word: str) -> bool:
    return _NEUTER.fullmatch(word) is not None


def _follows_preposition(lead: str) -> bool:
    """'in der', 'mit der' before what was found."""
    words = lead.lower().split()
    return len(words) > 1 and words[-2] in _DATIVE


def _int(digits: str | None) -> int | None:
    return int(digits) if digits else None


def make(language: str) -> German:
    return German()
