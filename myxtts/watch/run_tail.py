"""The end of a run's log, read while the run is active: what its steps have waited and computed since the last look."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from myxtts.doctor.ranks import Ranks, ranks_of
from myxtts.errors import DiagnosisError
from myxtts.training.log_line import parse_line
from myxtts.training.run_log import LOG, timed

_TAIL_BYTES = 1 << 16  # of a log that is there already: about the last 200 steps
_MOST_BYTES = 1 << 22  # at one look; a log that grew by more while nobody looked is joined again at its end

COLUMNS = ("step", "data_ms", "compute_ms", "stall_percent", "utterances_per_s")


class RunTail:
    """`fresh()` again and again gives the means over the steps that were logged in between."""

    def __init__(self, run: Path | str):
        self.path = Path(run) / LOG
        if not self.path.is_file():
            raise DiagnosisError(
                f"{run} has no {LOG}: found no run there, expected a directory that 'myxtts train' made"
            )
        self.ranks: Ranks | None = None  # of those steps, where several devices train
        self.last: dict[str, Any] = {}  # what the last steps were, for as long as no others come
        self._last_time = 0.0
        self._at = self._size()
        self._join(self._at - _TAIL_BYTES)
        self.fresh()  # for the eye, in `last`; what was before the watch began is not a part of it

    @property
    def age_seconds(self) -> float | None:
        """Since its last step; None before the first."""
        return max(time.time() - self._last_time, 0.0) if self._last_time else None

    def fresh(self) -> dict[str, Any]:
        """Of the steps since the last call by `COLUMNS`; empty if there were none."""
        steps = [record for record in timed(self._records()) if record["kind"] == "step"]
        data, compute, rows = (_sum(steps, name) for name in ("data_ms", "compute_ms", "batch"))
        if not steps or not data + compute:
            return {}
        self._last_time = float(steps[-1]["time"])
        figures = (steps[-1]["step"], data / len(steps), compute / len(steps), 100 * data / (data + compute),
                   rows / (data + compute) * 1e3)  # fmt: skip
        self.ranks = ranks_of(steps)
        self.last = {name: round(value, 3) for name, value in zip(COLUMNS, figures, strict=True)}
        return dict(self.last)

    def _records(self) -> list[dict[str, Any]]:
        """Whole lines only: the last one may be in the middle of being written, and is read the next time."""
        if self._size() < self._at:  # a killed run's torn line was cut off by its successor
            self._join(self._size())
        if self._size() - self._at > _MOST_BYTES:
            self._join(self._size() - _TAIL_BYTES)
        with open(self.path, "rb") as file:
            file.seek(self._at)
            text = file.read(_MOST_BYTES)
        whole = text[: text.rfind(b"\n") + 1]
        self._at += len(whole)
        return [record for line in whole.splitlines() if (record := parse_line(line)) is not None]

    def _join(self, at: int) -> None:
        """Begin at the first whole line from there."""
        self._at = max(at, 0)
        with open(self.path, "rb") as file:
            if self._at:
                file.seek(self._at - 1)
                file.readline()
                self._at = file.tell()

    def _size(self) -> int:
        return self.path.stat().st_size


def _sum(steps: list[dict[str, Any]], name: str) -> float:
    return sum(float(step[name]) for step in steps if isinstance(step.get(name), int | float))
