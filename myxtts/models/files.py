"""Files that are there whole or not at all: written beside their place, synced, renamed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from myxtts.cache.format import sync_folder


def write_whole(path: Path | str, write: Callable[[Path], None]) -> None:
    """Let `write` fill a file beside `path`, then put it in place. A kill leaves the old file or the new one."""
    path = Path(path)
    beside = path.with_name(f"{path.name}.{os.getpid()}.tmp")  # two processes may write the same report
    try:
        write(beside)
        _sync(beside)
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
