"""Mono 16-bit PCM wav, which most corpora are, read without libsndfile: 0.06 ms a clip instead of 0.25 ms.

libsndfile is called a dozen times for one clip, and each call hands the GIL over: two threads were slower than one.
Whatever is not exactly this plain format, or not whole, is left to libsndfile, which also says what is wrong with it.
"""

from __future__ import annotations

import os
import struct

import numpy as np
from numpy.typing import NDArray

_PCM = 1
_MOST_RATE = 768_000  # what is above is refused by audio.py, which says why


def read_plain_wav(
    path: str | os.PathLike[str], max_seconds: float | None = None
) -> tuple[NDArray[np.int16], int] | None:
    """(samples, rate) of a whole mono 16-bit PCM wav of at most `max_seconds`; None for anything else."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        head = os.read(file, 4096)
        chunk = _data_chunk(head)
        if chunk is None:
            return None
        start, n_bytes, rate = chunk
        if rate > _MOST_RATE or (max_seconds is not None and n_bytes > 2 * rate * max_seconds):
            return None
        samples = np.empty(n_bytes // 2, "<i2")
        whole = os.preadv(file, [samples.data], start) == 2 * len(samples)
    except OSError:
        return None
    finally:
        os.close(file)
    return (samples, rate) if whole and len(samples) else None


def plain_wav_length(path: str | os.PathLike[str]) -> tuple[int, int] | None:
    """(samples, rate) of the same kind of file, by its header and its size alone: 0.02 ms."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        chunk = _data_chunk(os.read(file, 4096))
        whole = chunk is not None and 0 < chunk[1] <= os.fstat(file).st_size - chunk[0]
    except OSError:
        return None
    finally:
        os.close(file)
    return (chunk[1] // 2, chunk[2]) if chunk is not None and whole else None


def _data_chunk(head: bytes) -> tuple[int, int, int] | None:
    """Where the samples begin, how many bytes there are, and the sampling rate."""
    if head[:4] != b"RIFF" or head[8:12] != b"WAVE":
        return None
    at, rate = 12, 0
    while at + 8 <= len(head):
        name, n_bytes = head[at : at + 4], int.from_bytes(head[at + 4 : at + 8], "little")
        at += 8
        if name == b"data":
            return (at, n_bytes, rate) if rate and n_bytes % 2 == 0 else None
        if name == b"fmt " and n_bytes >= 16 and at + 16 <= len(head):
            kind, channels, rate, _, _, bits = struct.unpack_from("<HHIIHH", head, at)
            if (kind, channels, bits) != (_PCM, 1, 16):
                return None
        at += n_bytes + n_bytes % 2
    return None
