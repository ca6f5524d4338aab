"""Measures a pipeline and a step as data-stall analysis does: the step on a batch that is there, the loader alone, and
both together. What comes out is plain numbers; `diagnose.py` says what they mean.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np

from myxtts.doctor.batch_shape import rows_of, shape_of, typical, useful_share
from myxtts.doctor.counters import python_calls, stage_times, tracing
from myxtts.doctor.measurements import Measurements
from myxtts.doctor.resident import (
    OPERATIONS_OF_A_STEP,
    Step,
    device_alone,
    double_time,
    graph_ms,
    is_compiled,
    run_step,
    short_time,
    what_was_raised,
)
from myxtts.doctor.structure import Structure, structure_of
from myxtts.errors import DiagnosisError
from myxtts.machine.process import idle_seconds, memory_available_share, usable_cores, usage

LOADER_SECONDS, LOOP_SECONDS = 5.0, 6.0
MOST_BATCHES = 400
_FEWEST_BATCHES = 4
_WARM_UP_SECONDS, _WARM_UP_BATCHES = 1.5, 24  # until prefetched batches are used up and every worker is at work
_PATIENCE = 1.5  # a phase ends with fewer batches than wanted after this many times its seconds
_FEW_SHAPES = 16  # a plan: that many are compiled once, at the start; more never end
_KEPT_INTERVALS = 400
_LOOP_WARM_UP = 2  # steps
_SLOW_COMPILE_MS = 4000.0
_SLOW_START_MS = 3000.0  # then the loop goes on where the loader stopped: a shuffle buffer is not filled twice

Progress = Callable[[str], None]


def observe(
    data: Iterable[Any],
    step: Step,
    progress: Progress = lambda what: None,
    structure: Structure | None = None,
    most_batches: int = MOST_BATCHES,
) -> Measurements:
    """About 15 seconds of measuring. `data` is a dataset or any iterable of batches; `step` takes one batch.

    `structure` is that of the dataset behind an iterable, where somebody knows it. A phase ends after `most_batches`.
    """
    source = _Source(data)
    progress("loader")
    alone = _loader_alone(source, most_batches)
    if alone["first_batch_ms"] < _SLOW_START_MS:
        source.stop()  # what it makes ahead would take cores from the step
    progress("device")
    resident = typical(source.seen)
    device = device_alone(step, resident)
    progress("loop")
    # A plan of a few shapes is compiled before training. Where that takes long, one shape stands in for all.
    stand_in = resident if alone["few_shapes"] and device["compile_ms"] > _SLOW_COMPILE_MS else None
    together = _loop(source, step, most_batches, alone["few_shapes"], stand_in)
    source.stop()
    progress("step")
    measured = Measurements(
        batch=rows_of(resident),
        cores=usable_cores(),
        **device,
        **alone,
        **together,
        structure=structure or structure_of(data),
    )
    measured.useful_share = useful_share(source.seen)
    measured.memory_available_share = memory_available_share()
    _try_variants(measured, step, resident)
    return measured


def _try_variants(measured: Measurements, step: Step, resident: Any) -> None:
    """The step compiled, on a larger batch, on a shorter one: each where the rest leaves it in question."""
    compiled = is_compiled(step)
    if measured.compile_ms > _SLOW_COMPILE_MS:
        return  # each of these would be compiled too, and a diagnosis is to take less than 40 s
    if not compiled or measured.resident_traces:
        # What is retraced is made of TensorFlow's operations, however few.
        measured.graph_ms = graph_ms(step, resident, 1 if measured.resident_traces else OPERATIONS_OF_A_STEP)
    # Of an emulated accelerator twice the batch costs nothing, which says nothing.
    steady = measured.device_ms < 500 and not measured.resident_traces
    if (compiled or measured.graph_ms) and measured.loader_ms < measured.device_ms and steady:
        measured.double_ms = _times(measured.device_ms, double_time(step, resident))
    if measured.useful_share is not None and measured.useful_share < 0.9 and steady:
        measured.short_ms = _times(measured.device_ms, short_time(step, resident))


def _times(ms: float, ratio: float | None) -> float | None:
    return None if ratio is None else ms * ratio


class _Source:
    """Batches without end, from whatever was given; begun anew when it ends."""

    def __init__(self, data: Iterable[Any]):
        self._data = data
        self._once = data if isinstance(data, Iterator) else None
        self.seen: list[Any] = []  # the first few batches, for what can be read from them
        self.iterator: Any = None
        self._running: Generator[Any] | None = None

    def batches(self) -> Generator[Any]:
        """Those that follow; after `stop` from the first."""
        self._running = self._running or self._endless()
        return self._running

    def stop(self) -> None:
        if self._running is not None:
            self._running.close()
        self._running = self.iterator = None

    def _endless(self) -> Generator[Any]:
        taken = 0
        while True:
            before = taken
            # Not `yield from`: that would close somebody's generator, which cannot be begun again.
            for batch in self._one_pass():
                taken += 1
                if len(self.seen) < 8:
                    self.seen.append(batch)
                yield batch
            if taken == before or self._once is not None:
                raise DiagnosisError(
                    f"the data ended after {taken} batches, expected some each time it is iterated: give a dataset "
                    "that repeats, or something that can be iterated again"
                )

    def _one_pass(self) -> Iterator[Any]:
        """What the data raises becomes an error that says so; what the loop raises does not come by here."""
        while True:
            try:
                if self.iterator is None:
                    self.iterator = iter(self._data) if self._once is None else self._once
                batch = next(self.iterator)
            except StopIteration:
                self.iterator = None
                return
            except (MemoryError, DiagnosisError):
                raise
            except Exception as error:
                raise DiagnosisError(
                    f"the data raised {what_was_raised(error)}; expected batches: iterate over it alone to see where"
                ) from error
            yield batch


def _loader_alone(source: _Source, most: int) -> dict[str, Any]:
    """The loader as fast as it can. The first batch and what was prefetched do not count."""
    batches, started = source.batches(), time.perf_counter()
    shapes = [shape_of(next(batches))]
    first_seconds = time.perf_counter() - started
    warm = time.perf_counter() + _WARM_UP_SECONDS
    while len(shapes) <= _WARM_UP_BATCHES and time.perf_counter() < warm and first_seconds < 2 * _WARM_UP_SECONDS:
        shapes.append(shape_of(next(batches)))
    with python_calls() as called:
        before, idle, arrivals = usage(), idle_seconds(), [time.perf_counter()]
        while _wants_more(len(arrivals) - 1, arrivals[-1] - arrivals[0], LOADER_SECONDS, most):
            shapes.append(shape_of(next(batches)))
            arrivals.append(time.perf_counter())
        spent, idle = usage() - before, idle_seconds() - idle
    intervals = np.diff(arrivals) * 1e3
    stages = stage_times(source.iterator, float(intervals.mean()))
    count, seconds = len(intervals), arrivals[-1] - arrivals[0]
    return {
        "first_batch_ms": first_seconds * 1e3,
        "few_shapes": len(set(shapes)) <= min(_FEW_SHAPES, max(len(shapes) // 4, 1)),
        "loader_ms": float(intervals.mean()),
        "intervals_ms": [round(float(value), 3) for value in intervals[-_KEPT_INTERVALS:]],
        "loader_cores": float(spent[0] / seconds),
        "idle_cores": idle / seconds,
        "major_faults_per_batch": float(spent[1] / count),
        "disk_mb_per_batch": float(spent[2] / count / 1e6),
        "read_calls_per_batch": float(spent[3] / count),
        "read_mb_per_batch": float(spent[4] / count / 1e6),
        "python_calls_per_batch": called[0] / count,
        "stages": stages,
    }


def _wants_more(batches: int, seconds: float, wanted_seconds: float, most: int = MOST_BATCHES) -> bool:
    """A phase ends with enough batches or after its seconds, and not without a few, unless each takes seconds."""
    if batches < _FEWEST_BATCHES:
        return batches == 0 or seconds < _PATIENCE * wanted_seconds
    return batches < most and seconds < wanted_seconds


def _loop(source: _Source, step: Step, most: int, few_shapes: bool, stand_in: Any = None) -> dict[str, Any]:
    """The real loop: how long each batch was waited for and how long its step took."""
    batches, known = source.batches(), {shape_of(typical(source.seen))}
    began = time.perf_counter()
    for batch in islice(batches, _LOOP_WARM_UP):
        known.add(shape_of(batch))
        run_step(step, batch if stand_in is None else stand_in)
        if time.perf_counter() - began > _WARM_UP_SECONDS:
            break
    rows: list[tuple[float, float, bool, bool]] = []  # waited, computed, of a new shape, traced
    before, began = usage(), time.perf_counter()
    with tracing() as traces:
        while _wants_more(len(rows), time.perf_counter() - began, LOOP_SECONDS, most):
            asked, traced = time.perf_counter(), traces.count
            batch = next(batches)
            came = time.perf_counter()
            run_step(step, batch if stand_in is None else stand_in)
            done, shape = time.perf_counter(), shape_of(batch)
            rows.append(((came - asked) * 1e3, (done - came) * 1e3, shape not in known, traces.count > traced))
            known.add(shape)
    spent = usage() - before
    return {"loop_disk_mb_per_batch": float(spent[2] / len(rows) / 1e6), **_sum_up(rows, few_shapes)}


def _sum_up(rows: list[tuple[float, float, bool, bool]], few_shapes: bool) -> dict[str, Any]:
    """Means over the steps. Of a few shapes each is met for the first time once: that is the start, not the loop."""
    new = [computed for _, computed, fresh, _ in rows if fresh]
    steady = [row for row in rows if not row[2]] if few_shapes else rows
    steady = steady or rows
    waits, computes = [row[0] for row in steady], [row[1] for row in steady]
    return {
        "loop_ms": float(np.mean(waits) + np.mean(computes)),
        "wait_ms": float(np.mean(waits)),
        "compute_ms": float(np.mean(computes)),
        "traces": sum(traced for *_, traced in steady),
        "new_shapes": len(new),
        "new_shape_ms": float(np.mean(new)) if new else 0.0,
        "loop_steps": len(steady),
    }
