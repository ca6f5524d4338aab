"""What a check found: the problems by their reasons, and what the corpus is like."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from myxtts.corpus.reasons import REASONS
from myxtts.corpus.utterance import Rejected, Utterance

EXAMPLES = 3


@dataclass(frozen=True, slots=True)
class Sound:
    """What was heard in one clip, as it would be packed: without the silence around it."""

    seconds: float
    level_db: float  # mean power below full scale
    peak_db: float
    clipped_share: float  # samples at full scale that follow one at full scale
    digest: int  # the same for the same sound


@dataclass
class Report:
    """Filled row by row; every list has one entry for each usable utterance."""

    rows: int = 0
    problems: list[Rejected] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    characters: list[int] = field(default_factory=list)
    levels_db: list[float] = field(default_factory=list)
    unusual: dict[int, str] = field(default_factory=dict)  # place in these lists -> id, of speech too fast or slow
    speakers: Counter[str] = field(default_factory=Counter)  # seconds of each
    languages: Counter[str] = field(default_factory=Counter)

    def add(self, problem: Rejected) -> None:
        self.problems.append(problem)

    def take(self, row: Utterance, sound: Sound, characters: int) -> None:
        self.seconds.append(sound.seconds)
        self.characters.append(characters)
        self.levels_db.append(sound.level_db)
        self.speakers[row.speaker] += sound.seconds  # type: ignore[assignment]  # a Counter counts seconds as well
        self.languages[row.language] += sound.seconds  # type: ignore[assignment]

    @property
    def errors(self) -> int:
        return self.rows - len(self.seconds)

    def counts(self, errors: bool) -> dict[str, int]:
        """How often each reason was found, the most frequent first."""
        counts = Counter(problem.reason for problem in self.problems if REASONS[problem.reason].is_error == errors)
        return dict(counts.most_common())

    def examples(self, reason: str) -> list[Rejected]:
        return [problem for problem in self.problems if problem.reason == reason][:EXAMPLES]

    def to_dict(self) -> dict[str, Any]:
        rates = [characters / seconds for characters, seconds in zip(self.characters, self.seconds, strict=True)]
        reasons = {**self.counts(errors=True), **self.counts(errors=False)}
        return {
            "rows": self.rows,
            "utterances": len(self.seconds),
            "seconds": round(sum(self.seconds), 3),
            "errors": self.counts(errors=True),
            "warnings": self.counts(errors=False),
            "utterance_seconds": spread(self.seconds),
            "level_db": spread(self.levels_db),
            "characters_per_second": spread(rates),
            "speakers": {name: round(seconds, 3) for name, seconds in self.speakers.most_common()},
            "languages": {name: round(seconds, 3) for name, seconds in self.languages.most_common()},
            "cures": {reason: REASONS[reason].cure for reason in reasons},
            "examples": {reason: [problem.to_dict() for problem in self.examples(reason)] for reason in reasons},
        }

    def list_problems(self) -> bytes:
        """Every problem as one JSON line, in the order of the rows."""
        lines = []
        for problem in sorted(self.problems, key=lambda problem: problem.row):
            kind = "error" if REASONS[problem.reason].is_error else "warning"
            lines.append(json.dumps({**problem.to_dict(), "kind": kind}, ensure_ascii=False) + "\n")
        # Names of files need not be UTF-8; what is not becomes an escape, which is JSON too.
        return "".join(lines).encode(errors="backslashreplace")


def spread(values: list[float]) -> dict[str, float] | None:
    """Least, median, most and the two percentiles between which nearly all lie; None of nothing."""
    if not values:
        return None
    percentiles = np.percentile(values, (0, 1, 50, 99, 100))
    return {
        name: round(float(at), 3) for name, at in zip(("min", "p1", "median", "p99", "max"), percentiles, strict=True)
    }
