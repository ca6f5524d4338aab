"""What a model must know when its batch is one part of a larger one: which rows it has, and what the others have.

Several devices train on parts of the same global batch, each a replica under `tf.distribute`. A row's draws are those
that it would have on one device, and what compares rows sees the rows of all. On one device nothing here does anything.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

_waited = threading.local()  # each replica of a process is traced in a thread of its own
clock_runs = True  # set to False where operations must be deterministic, as a clock is not: then all moments are one


def replica() -> Any | None:
    """The context of the replica that is being computed; None on one device."""
    context = tf.distribute.get_replica_context()
    return None if context is None or context.num_replicas_in_sync == 1 else context


def replica_number(context: Any) -> int:
    """Among the replicas of all workers: a number, since each replica is traced for itself."""
    return int(tf.get_static_value(context.replica_id_in_sync_group))


def drawn(draw: Callable[[list[Any]], Any], shape: list[Any]) -> Any:
    """`draw(shape)` by a counter-based generator, whose first numbers do not depend on how many follow: so the rows of
    a replica are the last of the draw for all rows up to them."""
    context = replica()
    if context is None:
        return draw(shape)
    first = replica_number(context) * shape[0]
    return draw([first + shape[0], *shape[1:]])[first:]


def all_rows(rows: Any) -> tuple[Any, Any]:
    """float32 [rows, n] of all replicas in the order of the batch, and where this replica's begin. Differentiable."""
    context = replica()
    if context is None:
        return rows, 0
    own, number = rows.shape[0] or tf.shape(rows)[0], replica_number(context)
    after = (context.num_replicas_in_sync - 1 - number) * own
    placed = tf.pad(rows, [[number * own, after], [0, 0]])
    return _sum_of_all(placed), number * own


@tf.custom_gradient
def _sum_of_all(value: Any) -> tuple[Any, Callable[[Any], Any]]:
    return _timed_sum(value), _timed_sum


def _timed_sum(value: Any) -> Any:
    began = moment_after([value])
    total = sum_of_replicas(value)
    note_wait(moment_after([total]) - began)
    return total


def sum_of_replicas(values: Any) -> Any:
    """Tensors, or lists of them, summed over all replicas. On CPUs TensorFlow's ring adds in the order of the replicas,
    however these are spread over processes; on GPUs NCCL promises no order."""
    return tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, values)


def moment_after(values: Sequence[Any]) -> Any:
    """When these were there, in seconds."""
    if not clock_runs:
        return tf.constant(0.0, tf.float64)
    with tf.control_dependencies(values):
        return tf.timestamp()


def note_wait(seconds: Any) -> None:
    """In the middle of a step, for others: not this replica's own time."""
    _waited.seconds = [*getattr(_waited, "seconds", []), tf.maximum(seconds, 0.0)]


def take_waits() -> Any:
    """The sum of what was noted since it was last asked for."""
    noted, _waited.seconds = getattr(_waited, "seconds", []), []
    return tf.add_n(noted) if noted else tf.constant(0.0, tf.float64)
