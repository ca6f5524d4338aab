"""Who may write a cache, and the moment at which what was written becomes the cache.

A cache is built in `NAME.cache.building` beside its place. The lock is on that folder, so it dies with its process.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from myxtts.cache.format import JOURNAL, sync_folder
from myxtts.errors import CacheError, CacheLocked

_RENAME_EXCHANGE = 2
_AT_FDCWD = -100
_FICLONE = 0x40049409


def building_folder(cache: Path) -> Path:
    return cache.with_name(f"{cache.name}.building")


@contextmanager
def building_lock(cache: Path) -> Iterator[Path]:
    """Hold the only right to write `cache`; yields the folder to build in, with what a killed run left there."""
    building = building_folder(cache)
    descriptor = _lock(building, cache)
    try:
        _recover(cache)
        yield building
    finally:
        if _is_locked_by(descriptor, building) and not any(building.iterdir()):
            building.rmdir()  # who had nothing to write leaves nothing behind
        os.close(descriptor)


def _is_locked_by(descriptor: int, building: Path) -> bool:
    """Whether the folder is still the one that was locked, not another that was made since that one was published."""
    return building.exists() and os.path.samestat(os.fstat(descriptor), os.stat(building))


def _lock(building: Path, cache: Path) -> int:
    for _ in range(100):  # another packer may publish, and so take the folder away, between any two of our calls
        try:
            building.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CacheError(f"cannot write to {building}: {error.strerror}; choose another place with -o") from None
        try:
            descriptor = os.open(building, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            continue
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise CacheLocked(f"another process is writing {cache}: wait for it, or choose another -o") from None
        if _is_locked_by(descriptor, building):
            return descriptor
        os.close(descriptor)  # the folder we locked was published meanwhile: it is no longer a building site
    raise CacheLocked(f"other processes keep writing {cache}: wait for them, or choose another -o")


def clear_leftovers(cache: Path) -> None:
    """Remove what a kill at the end may have left: the replaced cache, a copy, or a journal nobody needs."""
    building = building_folder(cache)
    (cache / JOURNAL).unlink(missing_ok=True)
    if building.exists() and not (building / JOURNAL).exists():
        with contextlib.suppress(CacheLocked), building_lock(cache):  # locked: somebody is just beginning there
            if not (building / JOURNAL).exists():
                shutil.rmtree(building)


def publish(building: Path, cache: Path) -> None:
    """Put the finished folder in the cache's place, in one step; readers of the old cache keep their files."""
    sync_folder(building)
    if not cache.exists():
        os.rename(building, cache)
    elif _exchange(building, cache):
        shutil.rmtree(building)
    else:
        _replace_in_two_steps(building, cache)
    sync_folder(cache.parent)


def _recover(cache: Path) -> None:
    """Undo a two-step replacement that was killed between its steps."""
    old = _old_folder(cache)
    if old.exists() and not cache.exists():
        os.rename(old, cache)
    elif old.exists():
        shutil.rmtree(old)


def _old_folder(cache: Path) -> Path:
    return cache.with_name(f".{cache.name}.replaced-by-myxtts")


def _replace_in_two_steps(building: Path, cache: Path) -> None:
    """For file systems that cannot exchange two names (NFS): `_recover` mends a kill in between."""
    old = _old_folder(cache)
    os.rename(cache, old)
    os.rename(building, cache)
    shutil.rmtree(old)


def _exchange(first: Path, second: Path) -> bool:
    """renameat2(RENAME_EXCHANGE): both names swap in one step. False where the system cannot."""
    libc = ctypes.CDLL(None, use_errno=True)
    if not hasattr(libc, "renameat2"):
        return False
    names = os.fsencode(first), os.fsencode(second)
    if libc.renameat2(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE) == 0:
        return True
    code = ctypes.get_errno()
    if code in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP):
        return False
    raise OSError(code, os.strerror(code), str(second))


def empty_folder(folder: Path) -> None:
    """Delete what a folder holds but not the folder, which may be locked."""
    for entry in folder.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()


def clone_file(source: Path, target: Path) -> None:
    """Copy by reference where the file system can (btrfs, xfs), by bytes elsewhere."""
    with open(source, "rb") as reading, open(target, "wb") as writing:
        try:
            fcntl.ioctl(writing.fileno(), _FICLONE, reading.fileno())
        except OSError:  # EOPNOTSUPP, EXDEV, EINVAL, ENOTTY: this file system or pair of them cannot
            shutil.copyfileobj(reading, writing, 1 << 24)
