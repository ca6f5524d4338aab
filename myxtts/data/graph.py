"""The order and its references in graph ops: the same formulas over the same tables, which are tensors here."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np
import tensorflow as tf

from myxtts.data.order import Bucket, Order
from myxtts.data.permutation import Arrays
from myxtts.data.references import References

Tensors = dict[str, Any]


class GraphOrder:
    """`Order.batches` for a `tf.data` pipeline."""

    def __init__(self, order: Order, references: References | None = None):
        """With references, each row of a batch gets one."""
        self._order, self._references = order, references
        self._tables = type(order.tables)(*to_tensors(order.tables))
        self._reference_tables = to_tensors(references.tables) if references is not None else ()
        self._buckets = np.array(order.buckets, np.int64)

    def batches(self, steps: Any) -> Tensors:
        """For int64 steps [steps]: step, epoch, cache, bucket, frames, tokens, batch [steps]; utterances, weight and,
        if wanted, reference and crop [steps, largest batch]."""
        xp = tensorflow_arrays()
        computed = self._order.compute(steps, self._tables, xp)
        shape = tf.unstack(tf.gather(self._buckets, computed.bucket), axis=-1)
        batches = {"step": steps, **dict(zip(Bucket._fields, shape, strict=True)), **computed._asdict()}
        if self._references is not None:
            given = computed.utterances, steps, batches["cache"], self._reference_tables
            batches["reference"], batches["crop"] = self._references.compute(*given, xp)
        return batches


@cache
def tensorflow_arrays() -> Arrays:
    def after(ends: Any, value: Any) -> Any:
        flat = tf.searchsorted(ends, tf.reshape(value, [-1]), side="right", out_type=tf.int64)
        return tf.reshape(flat, tf.shape(value))

    return Arrays(
        where=tf.where,
        take=tf.gather,
        after=after,
        shift=lambda x, bits: tf.bitwise.right_shift(x, tf.constant(bits, tf.int64)),
        unstack=lambda x: tuple(tf.unstack(x, axis=-1)),
        unique=lambda x: tuple(tf.unique(x)),
        cumsum=lambda x: tf.cumsum(x, axis=-1),
        flat=lambda x: tf.reshape(x, [-1]),
        length=lambda x: tf.shape(x, out_type=tf.int64)[0],
        arange=lambda n: tf.range(n, dtype=tf.int64),
        int64=lambda x: tf.cast(x, tf.int64),
        float32=lambda x: tf.cast(x, tf.float32),
    )


def to_tensors(tables: Iterable[Any]) -> tuple[Any, ...]:
    """Tables as tensors in host memory, made outside of any graph, so that graphs share them instead of copying."""
    with tf.init_scope(), tf.device("CPU:0"):
        return tuple(None if table is None else tf.convert_to_tensor(table) for table in tables)
