"""Keeps those shards of a far-away cache on this machine that are needed now and next, within a bound.

Threads fetch what is wanted in the order in which it is wanted, ahead of use. A file is fetched under another name,
resumed where it was cut off, checked against the hash of every utterance, and only then renamed and mapped: what is
mapped is whole. Where there is no room, the shard that was needed longest ago gives way; one in use never does.
A server that is down is tried again for ever, and that is said.
"""

from __future__ import annotations

import logging
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

import xxhash

from myxtts.cache import cut_off
from myxtts.cache.format import HEADER_BYTES, array_type, hash_column, row_bytes
from myxtts.cache.reader import Index
from myxtts.cache.remote import Remote, Unreachable
from myxtts.cache.sharded import ShardedCache
from myxtts.errors import CacheDamaged, CacheError, MyXTTSError
from myxtts.files import open_append, put_in_place

log = logging.getLogger(__name__)

_THREADS = 2  # one alone waits for its disk while it hashes; more would make the first shard come later
_RETRY_SECONDS, _LONGEST_RETRY_SECONDS = 1.0, 30.0
_SAY_SECONDS = 10.0
_LEAVING_SECONDS = 5.0
_PART = ".part"


class Mirror:
    """The shards of one cache. `limit_bytes` bounds their tracks; the index and the tokens come on top."""

    def __init__(self, cache: ShardedCache, remote: Remote, limit_bytes: int):
        self._cache, self._remote, self._limit = cache, remote, limit_bytes
        self.names: tuple[str, ...] = ()
        self._held: OrderedDict[int, int] = OrderedDict()  # shard -> its bytes; the least recently needed first
        self._mapped: set[int] = set()
        self._wanted: dict[Hashable, list[int]] = {}
        self._pinned: dict[Hashable, set[int]] = {}
        self._left: dict[Hashable, float] = {}  # who reads no more, since when
        self._gone: weakref.WeakSet[Any] = weakref.WeakSet()
        self._fetching: dict[int, int] = {}  # shard -> the bytes that are kept free for it
        self._failed: MyXTTSError | None = None
        self._trouble = ""
        self._changed = threading.Condition()
        self._threads: list[threading.Thread] = []

    # ---- what a reader asks for ----------------------------------------------------------------------------------

    def serve(self, names: Sequence[str]) -> None:
        """Begin to mirror these files of each shard, with those that an earlier run has left."""
        with self._changed:
            if self._threads:
                if not set(names) <= set(self.names):
                    raise CacheError(f"{self._remote.address} is mirrored with {', '.join(self.names)} only: {names}")
                return
            self.names = tuple(names)
            for number in range(len(self._cache.shards)):
                if all(self._path(number, name).is_file() for name in names):
                    self._held[number] = self._bytes(number)
            self._threads = [threading.Thread(target=self._work, name="myxtts-mirror", daemon=True)
                             for _ in range(_THREADS)]  # fmt: skip
            for thread in self._threads:
                thread.start()

    def require(self, who: Hashable, keep: Sequence[int], now: Sequence[int], later: Sequence[int]) -> None:
        """Wait until the shards `now` are mapped. They and `keep` stay until `who` asks again; `later` are fetched
        next. Waiting is said."""
        with self._changed:
            self._pinned[who] = {*keep, *now}
            self._wanted[who] = [*now, *later]
            self._refuse_too_much(now)
            for number in reversed([*now, *later]):
                if number in self._held:
                    self._held.move_to_end(number)
            self._changed.notify_all()
            started = said = time.monotonic()
            while missing := [number for number in now if not self._map(number)]:
                if self._failed is not None:
                    raise self._failed
                if who in self._gone:
                    raise CacheError("nobody waits for these batches any more")
                self._changed.wait(1.0)
                if time.monotonic() - said > _SAY_SECONDS:
                    said = time.monotonic()
                    log.warning("waiting for %d of %d shards of %s for %.0f s%s", len(missing), len(now),
                                self._remote.address, said - started, self._trouble)  # fmt: skip

    def release(self, who: Hashable) -> None:
        """Somebody reads no more: what he kept may go, once batches that are still in the making are made."""
        with self._changed:
            self._left[who] = time.monotonic()
            self._gone.add(who)
            self._wanted.pop(who, None)
            self._changed.notify_all()

    def _in_use(self) -> set[int]:
        for who, since in list(self._left.items()):
            if time.monotonic() - since > _LEAVING_SECONDS:
                del self._left[who]
                self._pinned.pop(who, None)
        return set[int]().union(*self._pinned.values())

    def is_mapped(self, number: int) -> bool:
        """To be asked, and what follows to be done, under `lock`."""
        return number in self._mapped

    @property
    def lock(self) -> threading.Condition:
        return self._changed

    @property
    def held_bytes(self) -> int:
        with self._changed:
            return sum(self._held.values()) + sum(self._fetching.values())

    def _refuse_too_much(self, now: Sequence[int]) -> None:
        pinned = set().union(*(shards for who, shards in self._pinned.items() if who not in self._left))
        needed = sum(map(self._bytes, pinned))
        if needed > self._limit:
            raise CacheError(
                f"{len(pinned)} shards of {self._remote.address} are needed at once, {needed / 1e9:.3g} GB, and "
                f"data.mirror_gb is {self._limit / 1e9:.3g}: raise it, or set data.shuffle_shards to fewer"
            )

    def _map(self, number: int) -> bool:
        """Map a shard that is here; False if it is not."""
        if number not in self._held:
            return False
        if number not in self._mapped:
            for name in self.names:
                self._cache.put(number, name)
            self._mapped.add(number)
        return True

    # ---- what the threads do -------------------------------------------------------------------------------------

    def _work(self) -> None:
        while True:
            with self._changed:
                while (number := self._next()) is None:
                    self._changed.wait(_LEAVING_SECONDS)
                self._fetching[number] = self._bytes(number)
            try:
                whole = all(self._fetch_file(number, name) for name in self.names)
            except (MyXTTSError, OSError) as error:
                self._fail(error)
                return
            with self._changed:
                n_bytes = self._fetching.pop(number)
                if whole:
                    self._held[number], self._trouble = n_bytes, ""
                self._changed.notify_all()

    def _fail(self, error: MyXTTSError | OSError) -> None:
        folder = self._cache.folder
        if isinstance(error, OSError):
            error = CacheError(f"cannot write to {folder}: {error.strerror}; free some space, or set data.mirror_dir")
        with self._changed:
            self._failed = error
            self._changed.notify_all()

    def _next(self) -> int | None:
        """The first shard that is wanted and not here, if there is or can be made room for it."""
        queue = [number for wanted in self._wanted.values() for number in wanted]
        for place, number in enumerate(queue):
            if number in self._held or number in self._fetching:
                continue
            return number if self._make_room(number, {*queue[:place]}) else None
        return None

    def _make_room(self, number: int, before: set[int]) -> bool:
        """Let shards go until this one fits. Not those that are pinned, nor what is wanted before it."""
        kept = before | self._in_use()
        free = self._limit - sum(self._held.values()) - sum(self._fetching.values())
        for old in [old for old in self._held if old not in kept]:
            if free >= self._bytes(number):
                break
            free += self._held[old]
            self._evict(old)
        return free >= self._bytes(number)

    def _evict(self, number: int) -> None:
        if number in self._mapped:
            self._mapped.remove(number)
            for name in self.names:
                self._cache.stretches[name].take(number)
        for name in self.names:
            cut_off.forget(self._path(number, name))
            self._path(number, name).unlink(missing_ok=True)
        del self._held[number]

    def _fetch_file(self, number: int, name: str) -> bool:
        """Until it is whole: what was cut off is resumed, what came wrong is fetched anew, once. False if nobody wants
        it any more."""
        shard, path = self._cache.shards[number], self._path(number, name)
        if path.is_file():
            return True
        part = path.with_name(f"{name}{_PART}")
        for last in (False, True):
            if not self._download(number, name, part):
                return False
            if _is_sound(shard, name, part):
                put_in_place(part, path)
                return True
            part.unlink()
            if last:
                raise CacheDamaged(
                    f"{self._remote.address}/{shard.folder.name}/{name} is damaged: what came has other hashes than "
                    "its index; run 'myxtts verify' where it lies"
                )
            log.warning("%s of shard %s came damaged and is fetched again", name, shard.folder.name)
        return False

    def _download(self, number: int, name: str, part: Path) -> bool:
        shard, pause = self._cache.shards[number], _RETRY_SECONDS
        expected = file_bytes(name, shard.body["lengths"][name])
        while True:
            before = part.stat().st_size if part.exists() else 0
            try:
                self._append(f"{shard.folder.name}/{name}", part, expected)
                return True
            except Unreachable as error:
                if part.exists() and part.stat().st_size > before:
                    pause = _RETRY_SECONDS  # it lives
                self._trouble = f" ({error})"
                log.warning("%s; trying again in %.0f s", error, pause)
            if not self._pause(number, pause):
                return False
            pause = min(2 * pause, _LONGEST_RETRY_SECONDS)

    def _append(self, name: str, part: Path, expected: int) -> None:
        with open_append(part) as file:
            if file.tell() > expected:
                file.truncate(0)
            if file.tell() < expected:
                for piece in self._remote.stream(name, file.tell()):
                    file.write(piece)
            if file.tell() < expected:
                raise Unreachable(f"{self._remote.address}/{name} was cut off")

    def _pause(self, number: int, seconds: float) -> bool:
        """Wait; False as soon as nobody wants the shard any more."""
        with self._changed:
            self._changed.wait_for(lambda: not self._is_wanted(number), seconds)
            return self._is_wanted(number)

    def _is_wanted(self, number: int) -> bool:
        return any(number in wanted for wanted in self._wanted.values())

    def _path(self, number: int, name: str) -> Path:
        return self._cache.shards[number].folder / name

    def _bytes(self, number: int) -> int:
        lengths = self._cache.shards[number].body["lengths"]
        return sum(file_bytes(name, lengths[name]) for name in self.names)


def file_bytes(name: str, rows: int) -> int:
    return HEADER_BYTES + rows * row_bytes(*array_type(name))


def _is_sound(shard: Index, name: str, path: Path) -> bool:
    """Whether every utterance of a file that has just come is what was packed."""
    rows, width = shard.body["lengths"][name], row_bytes(*array_type(name))
    if path.stat().st_size != file_bytes(name, rows):
        return False
    hashes = shard.columns[hash_column(name.removesuffix(".npy"))].tolist()
    with open(path, "rb") as file:
        file.seek(HEADER_BYTES + width)  # past the padding row
        for frames, expected in zip(shard.columns["n_frames"].tolist(), hashes, strict=True):
            if xxhash.xxh3_64_intdigest(file.read(frames * width)) != expected:
                return False
    return True
