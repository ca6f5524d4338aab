"""The two things a row of a corpus can become."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from myxtts.errors import RowError


@dataclass(frozen=True, slots=True)
class Utterance:
    """One recording and what is said in it. `row` is the line in the metadata file, counted from 1."""

    row: int
    id: str
    audio: Path
    text: str
    speaker: str
    language: str


@dataclass(frozen=True, slots=True)
class Rejected:
    """One row that cannot be used. `reason` is a word of `reasons.REASONS`, `message` says it to a person."""

    row: int
    id: str
    reason: str
    message: str

    @classmethod
    def because(cls, utterance: Utterance, error: RowError) -> Rejected:
        return cls(utterance.row, utterance.id, error.reason, error.message)

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


Row = Utterance | Rejected


def first_fault(utterance: Utterance, *made: object) -> Rejected | None:
    """The rejection of a row of whose parts (its symbols, then its clip) one could not be made."""
    fault = next((part for part in made if isinstance(part, RowError)), None)
    return None if fault is None else Rejected.because(utterance, fault)
