"""Random draws and permutations that are pure integer arithmetic, the same code for numpy and for TensorFlow graphs.

Every number stays below 2^63, so nothing wraps and the two can only agree. `tf.random.experimental.index_shuffle`
would be a single op, and numpy can follow it bit for bit, but (TensorFlow 2.21): it is no permutation of 2^k + 1 items
for even k >= 16 (65,537 items give 65,536 values); up to 65,536 items it keeps 8 bits of each seed word, so that
seeds 1 and 257 give one order; and there it walks 65,536 / n ciphers per index, which numpy needs 68 ms for in a
batch of 32 out of 250, and 1.1 s out of 20, where one step should cost less than 1 ms.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

_LOW32 = 0xFFFFFFFF
_ROUNDS = 3  # of 100,000 items, neighbours met in a batch 1.25 times as often as by chance with 2, 1.01 times with 3


class Arrays(NamedTuple):
    """The few array functions that numpy and TensorFlow spell differently; operators serve for the rest."""

    where: Any
    take: Any  # (table, index): rows of a table
    after: Any  # (ends, value): number of `ends` <= value, for 1-D or 2-D values
    shift: Any  # (x, bits): x >> bits
    unstack: Any  # the last axis as a tuple
    unique: Any  # of a 1-D array: (its values, which of them each is)
    cumsum: Any  # along the last axis
    flat: Any
    length: Any  # of the first axis
    arange: Any
    int64: Any
    float32: Any


NUMPY = Arrays(
    where=np.where,
    take=lambda table, index: table[index],
    after=lambda ends, value: np.searchsorted(ends, value, side="right"),
    shift=np.right_shift,
    unstack=lambda x: tuple(np.moveaxis(x, -1, 0)),
    unique=lambda x: np.unique(x, return_inverse=True),
    cumsum=lambda x: np.cumsum(x, axis=-1),
    flat=np.ravel,
    length=len,
    arange=lambda n: np.arange(n, dtype=np.int64),
    int64=lambda x: np.asarray(x, np.int64),
    float32=lambda x: np.asarray(x, np.float32),
)


def draw(key: Any, *words: Any, xp: Arrays = NUMPY) -> Any:
    """32 random bits that depend on the key and on each word (integers; their low 32 bits count)."""
    for word in words:
        key = _mix((key + word) & _LOW32, xp)
    return key


def stream(*words: int) -> int:
    """The key of one purpose (seed, tag, ...), worked out once in numpy."""
    return int(draw(0x2545F491, *(np.int64(word) for word in words)))


def _mix(x: Any, xp: Arrays) -> Any:
    """Each of 32 bits comes to depend on all of them; both factors are odd and below 2^31, so no product overflows."""
    x = ((x ^ xp.shift(x, 16)) * 0x7FEB352D) & _LOW32
    x = ((x ^ xp.shift(x, 15)) * 0x5A8B39E5) & _LOW32
    return x ^ xp.shift(x, 16)


def grid(n: int) -> tuple[int, int, int]:
    """n with the rows and columns of the largest near-square grid inside it: what `permute` wants to know of n."""
    rows = min(max(math.isqrt(n), 2), max(n, 1))
    return n, rows, max(n // rows, 1)


def permute(index: Any, grid_of_n: tuple[Any, Any, Any], key: Any, xp: Arrays = NUMPY) -> Any:
    """Where `index` goes under the permutation of [0, n) named by a 32-bit key; O(1), elementwise.

    A Feistel network over a rows x columns grid: columns turn by a hash of the row, rows by a hash of the column.
    The fewer than sqrt(n) indices outside the grid stay for that round; each round first rotates all of [0, n), so
    they are others the next time. Every line is a bijection, so there is nothing to walk or retry.
    """
    n, rows, columns = grid_of_n
    for turn in range(1, _ROUNDS + 1):
        key = draw(key, turn, xp=xp)
        index = (index + key) % n
        row = index // columns
        column = (index - row * columns + draw(key, row, xp=xp)) % columns
        moved = (row + draw(key, column + rows, xp=xp)) % rows
        index = xp.where(index < rows * columns, moved * columns + column, index)
    return index
