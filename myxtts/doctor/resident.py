"""The step by itself, on a batch that is there: as it is, compiled, on a batch of twice the rows or half the length."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from myxtts.doctor.batch_shape import rows_of, widest
from myxtts.doctor.counters import tracing
from myxtts.doctor.structure import IDLE_OPS, operations_of
from myxtts.errors import DiagnosisError
from myxtts.machine.process import usage

log = logging.getLogger(__name__)

DEVICE_SECONDS = 1.5
_TRACEBACK = "Traceback (most recent call last):"
_RAISED = re.compile(r"^([A-Za-z_][\w.]*(?:Error|Exception|Warning|Iteration|Exit|Interrupt)\b.{0,300})", re.MULTILINE)
OPERATIONS_OF_A_STEP = 12  # fewer: a sleep, or another framework; nothing that a graph could make faster

Step = Callable[[Any], Any]


def device_alone(step: Step, resident: Any) -> dict[str, Any]:
    """Of the step on a batch that is there: median ms, cores used meanwhile, share of steps that were traced anew."""
    compile_ms = _warm_up(step, resident)
    before, began = usage(), time.perf_counter()
    times, traced, tracing_seconds = _timed(step, resident)
    cores = float((usage() - before)[0] / (time.perf_counter() - began))
    device_ms = float(np.median(times))
    return {
        "device_ms": device_ms,
        "device_cores": cores,
        "resident_traces": traced / len(times),
        "trace_ms": tracing_seconds / len(times) * 1e3,
        "compile_ms": max(compile_ms - device_ms, 0.0),
    }


def _resident_ms(step: Step, batch: Any) -> float:
    _warm_up(step, batch)
    return float(np.median(_timed(step, batch)[0]))


def _warm_up(step: Step, batch: Any) -> float:
    """Two calls: the first compiles, the second may allocate. Milliseconds of the first."""
    started = time.perf_counter()
    run_step(step, batch)
    first = time.perf_counter() - started
    run_step(step, batch)
    return first * 1e3


def _timed(step: Step, batch: Any) -> tuple[list[float], int, float]:
    """Milliseconds of each call, how many were traced, and seconds of tracing. Three calls at least, of a step of
    seconds one."""
    times: list[float] = []
    traced, ends = 0, time.perf_counter() + DEVICE_SECONDS
    with tracing() as traces:
        while (now := time.perf_counter()) < ends or (len(times) < 3 and now < ends + DEVICE_SECONDS):
            known = traces.count
            run_step(step, batch)
            times.append((time.perf_counter() - now) * 1e3)
            traced += traces.count > known
    return times, traced, traces.seconds


def run_step(step: Step, batch: Any) -> None:
    """One step until its result is ready."""
    import tensorflow as tf

    try:
        result = step(batch)
        for part in tf.nest.flatten(result)[:1]:
            _await(part)
    except Exception as error:
        raise DiagnosisError(
            f"the step raised {what_was_raised(error)}; expected a function of one batch as the data gives it"
        ) from error


def what_was_raised(error: Exception) -> str:
    """The error in one line. What Python code raised inside a graph, TensorFlow tells as a text with its traceback: the
    user's own error is the last line of that."""
    text = str(error)
    own = _RAISED.findall(text.partition(_TRACEBACK)[2])
    return own[-1] if own else f"{type(error).__name__}: {text[:300]}"


def _await(part: Any) -> None:
    """Until the device has made it. A step that returns nothing is waited for by the whole device."""
    import tensorflow as tf

    if hasattr(part, "block_until_ready"):  # JAX
        part.block_until_ready()
    elif hasattr(part, "detach"):  # PyTorch, whose losses do not turn into arrays while they have gradients
        part.detach().cpu()
    elif hasattr(part, "numpy"):
        part.numpy()
    elif part is None and tf.config.list_logical_devices("GPU"):
        tf.test.experimental.sync_devices()


def is_compiled(step: Step) -> bool:
    import tensorflow as tf

    return hasattr(step, "experimental_get_tracing_count") and not tf.config.functions_run_eagerly()


def graph_ms(step: Step, batch: Any, least_operations: int = OPERATIONS_OF_A_STEP) -> float | None:
    """The step as a compiled function, if it can be one and has that many TensorFlow operations."""
    import tensorflow as tf

    eagerly = tf.config.functions_run_eagerly()
    tf.config.run_functions_eagerly(False)
    try:
        compiled = tf.function(_without_reading(getattr(step, "python_function", step)))
        operations = operations_of(compiled.get_concrete_function(batch).name, set())
        working = sum(count for kind, count in operations.items() if kind not in IDLE_OPS)
        return _resident_ms(compiled, batch) if working >= least_operations else None
    except Exception as error:  # noqa: BLE001 - whatever a stranger's step does when traced: this cure is not offered
        log.info("whether a compiled step is faster was not measured, it cannot be traced: %s", type(error).__name__)
        return None
    finally:
        tf.config.run_functions_eagerly(eagerly)


def _without_reading(step: Step) -> Step:
    """The step, but where it reads a number out (`float(loss)`, `loss.numpy()`), which a graph cannot, it goes on.

    What would have been read is returned, so that it is still computed.
    """
    import tensorflow as tf
    from tensorflow.python.framework.tensor import Tensor

    def traced(batch: Any) -> list[Any]:
        read: list[Any] = []

        def keep(tensor: Any, instead: Any) -> Any:
            read.append(tensor)
            return instead

        ways = {
            "numpy": lambda tensor: keep(tensor, tensor),
            "__float__": lambda tensor: keep(tensor, 0.0),
            "__array__": lambda tensor, *_, **__: keep(tensor, np.zeros(tensor.shape, np.float32)),
        }
        with _replaced(Tensor, ways):
            result = step(batch)
        return [part for part in tf.nest.flatten(result) if tf.is_tensor(part)] + read

    return traced


@contextmanager
def _replaced(kind: type, ways: dict[str, Any]) -> Iterator[None]:
    before = {name: kind.__dict__.get(name) for name in ways}
    for name, way in ways.items():
        setattr(kind, name, way)
    try:
        yield
    finally:
        for name, way in before.items():
            setattr(kind, name, way) if way is not None else delattr(kind, name)


def double_time(step: Step, batch: Any) -> float | None:
    """How many times as long a batch of twice the rows takes; None where the step does not take one."""
    import tensorflow as tf

    rows = rows_of(batch)

    def twice(part: Any) -> Any:
        shape: Any = getattr(part, "shape", ())
        if len(shape) == 0 or shape[0] != rows:
            return part
        return tf.concat([part, part], 0) if tf.is_tensor(part) else np.concatenate([part, part])

    return _time_ratio(step, batch, twice)


def short_time(step: Step, batch: Any) -> float | None:
    """The same for half the positions of the longest tensor: how much of a step's time its padding can be."""
    length = widest(batch).shape[1]

    def half(part: Any) -> Any:
        shape: Any = getattr(part, "shape", ())
        return part[:, : length // 2] if len(shape) >= 2 and shape[1] == length else part

    return _time_ratio(step, batch, half)


def _time_ratio(step: Step, batch: Any, change: Callable[[Any], Any]) -> float | None:
    """Both in turns, so that somebody else's load falls on both."""
    import tensorflow as tf

    try:
        changed = tf.nest.map_structure(change, batch)
        _warm_up(step, changed)
        times: tuple[list[float], list[float]] = ([], [])
        ends = time.perf_counter() + DEVICE_SECONDS
        while time.perf_counter() < ends or len(times[0]) < 3:
            for taken, one in zip(times, (changed, batch), strict=True):
                started = time.perf_counter()
                run_step(step, one)
                taken.append(time.perf_counter() - started)
    except (DiagnosisError, TypeError, ValueError):
        return None  # a step of fixed shapes: then there is nothing to say about others
    return float(np.median(times[0]) / np.median(times[1]))
