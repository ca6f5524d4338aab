"""Watches the machine, and a run if one is given, until it is asked to stop: rows to a file, a view for the eye, and a
summary of every quantity at the end.

    summary = watch(rows=60, log_file=Path("night.csv"), run=Path("runs/anna"))

A row is flat: `time`, `cpu_percent`, `core0_percent`, `available_bytes`, `disk_read_bytes_per_s`, `gpu0.power_watts`,
and of a run `step`, `data_ms`, `compute_ms`, `stall_percent`, `utterances_per_s` (means over the steps since the last
row; left out where there were none).
"""

from __future__ import annotations

import csv
import json
import queue
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from myxtts.errors import DiagnosisError
from myxtts.machine.sampler import MachineSampler
from myxtts.monitor import Monitor
from myxtts.training.signals import StopSignals
from myxtts.watch import run_tail
from myxtts.watch.run_tail import RunTail

_LOOK_SECONDS = 0.2  # how long a signal may wait to be noticed
_SILENCE_SECONDS = 30.0  # without a reading: then the machine is not sampled any more
_KEPT_VALUES = 20_000  # of a quantity, for its p95: 5.5 hours at one a second
# Of the sampler's readings, those that are about the watcher itself
_OWN = ("own_", "major_faults", "minor_faults", "voluntary_switches", "involuntary_switches", "busiest_core")
_NOT_SUMMED = ("time", "step")

Row = dict[str, float]
Show = Callable[[Row, "Watch"], None]


@dataclass
class Watch:
    """What is known while it is watched."""

    machine: dict[str, Any] = field(default_factory=dict)
    tail: RunTail | None = None
    log_file: Path | None = None
    rows: int = 0
    wanted_rows: int | None = None
    stopped_by: str | None = None  # a signal; None if it ended by itself
    quantities: dict[str, Quantity] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        return {
            "rows": self.rows,
            "stopped_by": self.stopped_by,
            "log_file": None if self.log_file is None else str(self.log_file),
            "run": None if self.tail is None else str(self.tail.path.parent),
            "last_step": None if self.tail is None else self.tail.last.get("step"),
            "machine": self.machine,
            "summary": {name: quantity.to_dict() for name, quantity in self.quantities.items()},
        }


class Quantity:
    """Min, mean and max of all its values; p95 of the last 20,000."""

    def __init__(self) -> None:
        self._count, self._sum, self._min, self._max = 0, 0.0, float("inf"), float("-inf")
        self._recent: deque[float] = deque(maxlen=_KEPT_VALUES)

    def add(self, value: float) -> None:
        self._count, self._sum = self._count + 1, self._sum + value
        self._min, self._max = min(self._min, value), max(self._max, value)
        self._recent.append(value)

    def to_dict(self) -> dict[str, float]:
        p95 = float(np.percentile(np.asarray(self._recent), 95))
        return {"min": self._min, "mean": self._sum / self._count, "max": self._max, "p95": p95}


@dataclass
class _Inbox(Monitor):
    """A monitor that hands samples on instead of keeping them."""

    fresh: queue.SimpleQueue[dict[str, Any]] = field(default_factory=queue.SimpleQueue)

    def log_sample(self, sample: dict[str, Any]) -> None:
        self.fresh.put(sample)


def watch(
    rows: int | None = None,
    interval_seconds: float = 1.0,
    log_file: Path | None = None,
    run: Path | None = None,
    show: Show = lambda row, watch: None,
    nvml: Any = None,
) -> Watch:
    """Until there are that many rows, or a signal (SIGINT, SIGTERM) asks to stop. `nvml` stands in for pynvml."""
    seen = Watch(tail=None if run is None else RunTail(run), log_file=log_file, wanted_rows=rows)
    inbox = _Inbox()
    log = None if log_file is None else RowLog(log_file)
    try:
        with StopSignals() as stop, MachineSampler(inbox, interval_seconds, nvml):
            for sample in _samples(inbox, stop, interval_seconds):
                seen.machine = inbox.machine
                _take(flat(sample) | (seen.tail.fresh() if seen.tail else {}), seen, log, show)
                if seen.rows == rows:
                    break
            seen.stopped_by = stop.name or None
    finally:
        if log is not None:
            log.close()
    return seen


def _take(row: Row, seen: Watch, log: RowLog | None, show: Show) -> None:
    seen.rows += 1
    for name, value in row.items():
        if name not in _NOT_SUMMED:
            seen.quantities.setdefault(name, Quantity()).add(value)
    if log is not None:
        log.write(row, run_tail.COLUMNS if seen.tail else ())
    show(row, seen)


def _samples(inbox: _Inbox, stop: StopSignals, interval_seconds: float) -> Iterator[dict[str, Any]]:
    patience = interval_seconds + _SILENCE_SECONDS
    last = time.monotonic()
    while not stop.name:
        try:
            sample = inbox.fresh.get(timeout=_LOOK_SECONDS)
        except queue.Empty:
            if time.monotonic() - last > patience:
                raise DiagnosisError(
                    f"no reading of the machine for {patience:.0f} s, expected one every {interval_seconds:g} s: "
                    "the reason is logged above, or a driver hangs (try nvidia-smi)"
                ) from None
            continue
        last = time.monotonic()
        yield sample


def flat(sample: Mapping[str, Any]) -> Row:
    """A sample of the machine as a row: one number per name, and nothing about the watcher itself."""
    row: Row = {"time": float(sample["at"])}
    for name, value in sample.items():
        if name == "core_percent":
            row |= {f"core{n}_percent": float(percent) for n, percent in enumerate(value)}
        elif name != "at" and not name.startswith(_OWN):
            row[name] = round(float(value), 3)
    return row


class RowLog:
    """Rows as CSV or, by the file's ending, as JSON lines; each is in the kernel's hands when `write` returns.

    A file that is there is continued, if it has the same columns.
    """

    def __init__(self, path: Path):
        if path.suffix not in (".csv", ".jsonl"):
            raise DiagnosisError(f"{path}: found the ending {path.suffix or 'none'}, expected .csv or .jsonl")
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._file = open(path, "a", newline="", encoding="utf-8")  # noqa: SIM115
        self._writer: csv.DictWriter[str] | None = None

    def write(self, row: Row, more_columns: Sequence[str] = ()) -> None:
        """`more_columns` are those that a later row may have and the first may lack: a CSV's header is written once."""
        if self.path.suffix == ".jsonl":
            self._file.write(json.dumps(row) + "\n")
        else:
            self._writer = self._writer or self._begin(columns_for(row, more_columns))
            self._writer.writerow(row)
        self._file.flush()

    def _begin(self, columns: list[str]) -> csv.DictWriter[str]:
        writer = csv.DictWriter(self._file, columns, restval="", extrasaction="ignore")
        if not self.path.stat().st_size:
            writer.writeheader()
            return writer
        with open(self.path, newline="", encoding="utf-8") as file:
            present = next(csv.reader(file), [])
        if present != columns:
            raise DiagnosisError(
                f"{self.path} exists and has other columns ({', '.join(present[:6])}, ...): name a new file"
            )
        return writer

    def close(self) -> None:
        self._file.close()


def columns_for(row: Row, more: Sequence[str]) -> list[str]:
    """Those of the first row, and those that come later: SM activity is between two readings, a run's by its steps."""
    gpus = dict.fromkeys(name.partition(".")[0] for name in row if "." in name)
    own = [name for name in row if name not in more]
    return list(dict.fromkeys([*own, *(f"{gpu}.sm_activity_percent" for gpu in gpus), *more]))
