"""A mapped file that somebody cuts off ends its reader with SIGBUS: a handler that says which file, and the cure.

Python's own handlers run after the faulting instruction, which never ends. So this one is given to the C library; it
runs in the thread that met the hole, most often one of TensorFlow's, says one line and ends the process.
"""

from __future__ import annotations

import ctypes
import os
import shlex
import signal
import sys
from collections.abc import Callable
from pathlib import Path

_mapped: dict[Path, int] = {}  # file -> bytes it had when it was mapped
_kept: list[object] = []  # the C library has no reference that Python would know of


def remember(path: Path, n_bytes: int) -> None:
    """Note what was mapped."""
    _mapped[path] = n_bytes


def forget(path: Path) -> None:
    """It is no longer mapped, and may go."""
    _mapped.pop(path, None)


def explain_cut_off_files(say: Callable[[str], None]) -> None:
    """From now on a read past the end of a mapped file ends the process with code 2 and what `say` does."""
    if _kept:
        return

    def end(_: int) -> None:
        try:
            say(_what_happened())
            sys.stdout.flush()
        finally:
            os._exit(2)

    handler = ctypes.CFUNCTYPE(None, ctypes.c_int)(end)
    _kept.append(handler)
    libc = ctypes.CDLL(None)
    libc.signal.restype = ctypes.c_void_p
    libc.signal(ctypes.c_int(signal.SIGBUS), handler)


def _what_happened() -> str:
    for path, expected in _mapped.items():
        actual = os.stat(path).st_size if path.exists() else 0
        if actual < expected:
            cure = shlex.join(["myxtts", "verify", str(path.parent), "--fix"])
            return (
                f"{path} was cut off while it was read: it has {actual} bytes, expected {expected}; run '{cure} "
                "CORPUS' and then the same command again to resume"
            )
    return "a file could not be read any more while it was mapped: check the disk, then run the same command again"
