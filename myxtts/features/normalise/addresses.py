"""E-mail addresses, web addresses, names and tags of networks, telephone numbers."""

from __future__ import annotations

import re

from myxtts.features.normalise.counting import listed
from myxtts.features.normalise.reader import DIGITS, Match, Reader, RuleParts

_ENDINGS = (
    "com|org|net|edu|gov|info|io|ai|app|dev|co|uk|us|eu|ir|de|at|ch|fr|be|es|mx|ar|it|pt|br|ru|su|ua|cn|tw|hk|jp|kr|"
    "in|nl|se|no|dk|fi|pl|cz|tr|sa|ae|eg|ma|tv|me|xyz|рф"
)
_SPELLED = frozenset(listed("www http https ftp html htm php pdf jpg png xml css js api id www2 tv uk us eu"))
_SHORTEST_PHONE = 6
_PART = re.compile(r"([^\W\d_]+|\d+|.)")


class Addresses(Reader):
    """What stands between the words of an address has a name in every language."""

    in_address: dict[str, str] = {}  # '.', '@', '/', '-', '_', ':', ... and endings such as 'com' -> what is said
    hashtag = ""
    calls = ""  # a pattern for words after which every number is one to call

    def find_addresses(self) -> list[RuleParts]:
        domain = rf"(?<![\w.@/])(?:[a-zA-Z0-9-]+\.)+(?:{_ENDINGS})(?![\w.@]*\w)(?:/[\w./?=&#%+~-]*[\w/])?"
        return [
            ("@", r"(?<![\w.+%-])(?:mailto:)?[\w.+%-]+@[\w-]+(?:\.[\w-]+)+", self._address),
            (":", r"https?://[^\s<>\"'«»，。]*[\w/]", self._address),
            (".", r"(?<![\w.@])www\.[^\s<>\"'«»，。]*[\w/]", self._address),
            (".", domain, self._domain),
            ("@", r"(?<![\w@])@(?=[^\W\d_])([\w.]*\w)", self._address),
            ("#", r"(?<!\w)#(_*[^\W\d_]\w*)", lambda match: f"{self.hashtag} {match[1].replace('_', ' ')}"),
        ]

    def find_phones(self) -> list[RuleParts]:
        rules: list[RuleParts] = [(DIGITS, self.phone, self._phone)]
        if self.calls:
            called = rf"\b((?i:{self.calls})\.?:? ?)(\+?\(?\d(?:[ ()./-]{{0,2}}\d){{2,}})(?![\w-]| ?%|[.,]\d)"
            rules.insert(0, (DIGITS, called, lambda match: f"{match[1]}{self.say_phone_number(match[2])}"))
        chain = r"(?<![\w.,/+-])\d{1,6}(?:-\d{1,6}){2,}(?![\w/-]|[.,]\d)"  # of an account, a card, a book
        return [*rules, ("-", chain, lambda match: self.say_phone_number(match[0]))]

    def _domain(self, match: Match) -> str:
        """Not a sentence end without a space after it: 'gone.In'."""
        return self._address(match) if match[0] == match[0].lower() or "/" in match[0] else match[0]

    def _address(self, match: Match) -> str:
        written = re.sub(r"^(https?)://", r"\1 ", match[0])
        return " ".join(filter(None, map(self._part, _PART.findall(written))))

    def _part(self, part: str) -> str:
        if part in self.in_address:
            return self.in_address[part]
        if part.isdecimal():
            return self.say_digits_in_address(part)
        if part.lower() in _SPELLED:
            return " ".join(part)
        return part.strip()

    def say_digits_in_address(self, digits: str) -> str:
        return self.cardinal(digits) if len(digits) <= 4 else self.digits(digits)

    # ---- telephone numbers ----

    phone = (  # +49 30 1234567, (555) 123-4567, 555-123-4567, 0912 345 6789
        r"(?<![\w.,/+-])(?<!\d )(?:\+(?!\S+/\S+/)\d{1,3}(?:[ ./-]?\(?\d{1,5}\)?){2,6}"
        r"|\(0?\d{2,4}\) ?\d{2,4}(?:[ -]\d{2,4}){1,3}"
        r"|(?:1-)?\d{3}-\d{3}-\d{4}|\d{3}-\d{4}"
        r"|0\d{1,4}[ /-]\d{2,8}(?:[ -]\d{2,8}){0,4}|0\d{9,10})(?![\w/-]|[.,]\d)"
    )

    def _phone(self, match: Match) -> str:
        """'+4 3/4' and '01-23' are none, nor is '+31403/05/12': at most one slash sets off an area code."""
        digits = sum(map(str.isdigit, match[0]))
        return self.say_phone_number(match[0]) if digits >= _SHORTEST_PHONE else match[0]

    def say_phone_number(self, written: str) -> str:
        plus = f"{self.symbols['+']} " if written[0] == "+" else ""
        return plus + self.say_phone(re.findall(r"\d+", written))

    def say_phone(self, groups: list[str]) -> str:
        return ", ".join(map(self.digits, groups))
