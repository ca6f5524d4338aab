"""An emulated accelerator, for machines without one: a consumer that holds each batch for a nominal step time.

After MLPerf Storage: accelerator utilisation AU = sum of nominal step times / wall time, warm-up excluded. It is never
called GPU utilisation. Two controls say how far it can be trusted: a resident batch shows what the emulation itself can
reach (sleeping overshoots), and a loader throttled to d ms must show c / d.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

WARM_UP_STEPS = 5


@dataclass(frozen=True)
class Emulation:
    """What happened while an emulated accelerator of `step_ms` was fed."""

    step_ms: float
    au: float
    interval_ms: NDArray[np.float64]  # [steps] from one batch's arrival to the next one's

    @property
    def jitter(self) -> float:
        """std / mean of the step time: below 0.2 stable, above 0.5 oscillating."""
        return float(self.interval_ms.std() / self.interval_ms.mean())

    @property
    def tail(self) -> float:
        """p99 / median of the step time."""
        return float(np.percentile(self.interval_ms, 99) / np.median(self.interval_ms))


def emulate(batches: Iterator[Any], step_ms: float, steps: int) -> Emulation:
    """Take `steps` batches after a short warm-up, holding each for `step_ms`."""
    arrivals = np.empty(steps + 1)
    for n in range(-WARM_UP_STEPS, steps + 1):
        next(batches)
        if n >= 0:
            arrivals[n] = time.perf_counter()
        if n < steps:
            time.sleep(step_ms / 1e3)
    intervals = np.diff(arrivals) * 1e3
    return Emulation(step_ms, float(steps * step_ms / intervals.sum()), intervals)


def resident(batch: Any) -> Iterator[Any]:
    """The control that shows what the emulation can reach: the batch is always there."""
    while True:
        yield batch


def throttled(batch: Any, interval_ms: float) -> Iterator[Any]:
    """The control that must show c / d: a producer with one batch ahead that makes one every `interval_ms`."""
    ready: queue.Queue[Any] = queue.Queue(maxsize=1)
    stop = threading.Event()

    def produce() -> None:
        due = time.perf_counter()
        while not stop.is_set():
            due += interval_ms / 1e3
            time.sleep(max(due - time.perf_counter(), 0.0))
            while not stop.is_set():
                try:
                    ready.put(batch, timeout=0.1)
                    break
                except queue.Full:
                    continue

    thread = threading.Thread(target=produce, name="myxtts-throttled", daemon=True)
    thread.start()
    try:
        while True:
            yield ready.get()
    finally:
        stop.set()
        thread.join()


@dataclass(frozen=True)
class Controls:
    """Both controls at one step time; `throttled_error` is how far the second was from c / d, as a share."""

    step_ms: float
    resident_au: float
    throttled_au: float
    expected_au: float

    @property
    def throttled_error(self) -> float:
        return abs(self.throttled_au / self.expected_au - 1.0)


def run_controls(step_ms: float, steps: int, slowdown: float = 2.0) -> Controls:
    """The resident batch, and a loader that needs `slowdown` times the step time."""
    alone = emulate(resident(None), step_ms, steps)
    producer = throttled(None, step_ms * slowdown)
    slow = emulate(producer, step_ms, steps)
    producer.close()  # type: ignore[attr-defined]
    return Controls(step_ms, alone.au, slow.au, 1.0 / slowdown)


def break_even_ms(batches: Iterator[Any], low_ms: float, high_ms: float, seconds: float = 0.4) -> float:
    """The smallest step time at which AU is at least 90 % of the resident control's, by bisection to 15 %.

    Infinity if it is not reached at `high_ms` either.
    """
    if not _keeps_up(batches, high_ms, seconds):
        return float("inf")
    while high_ms / low_ms > 1.15:
        middle = float(np.sqrt(low_ms * high_ms))
        if _keeps_up(batches, middle, seconds):
            high_ms = middle
        else:
            low_ms = middle
    return high_ms


def _keeps_up(batches: Iterator[Any], step_ms: float, seconds: float) -> bool:
    steps = int(np.clip(seconds * 1e3 / step_ms, 8, 400))
    return emulate(batches, step_ms, steps).au >= 0.9 * emulate(resident(None), step_ms, steps).au
