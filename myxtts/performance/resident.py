"""The step by itself, on a batch that is there: as it is, compiled, on a batch of twice the rows or half the length."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from myxtts.errors import DiagnosisError
from myxtts.performance.batch_shape import rows_of, widest
from myxtts.performance.counters import tracing, usage

DEVICE_SECONDS = 1.5
_OPERATIONS_OF_A_STEP = 12  # fewer: a sleep, or another framework; nothing that a graph could make faster

Step = Callable[[Any], Any]


def device_alone(step: Step, resident: Any) -> dict[str, Any]:
    before, started = usage(), time.perf_counter()
    device_ms, traced = _resident(step, resident)
    cores = float((usage() - before)[0] / (time.perf_counter() - started))
    return {"device_ms": device_ms, "device_cores": cores, "resident_traces": traced}


def _resident_ms(step: Step, batch: Any) -> float:
    return _resident(step, batch)[0]


def _resident(step: Step, batch: Any) -> tuple[float, float]:
    """Median ms of the step on one batch, after calls that compile and warm up; and how many of a step's are traced."""
    run_step(step, batch)
    began = time.perf_counter()
    run_step(step, batch)
    slow = time.perf_counter() - began > DEVICE_SECONDS  # then it is warm, and three more would take too long
    times: list[float] = []
    traced = 0
    began = time.perf_counter()
    with tracing() as traces:
        while time.perf_counter() - began < DEVICE_SECONDS or len(times) < (1 if slow else 3):
            known, started = traces[0], time.perf_counter()
            run_step(step, batch)
            times.append((time.perf_counter() - started) * 1e3)
            traced += traces[0] > known
    return float(np.median(times)), traced / len(times)


def run_step(step: Step, batch: Any) -> None:
    """One step until its result is ready."""
    import tensorflow as tf

    try:
        result = step(batch)
        for part in tf.nest.flatten(result)[:1]:
            _await(part)
    except Exception as error:
        raise DiagnosisError(
            f"the step raised {type(error).__name__}: {str(error)[:300]}; expected a function of one batch as the "
            "data gives it"
        ) from error


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


def graph_ms(step: Step, batch: Any) -> float | None:
    """The step as a compiled function, if it is none yet and is made of TensorFlow operations."""
    import tensorflow as tf

    eagerly = tf.config.functions_run_eagerly()
    tf.config.run_functions_eagerly(False)
    try:
        compiled = tf.function(getattr(step, "python_function", step))
        graph = compiled.get_concrete_function(batch).graph
        working = [op for op in graph.get_operations() if op.type not in ("Placeholder", "Identity", "NoOp", "Const")]
        return _resident_ms(compiled, batch) if len(working) >= _OPERATIONS_OF_A_STEP else None
    except Exception:  # noqa: BLE001 - whatever a stranger's step does when traced: then this cure is not offered
        return None
    finally:
        tf.config.run_functions_eagerly(eagerly)


def double_ms(step: Step, batch: Any) -> float | None:
    import tensorflow as tf

    rows = rows_of(batch)

    def twice(part: Any) -> Any:
        shape: Any = getattr(part, "shape", ())
        if len(shape) == 0 or shape[0] != rows:
            return part
        return tf.concat([part, part], 0) if tf.is_tensor(part) else np.concatenate([part, part])

    return _changed_ms(step, batch, twice)


def short_ms(step: Step, batch: Any) -> float | None:
    """On half the positions of the longest tensor, which tells how much of a step's time its padding can be."""
    length = widest(batch).shape[1]

    def half(part: Any) -> Any:
        shape: Any = getattr(part, "shape", ())
        return part[:, : length // 2] if len(shape) >= 2 and shape[1] == length else part

    return _changed_ms(step, batch, half)


def _changed_ms(step: Step, batch: Any, change: Callable[[Any], Any]) -> float | None:
    import tensorflow as tf

    try:
        return _resident_ms(step, tf.nest.map_structure(change, batch))
    except (DiagnosisError, TypeError, ValueError):
        return None  # a step of fixed shapes: then there is nothing to say about others
