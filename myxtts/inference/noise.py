"""The white noise that TensorFlow draws for a seed (`tf.random.stateless_normal`), in numpy.

Philox 4x32-10 (Salmon et al., 2011), then Box-Muller. What is longer begins with what is shorter.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint32]

_ROUNDS = 10
_MULTIPLIERS = np.array([0xD2511F53, 0xCD9E8D57], np.uint64)
_WEYL = (0x9E3779B9, 0xBB67AE85)
_MIXED_WITH = (0x3EC8F720, 0x02461E29)  # the key with which TensorFlow mixes a seed
_KEPT_BLOCKS = 1 << 15  # of 4 samples: 6 s of sound, which most sentences do not exceed


def white_noise(samples: int, seed: tuple[int, int]) -> NDArray[np.float32]:
    """float32 [samples] of power 1. The two numbers of a seed have 64 bits each."""
    blocks = -(-samples // 4)
    kept = _first_noise(seed)
    more = _noise(seed, _KEPT_BLOCKS, blocks) if blocks > _KEPT_BLOCKS else kept[:0]
    return np.concatenate([kept, more])[:samples]


@functools.lru_cache(maxsize=8)
def _first_noise(seed: tuple[int, int]) -> NDArray[np.float32]:
    return _noise(seed, 0, _KEPT_BLOCKS)


def _noise(seed: tuple[int, int], first: int, end: int) -> NDArray[np.float32]:
    halves = [(number >> shift) & 0xFFFFFFFF for number in seed for shift in (0, 32)]
    mixed = _philox(np.array(halves, np.uint32)[:, None], _MIXED_WITH)[:, 0].tolist()
    counter = np.empty((4, end - first), np.uint32)
    counter[0] = np.arange(first, end, dtype=np.uint32)
    counter[1], counter[2], counter[3] = 0, mixed[2], mixed[3]
    words = _philox(counter, (mixed[0], mixed[1]))
    return _normal(words).T.reshape(-1)


def _philox(counter: Words, key: tuple[int, int]) -> Words:
    """Four random words for each column of a counter [4, n]."""
    for number in range(_ROUNDS):
        keys = [np.uint32((part + number * step) & 0xFFFFFFFF) for part, step in zip(key, _WEYL, strict=True)]
        products = [counter[2 * n].astype(np.uint64) * _MULTIPLIERS[n] for n in range(2)]
        low = [product.astype(np.uint32) for product in products]
        high = [(product >> np.uint64(32)).astype(np.uint32) for product in products]
        counter = np.stack([high[1] ^ counter[1] ^ keys[0], low[1], high[0] ^ counter[3] ^ keys[1], low[0]])
    return counter


def _normal(words: Words) -> NDArray[np.float32]:
    """[4, n] words -> [4, n] normal numbers, two of two."""
    between = ((words & np.uint32(0x7FFFFF)) | np.uint32(0x3F800000)).view(np.float32) - np.float32(1.0)
    radius = np.sqrt(np.float32(-2.0) * np.log(np.maximum(between[::2], np.float32(1e-7))))
    angle = np.float32(2.0 * np.pi) * between[1::2]
    made = np.empty_like(between)
    made[::2], made[1::2] = np.sin(angle) * radius, np.cos(angle) * radius
    return made
