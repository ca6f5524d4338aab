"""All that a language can write: the order of the rules."""

from __future__ import annotations

from myxtts.features.normalise.addresses import Addresses
from myxtts.features.normalise.amounts import Amounts
from myxtts.features.normalise.dates import Dates
from myxtts.features.normalise.reader import RuleParts, needing_digits


class Language(Addresses, Dates, Amounts):
    """Addresses first, whose dots and figures are nothing else; plain numbers and lone symbols last."""

    def find_special(self) -> list[RuleParts]:
        return [
            *needing_digits([*self.find_dates(), *self.find_phones(), *self.find_own()]),
            *self.find_amounts(),
            *self.find_late(),
        ]

    def find(self) -> list[RuleParts]:
        return [*self.find_addresses(), *super().find(), *self.find_last()]

    def find_own(self) -> list[RuleParts]:
        """Ordinals, Roman numerals: what this language alone writes so."""
        return []

    def find_last(self) -> list[RuleParts]:
        """What is put right when all is in words."""
        return []

    def find_late(self) -> list[RuleParts]:
        """What is looked for among the numbers that money and measures have left: years."""
        return []
