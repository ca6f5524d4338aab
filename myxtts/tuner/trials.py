"""What a search over settings measured, as a table: each combination, how fast it was, and why it was kept or not."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median
from typing import Any, NamedTuple

TURNS = 2  # measurements of each, alternating, when two settings are compared

Knobs = dict[str, Any]


class Trial(NamedTuple):
    """What one measurement says. `wait_share`: of the loop's time, how much it waited for data."""

    rate: float
    wait_share: float | None = None
    memory_bytes: int | None = None


class TooLarge(Exception):
    """Raised by a measurement: these settings do not fit into memory."""


@dataclass
class Row:
    """One combination of settings: all its measurements, and its fate."""

    settings: Knobs
    why: str = ""
    rates: list[float] = field(default_factory=list)
    wait_share: float | None = None
    memory_bytes: int | None = None
    seconds: list[float] = field(default_factory=list)  # what each measurement took, with everything
    note: str = ""  # comes before the reason
    too_large: bool = False
    beaten: bool = False  # by what was given

    @property
    def rate(self) -> float:
        return median(self.rates) if self.rates else 0.0

    @property
    def newest(self) -> float:
        """Of the turns it has just taken, the better one: somebody else's load only ever slows."""
        return max(self.rates[-TURNS:], default=0.0)

    def to_dict(self) -> dict[str, Any]:
        return {
            "settings": self.settings,
            "utterances_per_second": round(self.rate, 3) if self.rates else None,
            "measurements": len(self.rates),
            "wait_share": None if self.wait_share is None else round(self.wait_share, 4),
            "memory_bytes": self.memory_bytes,
            "why": self.why,
        }


@dataclass
class Search:
    """The outcome: `settings`, and the table behind them."""

    given: Row
    best: Row
    rows: list[Row]
    notes: list[str]
    seconds: float

    @property
    def settings(self) -> Knobs:
        return self.best.settings

    @property
    def gain(self) -> float:
        """How many times as fast as what was given, by the turns that both took last."""
        return self.best.newest / self.given.newest if self.given.newest and self.best is not self.given else 1.0

    @property
    def changed(self) -> dict[str, tuple[Any, Any]]:
        pairs = {name: (self.given.settings[name], value) for name, value in self.settings.items()}
        return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}

    def to_dict(self) -> dict[str, Any]:
        return {
            "changed": {name: list(pair) for name, pair in self.changed.items()},
            "gain": round(self.gain, 4),
            "given_utterances_per_second": round(self.given.rate, 3),
            "utterances_per_second": round(self.best.rate, 3),
            "seconds": round(self.seconds, 2),
            "table": [row.to_dict() | {"best": row is self.best} for row in self.rows],
            "notes": self.notes,
        }

    def __str__(self) -> str:
        return as_table(self)


def as_table(result: Search) -> str:
    """What a person reads; the row that was chosen has a star."""
    names = list(result.given.settings)
    widths = [max(len(name), *(len(str(row.settings[name])) for row in result.rows)) + 2 for name in names]
    heads = "".join(f"{name:>{width}}" for name, width in zip(names, widths, strict=True))
    lines = [f"  {heads}{'utt/s':>10}{'waits':>8}{'MB':>8}  "]
    for row in result.rows:
        values = "".join(f"{row.settings[name]!s:>{width}}" for name, width in zip(names, widths, strict=True))
        rate = f"{row.rate:,.1f}" if row.rates else "-"
        waits = "-" if row.wait_share is None else f"{row.wait_share:.1%}"
        memory = "-" if row.memory_bytes is None else f"{row.memory_bytes / 1e6:,.0f}"
        lines.append(f"{'*' if row is result.best else ' '} {values}{rate:>10}{waits:>8}{memory:>8}  {row.why}")
    return "\n".join(lines + result.notes)
