"""What can be read from batches of any kind: arrays, tensors, tuples and dicts of them, of whichever framework."""

from __future__ import annotations

from typing import Any

import numpy as np


def tensors_of(batch: Any) -> list[Any]:
    import tensorflow as tf

    return [part for part in tf.nest.flatten(batch) if hasattr(part, "shape")]


def rows_of(batch: Any) -> int:
    """Utterances of a batch: the first dimension of its largest tensor."""
    sizes = [(size_of(part), int(part.shape[0])) for part in tensors_of(batch) if len(part.shape)]
    return max(sizes)[1] if sizes else 1


def size_of(part: Any) -> int:
    """Elements; 0 where rows have lengths of their own (a RaggedTensor)."""
    sizes = tuple(part.shape)
    return 0 if None in sizes else int(np.prod(sizes))


def shape_of(batch: Any) -> tuple[Any, ...]:
    return tuple(tuple(part.shape) for part in tensors_of(batch))


def typical(batches: list[Any]) -> Any:
    """The one of median size: of batches of several lengths neither the longest nor the shortest."""
    return sorted(batches, key=lambda batch: sum(map(size_of, tensors_of(batch))))[len(batches) // 2]


def widest(batch: Any) -> Any:
    """The largest tensor with a second axis along which something could be padded; None if there is none."""
    wide = [part for part in tensors_of(batch) if hasattr(part, "__array__") and len(part.shape) >= 2]
    wide = [part for part in wide if part.shape[0] and part.shape[1] > 1]
    return max(wide, key=size_of, default=None)


def useful_share(batches: list[Any]) -> float | None:
    """Real / all positions along the second axis of the largest tensor: what repeats at a row's end is padding.

    None where nothing can be told: no such axis, or batches in which no row changes (somebody's zeros).
    """
    real = padded = 0
    for batch in batches:
        if (wide := widest(batch)) is None:
            continue
        largest = np.asarray(wide)
        flat = largest.reshape(*largest.shape[:2], -1)
        differs = (flat != flat[:, -1:]).any(axis=2)
        if not differs.any():
            continue
        lengths = np.where(differs.any(axis=1), flat.shape[1] - differs[:, ::-1].argmax(axis=1), 0)
        # A row that is not padded ends in one position of its own, which looks like padding of length one.
        real += int(np.where(lengths == flat.shape[1] - 1, flat.shape[1], lengths).sum())
        padded += flat.shape[0] * flat.shape[1]
    return real / padded if padded else None
