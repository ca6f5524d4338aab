"""Packs a corpus to an address: into shards on this machine, then file by file to the store, the list of shards last.

So whoever reads there sees a whole cache or none. What has arrived is compared: by the store's own tag where that is
the MD5 of the content, as in S3, else by reading it back. A run that was killed goes on with what is not there yet:
shards that are packed stay in a folder on this machine until all have arrived, beside a list of what has.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import xxhash

from myxtts.cache.format import MANIFEST, shard_number
from myxtts.cache.manifest import load_manifest
from myxtts.cache.mirror_folder import claim, name_for
from myxtts.cache.pack import load_table, refuse_to_lose_of, refuse_unlike
from myxtts.cache.patience import patiently
from myxtts.cache.publish import building_folder
from myxtts.cache.remote import PART_BYTES, Absent, Remote, Unreachable
from myxtts.cache.settings import PackSettings
from myxtts.cache.shards import pack_shards
from myxtts.corpus.read import Corpus
from myxtts.errors import CacheDamaged, CacheError, CacheLocked, CacheMismatch
from myxtts.features.token_table import TokenTable
from myxtts.files import fingerprint, hash_file, open_append, write_whole

log = logging.getLogger(__name__)

_FILES_AT_ONCE = 4  # each in up to four parts of 8 MB: 128 MB of memory at most
_AGAIN = "run the same command again to resume, what has arrived is kept"
_PACKED, _ARRIVED = "packed.cache", "arrived"

Shown = Callable[[int, int], None]  # bytes that have arrived, of how many
T = TypeVar("T")


def pack_to_address(
    corpus: Corpus,
    address: str,
    settings: PackSettings,
    executor: Executor,
    mirrors: Path,
    *,
    table: TokenTable | None = None,
    rebuild: bool = False,
    show: Shown | None = None,
    **options: Any,
) -> None:
    """Pack `corpus` to `address`, by way of a folder in `mirrors`. Options are those of `pack_shards`."""
    remote, table = Remote(address), table or load_table(None)
    remote.refuse_to_write()
    with _own_folder(remote.address, mirrors) as folder:
        body, cache, options = _body_there(remote, folder, rebuild), folder / _PACKED, {"table": table, **options}
        if body is not None and rebuild:
            refuse_to_lose_of(corpus, address, body)
        elif body is not None:
            refuse_unlike(corpus, address, body, settings, table)
            _leave_nothing(folder)  # a run may have been killed when all had arrived
            return
        try:
            pack_shards(corpus, cache, settings, executor, **options)
        except CacheMismatch:  # what an earlier run has left is of another state of the corpus
            _leave_nothing(folder)
            pack_shards(corpus, cache, settings, executor, **options)
        Upload(cache, remote, folder / _ARRIVED).run(show)
        _leave_nothing(folder)


def _leave_nothing(folder: Path) -> None:
    """But the folder itself, which is locked."""
    shutil.rmtree(folder / _PACKED, ignore_errors=True)
    shutil.rmtree(building_folder(folder / _PACKED), ignore_errors=True)
    (folder / _ARRIVED).unlink(missing_ok=True)


@contextmanager
def _own_folder(address: str, mirrors: Path) -> Iterator[Path]:
    """Where the cache for an address is packed, for one process at a time."""
    folder = mirrors / f"{name_for(address)}.upload"
    descriptor = claim(folder)
    if descriptor is None:
        raise CacheLocked(f"another process is packing to {address} in {folder}: wait for it")
    try:
        yield folder
    finally:
        with contextlib.suppress(OSError):  # something is in it, to go on from; or it is gone
            folder.rmdir()
        os.close(descriptor)


def _body_there(remote: Remote, folder: Path, rebuild: bool) -> dict[str, Any] | None:
    """The cache.json of the cache that is at the address, None if there is none, or one that cannot be read is to be
    replaced."""
    with tempfile.TemporaryDirectory(dir=folder) as there:
        try:
            write_whole(Path(there, MANIFEST), remote.read(MANIFEST), durable=False)
        except Absent:
            return None
        try:
            return load_manifest(Path(there))
        except CacheError:
            if rebuild:
                return None
            raise CacheDamaged(
                f"{remote.address}/{MANIFEST} is damaged or of another version of MyXTTS: pack again with --rebuild"
            ) from None


class Upload:
    """The files of a cache in shards on their way. `arrived` is the list of those that are there and compared."""

    def __init__(self, cache: Path, remote: Remote, arrived: Path):
        self._cache, self._remote, self._body = cache, remote, load_manifest(cache)
        self._seal = fingerprint(self._body)
        self._arrived, self._lock, self._stop = arrived, threading.Lock(), threading.Event()
        self._there = dict(map(tuple, _lines(arrived)))

    def run(self, show: Shown | None = None) -> None:
        names = sorted(path.relative_to(self._cache).as_posix() for path in self._cache.rglob("*") if path.is_file())
        names.remove(MANIFEST)
        total, done = sum((self._cache / name).stat().st_size for name in names), 0
        self._patiently(lambda: self._remote.delete(MANIFEST))  # nobody shall begin with half of another cache
        with ThreadPoolExecutor(_FILES_AT_ONCE, "myxtts-upload") as pool:
            try:
                for sent in as_completed([pool.submit(self._send, name) for name in names]):
                    done += sent.result()
                    if show:
                        show(done, total)
            finally:
                self._stop.set()  # after Ctrl-C, or an error of one file, the others do not wait for the store either
                pool.shutdown(cancel_futures=True)
        self._stop.clear()
        self._send(MANIFEST)
        self._clear({MANIFEST, *names})

    def _send(self, name: str) -> int:
        """Put a file there unless it is, and compare; its bytes."""
        path = self._cache / name
        size, noted = path.stat().st_size, self._there.get(name)
        if noted and noted[0] == self._seal and self._patiently(lambda: self._remote.stat(name)) == (size, noted[1]):
            return size
        for _ in range(2):
            tag = self._patiently(lambda: self._remote.put(name, path))
            if tag == tag_of(path) or self._patiently(lambda: self._hash_there(name)) == hash_file(path):
                self._note(name, tag)
                return size
            log.warning("%s/%s arrived damaged and is sent again", self._remote.address, name)
        raise CacheDamaged(f"{self._remote.address}/{name} arrived damaged twice: check the connection; {_AGAIN}")

    def _hash_there(self, name: str) -> str:
        digest = xxhash.xxh3_128()
        for piece in self._remote.stream(name):
            digest.update(piece)
        return digest.hexdigest()

    def _note(self, name: str, tag: str) -> None:
        with self._lock, open_append(self._arrived) as file:
            file.write(json.dumps([name, [self._seal, tag]]).encode() + b"\n")

    def _clear(self, kept: set[str]) -> None:
        """Delete shards of an older cache that had more of them; the new one is there, whether we may or not."""
        try:
            for name in self._patiently(self._remote.names):
                if name not in kept and shard_number(name.partition("/")[0]) is not None:
                    self._remote.delete(name)
        except CacheError as error:
            log.warning("shards of an older cache may be left: %s", error)

    def _patiently(self, work: Callable[[], T]) -> T:
        try:
            return patiently(work, self._stop)
        except Unreachable as error:
            raise CacheError(f"{error}; {_AGAIN}") from None


def _lines(path: Path) -> list[list[Any]]:
    """Those that are whole: a kill may have cut one off."""
    lines = []
    for line in path.read_bytes().split(b"\n") if path.is_file() else ():
        with contextlib.suppress(ValueError):
            lines.append(json.loads(line))
    return lines


def tag_of(path: Path) -> str:
    """How S3 names a file's content: its MD5; of a file in parts the MD5 of theirs and how many they are."""
    with open(path, "rb") as file:
        parts = [hashlib.md5(part, usedforsecurity=False) for part in iter(lambda: file.read(PART_BYTES), b"")]
    if path.stat().st_size <= PART_BYTES:
        return parts[0].hexdigest() if parts else hashlib.md5(b"", usedforsecurity=False).hexdigest()
    together = hashlib.md5(b"".join(part.digest() for part in parts), usedforsecurity=False)
    return f"{together.hexdigest()}-{len(parts)}"
