"""Records what happens and how long it takes: spans, counters, step timings. It decides nothing and costs microseconds.

Any room may write to a `Monitor`; the doctor, the reports and the tests read from it. One is current at a time.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

# A day of steps at 10 a second; beyond that the oldest go. 900,000 x 24 bytes stay below 30 MB.
_KEPT_STEPS = 900_000


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


@dataclass
class Monitor:
    """Safe to write to from any thread."""

    spans: dict[str, Span] = field(default_factory=dict)
    counters: Counter[str] = field(default_factory=Counter)
    steps: deque[tuple[float, float, int]] = field(default_factory=lambda: deque(maxlen=_KEPT_STEPS))
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

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
        with self._lock:
            self.counters[name] += times
            return self.counters[name]

    def log_step_timing(self, data_ms: float, compute_ms: float, batch: int) -> None:
        """What one step waited for its batch, what it then computed, and how many utterances it had."""
        with self._lock:
            self.steps.append((data_ms, compute_ms, batch))

    def stall(self) -> float:
        """data_ms / (data_ms + compute_ms) over all recorded steps; 0 before the first."""
        with self._lock:
            data = sum(step[0] for step in self.steps)
            total = data + sum(step[1] for step in self.steps)
        return data / total if total else 0.0

    def summary(self) -> dict[str, Any]:
        with self._lock:
            spans = {
                name: {"count": s.count, "total_ms": s.total_ms, "max_ms": s.max_ms} for name, s in self.spans.items()
            }
            counters, steps = dict(self.counters), len(self.steps)
        return {"spans": spans, "counters": counters, "steps": steps, "stall": self.stall()}


_current = Monitor()


def current_monitor() -> Monitor:
    """The monitor in use: the place to record."""
    return _current


def start_monitor() -> Monitor:
    """Begin afresh with an empty monitor and return it."""
    global _current
    _current = Monitor()
    return _current
