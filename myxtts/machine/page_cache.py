"""The pages of files that the system keeps in memory: dropped, and counted."""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np


def drop_pages(paths: Sequence[Path]) -> float:
    """Ask the system to forget the files' pages (posix_fadvise); returns the share that stayed in memory after all."""
    resident = total = 0
    for path in paths:
        with open(path, "rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            kept, pages = _resident_pages(file.fileno())
            resident, total = resident + kept, total + pages
    return resident / total if total else 0.0


def _resident_pages(descriptor: int) -> tuple[int, int]:
    size = os.fstat(descriptor).st_size
    if size == 0:
        return 0, 0
    pages = -(-size // mmap.PAGESIZE)
    flags = (ctypes.c_ubyte * pages)()
    with mmap.mmap(descriptor, size, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_WRITE) as memory:
        address = ctypes.c_char.from_buffer(memory)
        failed = ctypes.CDLL(None).mincore(ctypes.byref(address), ctypes.c_size_t(size), flags)
        del address
    return (0 if failed else int(np.count_nonzero(np.frombuffer(bytes(flags), np.uint8) & 1))), pages
