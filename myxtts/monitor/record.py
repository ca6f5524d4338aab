"""The monitor: what is written during a run, and the doors through which it is read.

Nothing here judges. Who asks a monitor what holds the steps up is answered by the doctor, whom this room does not know:
the question goes through `myxtts/__init__.py`.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import myxtts
from myxtts.monitor.screen import format_report
from myxtts.monitor.statistics import WINDOW_STEPS, column_ranges, columns_of, step_statistics

FEWEST_STEPS = 10  # with fewer nothing can be said about them
# 5.5 hours at 10 a second, 24 MB (120 bytes each). Sums and counts go on beyond that, percentiles are of these.
_KEPT_STEPS = 200_000
_KEPT_SAMPLES = 3_600  # an hour at one a second
_LOGGED_SAMPLES = 60  # rows of machine samples in one record, about 10 KB
_WARM_UP_STEPS = 5  # filling the prefetch buffers is no stall

Step = tuple[float, float, int]  # data_ms, compute_ms, utterances


@dataclass
class Span:
    """How often an operation ran and how long it took in all and at most."""

    count: int = 0
    total_ms: float = 0.0
    max_ms: float = 0.0

    def add(self, ms: float) -> None:
        self.count += 1
        self.total_ms += ms
        self.max_ms = max(self.max_ms, ms)

    def to_dict(self) -> dict[str, float]:
        mean = self.total_ms / max(self.count, 1)
        return {"count": self.count, "total_ms": self.total_ms, "mean_ms": mean, "max_ms": self.max_ms}


@dataclass
class Seen:
    """When something was counted first and last: seconds since the monitor began, and steps logged by then."""

    first_seconds: float
    first_step: int
    last_seconds: float
    last_step: int


@dataclass
class Monitor:
    """Safe to write to from any thread."""

    spans: dict[str, Span] = field(default_factory=dict)
    counters: Counter[str] = field(default_factory=Counter)
    met: set[str] = field(default_factory=set)  # what `first` was asked about
    late: Counter[str] = field(default_factory=Counter)  # that part of `counters` which came after the first step
    seen: dict[str, Seen] = field(default_factory=dict)
    steps: deque[Step] = field(default_factory=lambda: deque(maxlen=_KEPT_STEPS))
    machine: dict[str, Any] = field(default_factory=dict)  # what `describe_machine` found, if somebody asked it
    samples: deque[dict[str, Any]] = field(default_factory=lambda: deque(maxlen=_KEPT_SAMPLES))
    logged_steps: int = 0
    logged_samples: int = 0
    _sums: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0], repr=False)  # data_ms, compute_ms, utterances
    _first_ms: tuple[float, float] = field(default=(0.0, 0.0), repr=False)  # of the first step
    _taken_samples: int = field(default=0, repr=False)
    _began: float = field(default_factory=time.monotonic, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    # ---- writing ----------------------------------------------------------------------------------------------------

    @contextmanager
    def time_operation(self, name: str) -> Iterator[None]:
        started = time.perf_counter()
        try:
            yield
        finally:
            ms = (time.perf_counter() - started) * 1e3
            with self._lock:
                self.spans.setdefault(name, Span()).add(ms)

    def count(self, name: str, times: int = 1) -> int:
        """Returns the count so far: who gets 1 was the first, and the only one, to see this happen."""
        now = time.monotonic() - self._began
        with self._lock:
            self.counters[name] += times
            if self.logged_steps:
                self.late[name] += times
            seen = self.seen.get(name)
            if seen is None:
                seen = self.seen[name] = Seen(now, self.logged_steps, now, self.logged_steps)
            seen.last_seconds, seen.last_step = now, self.logged_steps
            return self.counters[name]

    def first(self, name: str) -> bool:
        """Whether this is heard of for the first time: what is found again is not to be counted again."""
        with self._lock:
            new = name not in self.met
            self.met.add(name)
            return new

    def log_step_timing(self, data_seconds: float, compute_seconds: float, batch: int) -> None:
        """One step, in seconds: what it waited for its batch, what it then computed; and its utterances."""
        data_ms, compute_ms = data_seconds * 1e3, compute_seconds * 1e3
        with self._lock:
            if not self.logged_steps:
                self._first_ms = data_ms, compute_ms
            self.logged_steps += 1
            self.steps.append((data_ms, compute_ms, batch))
            self._sums[0] += data_ms
            self._sums[1] += compute_ms
            self._sums[2] += batch

    def log_sample(self, sample: dict[str, Any]) -> None:
        """What the machine did in the last second or so: `at` (seconds since 1970) and numbers by name."""
        with self._lock:
            self.logged_samples += 1
            self.samples.append(sample)

    # ---- reading ----------------------------------------------------------------------------------------------------

    def stall(self) -> float:
        """data_ms / (data_ms + compute_ms) over all steps but the first, whose batch every run waits for; 0 before."""
        with self._lock:
            data, compute = self._sums[0] - self._first_ms[0], self._sums[1] - self._first_ms[1]
        return data / (data + compute) if data + compute else 0.0

    def summary(self) -> dict[str, Any]:
        """Everything, as plain JSON. `timings` is None before the first step."""
        with self._lock:
            spans = {name: span.to_dict() for name, span in self.spans.items()}
            counters, late = dict(self.counters), dict(self.late)
            seen = {name: dict(vars(each)) for name, each in self.seen.items()}
            steps, samples, count = list(self.steps), list(self.samples), self.logged_steps
            utterances = self._sums[2]
        windows = {"window": _warm(steps, count)[-WINDOW_STEPS:], "all": steps}
        machine = {"description": self.machine, "samples": len(samples), "columns": column_ranges(samples)}
        return {
            "spans": spans, "counters": counters, "late": late, "seen": seen,
            "steps": count, "utterances": utterances, "stall": self.stall(),
            "timings": {name: step_statistics(part) for name, part in windows.items()} if steps else None,
            "machine": machine,
        }  # fmt: skip

    def get_bottleneck_analysis(self) -> dict[str, Any]:
        """What held the last 1,000 steps up, and what to do about it: the doctor's answer."""
        return myxtts.ask_the_doctor(self.summary())

    def get_summary_report(self) -> str:
        """The same for a person: one screen."""
        summary = self.summary()
        return format_report(summary, myxtts.ask_the_doctor(summary))

    def take_samples(self) -> dict[str, list[float | None]]:
        """The machine samples since the last call by column, in at most 60 rows (means of neighbours)."""
        with self._lock:
            fresh = min(self.logged_samples - self._taken_samples, len(self.samples))
            samples, self._taken_samples = list(self.samples)[len(self.samples) - fresh :], self.logged_samples
        return columns_of(samples, _LOGGED_SAMPLES)

    def to_records(self) -> dict[str, dict[str, Any]]:
        """What belongs into a run's log now, by kind of line: `report`, and `machine` if there are new samples."""
        columns = self.take_samples()
        return {"report": self.summary()} | ({"machine": dict(columns)} if columns else {})


def _warm(steps: list[Step], logged_steps: int) -> list[Step]:
    """Without those of the warm-up, if there are enough others and they are still among them."""
    if logged_steps > len(steps):
        return steps
    return steps[min(_WARM_UP_STEPS, max(len(steps) - FEWEST_STEPS, 0)) :]


_current = Monitor()


def current_monitor() -> Monitor:
    """The monitor in use: the place to record."""
    return _current


@contextmanager
def monitor_aside() -> Iterator[Monitor]:
    """A monitor of its own for what is tried before a run: what that counts is not the run's."""
    global _current
    kept, _current = _current, Monitor()
    try:
        yield _current
    finally:
        _current = kept


def start_monitor() -> Monitor:
    """Begin afresh with an empty monitor and return it."""
    global _current
    _current = Monitor()
    return _current
