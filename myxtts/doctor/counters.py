"""Counts what TensorFlow does meanwhile: calls into Python, traces of functions, time in the stages of a dataset."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@contextmanager
def python_calls() -> Iterator[list[int]]:
    """Counts how often TensorFlow calls back into Python, by whichever of its three ways."""
    from tensorflow.python.ops import script_ops

    registry, called = type(script_ops._py_funcs), [0]
    original = registry.__call__

    def counted(self: Any, *arguments: Any, **named: Any) -> Any:
        called[0] += 1
        return original(self, *arguments, **named)

    registry.__call__ = counted
    try:
        yield called
    finally:
        registry.__call__ = original


@dataclass
class Traces:
    """How many functions were traced, those inside others included, and the seconds that took."""

    count: int = 0
    seconds: float = 0.0
    depth: int = 0


@contextmanager
def tracing() -> Iterator[Traces]:
    """Counts traces of Python functions into graphs, whoever holds the compiled function."""
    from tensorflow.python.framework import func_graph

    original, traces = func_graph.func_graph_from_py_func, Traces()

    def counted(*arguments: Any, **named: Any) -> Any:
        traces.count += 1
        traces.depth += 1
        started = time.perf_counter()
        try:
            return original(*arguments, **named)
        finally:
            traces.depth -= 1
            traces.seconds += time.perf_counter() - started if traces.depth == 0 else 0.0

    func_graph.func_graph_from_py_func = counted
    try:
        yield traces
    finally:
        func_graph.func_graph_from_py_func = original


_ACCOUNTED = 0.3  # of the time of a batch


def stage_times(iterator: Any, batch_ms: float) -> dict[str, float]:
    """CPU-ms per batch of each kind of stage, from TensorFlow's own model of a dataset; empty for anything else, and
    where that model cannot account for the `batch_ms` that were measured (`repeat` makes stages anew each epoch)."""
    import tensorflow as tf

    try:
        model = tf.data.experimental.get_model_proto(iterator)
    except (TypeError, AttributeError, ValueError, tf.errors.OpError):
        return {}  # not a dataset's iterator, or one without a model
    batches = max((node.num_elements for node in model.nodes.values() if node.name == "Root"), default=0)
    spent: dict[str, float] = {}
    for node in model.nodes.values():
        if node.name != "Root" and batches:
            spent[node.name] = spent.get(node.name, 0.0) + node.processing_time / 1e6 / batches
    if sum(spent.values()) < _ACCOUNTED * batch_ms:
        return {}
    return {name: round(ms, 4) for name, ms in sorted(spent.items(), key=lambda item: -item[1])}
