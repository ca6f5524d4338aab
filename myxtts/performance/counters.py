"""Counts what happens meanwhile: processor time, page faults, reads, calls into Python, traces, time in a dataset."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


def usable_cores() -> int:
    return len(os.sched_getaffinity(0))


def idle_seconds() -> float:
    """For how long the cores that this process may use have been idle since the start, summed over them."""
    import psutil

    times, own = psutil.cpu_times(percpu=True), os.sched_getaffinity(0)
    return float(sum(core.idle + getattr(core, "iowait", 0.0) for n, core in enumerate(times) if n in own))


def usage() -> NDArray[np.float64]:
    """(CPU seconds, major page faults, bytes from disk, read calls, bytes read) so far, with child processes.

    Those of children that have ended are in their parent's: a DataLoader's workers end with every epoch.
    """
    import psutil

    cpu = faults = disk = calls = chars = 0.0
    own = psutil.Process()
    for process in [own, *own.children(recursive=True)]:
        try:
            io = process.io_counters()
            cpu += sum(process.cpu_times()[:4])
            faults += _major_faults(process.pid)
            disk, calls, chars = disk + io.read_bytes, calls + io.read_count, chars + io.read_chars
        except (psutil.Error, OSError):
            continue  # a worker that has just ended
    return np.array([cpu, faults, disk, calls, chars], np.float64)


def _major_faults(pid: int) -> int:
    """Its own and those of its ended children: fields 12 and 13 of /proc/PID/stat, the name before may hold spaces."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[9]) + int(fields[10])


def memory_available_share() -> float:
    import psutil

    memory = psutil.virtual_memory()
    return float(memory.available / memory.total)


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


@contextmanager
def tracing() -> Iterator[list[int]]:
    """Counts traces of Python functions into graphs, whoever holds the compiled function."""
    from tensorflow.python.framework import func_graph

    original, traced = func_graph.func_graph_from_py_func, [0]

    def counted(*arguments: Any, **named: Any) -> Any:
        traced[0] += 1
        return original(*arguments, **named)

    func_graph.func_graph_from_py_func = counted
    try:
        yield traced
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
