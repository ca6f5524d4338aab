"""How many utterances per second a loop of any pipeline and any step has: what the tuner compares.

measure = measure_loop(lambda settings: (dataset_with(settings), step))
search({"workers": [1, 2, 4]}, {"workers": 1}, measure, feed_knobs=["workers"])
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable
from typing import Any

from myxtts.doctor.batch_shape import rows_of
from myxtts.doctor.resident import Step, run_step
from myxtts.errors import DiagnosisError
from myxtts.machine.process import anonymous_bytes
from myxtts.tuner.trials import Knobs, TooLarge, Trial

SLICE_SECONDS = 0.35  # short: the search measures again what matters, and one disturbed slice is outvoted
_FEWEST_STEPS = 2
_WARM_UP_SHARE = 0.3  # of a slice, for threads to start and what was made ahead to be used up

Pipeline = tuple[Iterable[Any], Step]


def measure_loop(
    build: Callable[[Knobs], Pipeline],
    slice_seconds: float | None = None,
    rows: Callable[[Any], int] = rows_of,
    memory: Callable[[], int] = anonymous_bytes,
) -> Callable[[Knobs], Trial]:
    """What `search` needs, for a function that makes the data and the step of some settings."""

    def measure(settings: Knobs) -> Trial:
        return loop_trial(*build(settings), slice_seconds, rows, memory)

    return measure


def loop_trial(
    data: Iterable[Any],
    step: Step,
    slice_seconds: float | None = None,
    rows: Callable[[Any], int] = rows_of,
    memory: Callable[[], int] = anonymous_bytes,
) -> Trial:
    """One slice of the loop, feed and step together. The first step, which may compile, does not count."""
    batches, slice_seconds = _endless(data), SLICE_SECONDS if slice_seconds is None else slice_seconds
    try:
        step_within_memory(step, next(batches))
        warm = time.perf_counter() + _WARM_UP_SHARE * slice_seconds
        while time.perf_counter() < warm:
            step_within_memory(step, next(batches))
        taken = steps = 0
        waited, began = 0.0, time.perf_counter()
        while steps < _FEWEST_STEPS or time.perf_counter() - began < slice_seconds:
            asked = time.perf_counter()
            batch = next(batches)
            waited += time.perf_counter() - asked
            step_within_memory(step, batch)
            taken, steps = taken + rows(batch), steps + 1
        seconds = time.perf_counter() - began
        return Trial(taken / seconds, waited / seconds, memory())
    finally:
        batches.close()


def step_within_memory(step: Step, batch: Any) -> None:
    """One step until its result is there; a device that runs out of memory is no error here but an answer."""
    import tensorflow as tf

    try:
        run_step(step, batch)
    except DiagnosisError as error:
        if isinstance(error.__cause__, tf.errors.ResourceExhaustedError | MemoryError):
            raise TooLarge("the device ran out of memory") from error
        raise


def _endless(data: Iterable[Any]) -> Generator[Any]:
    """Its batches over and over; whatever iterates over it is closed with this."""
    while True:
        batches, taken = iter(data), 0
        try:
            for batch in batches:
                taken += 1
                yield batch
        finally:
            if isinstance(batches, Generator):
                batches.close()
        if not taken:
            raise DiagnosisError("the data gave no batch: give a dataset that repeats, or can be iterated again")
