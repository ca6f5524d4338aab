"""Files of one type as one array: a stretch of addresses is reserved once, and each file is mapped into its place.

A gather then reads from any of a thousand files by one row number, and a file can come and go while the array, and the
tensor that was made of it, stay. Files begin at multiples of both a page and a row, so that their rows, which follow a
header of 128 bytes, are rows of the whole. Between two files lie a header and a gap that no row number points to.
"""

from __future__ import annotations

import ctypes
import math
import mmap
import os
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myxtts.cache import cut_off
from myxtts.cache.format import HEADER_BYTES, array_type, padding_row, row_bytes
from myxtts.errors import CacheError

_MAP_FIXED, _MAP_NORESERVE = 0x10, 0x4000  # mman.h; Python has no names for them
_PRIVATE = mmap.MAP_PRIVATE | _MAP_NORESERVE
_NOTHING, _COPY_ON_WRITE = 0, mmap.PROT_READ | mmap.PROT_WRITE  # DLPack wants writable memory; see Cache._map

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_longlong]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


def lay_out(lengths: Sequence[int], names: Sequence[str]) -> NDArray[np.int64]:
    """[files] the row at which each file of `lengths` rows begins, the same in every one of the tracks `names`."""
    widths = [row_bytes(*array_type(name)) for name in names]
    unit = math.lcm(*(math.lcm(mmap.PAGESIZE, width) // width for width in widths))
    header = -(-HEADER_BYTES // min(widths))
    units = -(-(np.array(lengths, np.int64) + header) // unit)
    return (np.cumsum(units) - units + 1) * unit  # the first unit is that of the padding row


class Stretch:
    """`array` [rows, ...] over the places of files with `lengths` rows each, which begin at `first_row` [files].

    Row 0 is the padding row, whichever files are there. What lies between two files reads as zeros, so that the whole
    can be copied.
    """

    def __init__(self, name: str, lengths: Sequence[int], first_row: NDArray[np.int64]):
        dtype, shape = array_type(name)
        width = row_bytes(dtype, shape)
        self._sizes = [HEADER_BYTES + rows * width for rows in lengths]
        self._offsets = (first_row * width).tolist()
        n_bytes = self._offsets[-1] + self._sizes[-1]
        self._base = _map(None, n_bytes, _COPY_ON_WRITE, _PRIVATE | mmap.MAP_ANONYMOUS, -1)
        memory = (ctypes.c_char * (n_bytes - HEADER_BYTES)).from_address(self._base + HEADER_BYTES)
        # As long as there is an array over it; not at exit, when threads of TensorFlow may still be reading.
        weakref.finalize(memory, _libc.munmap, self._base, n_bytes).atexit = False
        self.array: NDArray[Any] = np.frombuffer(memory, dtype).reshape(-1, *shape)
        self.array[: len(padding_row(name))] = padding_row(name)

    def put(self, number: int, path: Path) -> None:
        """Map a whole file into its place."""
        with open(path, "rb") as file:
            size, expected = os.fstat(file.fileno()).st_size, self._sizes[number]
            if size != expected:
                raise CacheError(f"{path} has {size} bytes, expected {expected}: run 'myxtts verify {path.parent}'")
            _map(self._base + self._offsets[number], size, _COPY_ON_WRITE, _PRIVATE | _MAP_FIXED, file.fileno())
        cut_off.remember(path, size)

    def take(self, number: int) -> None:
        """Empty a place, so that the file's space on the disk is free once it is deleted.

        To read it then is a segmentation fault, never silence that a model would learn.
        """
        flags = _PRIVATE | _MAP_FIXED | mmap.MAP_ANONYMOUS
        _map(self._base + self._offsets[number], self._sizes[number], _NOTHING, flags, -1)


def _map(address: int | None, n_bytes: int, protection: int, flags: int, file: int) -> int:
    mapped = _libc.mmap(address, n_bytes, protection, flags, file, 0)
    if mapped is None or mapped == ctypes.c_void_p(-1).value:
        code = ctypes.get_errno()
        raise OSError(code, f"cannot map {n_bytes} bytes: {os.strerror(code)}")
    return int(mapped)
