"""Who may write a cache, and the moment at which what was written becomes the cache.

A cache is built in `NAME.cache.building` beside its place. The lock is on that folder, so it dies with its process.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from myxtts.cache.format import JOURNAL, MANIFEST, shard_number
from myxtts.errors import CacheError, CacheLocked
from myxtts.files import is_still, needs_recovery, recover, try_lock


def building_folder(cache: Path) -> Path:
    if not cache.name:
        raise CacheError(f"{cache} cannot be a cache, expected the name of a folder: choose another place with -o")
    return cache.with_name(f"{cache.name}.building")


@contextmanager
def building_lock(cache: Path) -> Iterator[Path]:
    """Hold the only right to write `cache`; yields the folder to build in, with what a killed run left there."""
    building = building_folder(cache)
    descriptor = _lock(building, cache)
    try:
        recover(building, cache, MANIFEST)
        yield building
    finally:
        if is_still(descriptor, building) and not any(building.iterdir()):
            building.rmdir()  # who had nothing to write leaves nothing behind
        os.close(descriptor)


def _lock(building: Path, cache: Path) -> int:
    for _ in range(100):  # another packer may publish, and so take the folder away, between any two of our calls
        try:
            building.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _no_folder(building, error) from None
        try:
            descriptor = os.open(building, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise _no_folder(building, error) from None
        if not try_lock(descriptor):
            os.close(descriptor)
            raise CacheLocked(f"another process is writing {cache}: wait for it, or choose another -o")
        if is_still(descriptor, building):
            return descriptor
        os.close(descriptor)  # the folder we locked was published meanwhile: it is no longer a building site
    raise CacheLocked(f"other processes keep writing {cache}: wait for them, or choose another -o")


def _no_folder(building: Path, error: OSError) -> CacheError:
    if error.errno in (errno.ELOOP, errno.ENOTDIR):
        return CacheError(f"{building} is a link or a file, expected a folder: remove it, or choose another -o")
    return CacheError(f"cannot write to {building}: {error.strerror}; choose another place with -o")


def mend(cache: Path) -> None:
    """Where a cache is missing because the one that published it was killed, put the old or the new one in its place.

    For every door that opens a cache. It costs nothing where there is one.
    """
    if (cache / MANIFEST).exists() or not cache.resolve().name:
        return
    cache = cache.resolve()
    if needs_recovery(building_folder(cache), cache):
        with building_lock(cache):
            pass


def clear_leftovers(cache: Path) -> None:
    """Remove what a kill at the end may have left: the replaced cache, a copy, or a journal nobody needs."""
    building = building_folder(cache)
    (cache / JOURNAL).unlink(missing_ok=True)
    if needs_recovery(building, cache):
        with contextlib.suppress(CacheLocked), building_lock(cache):
            pass
    if building.exists() and not _is_work(building):
        with contextlib.suppress(CacheLocked), building_lock(cache):  # locked: somebody is just beginning there
            if not _is_work(building):
                shutil.rmtree(building)


def _is_work(building: Path) -> bool:
    """Whether a run could go on from there: a journal, or shards."""
    return any(path.name == JOURNAL or shard_number(path.name) is not None for path in building.iterdir())
