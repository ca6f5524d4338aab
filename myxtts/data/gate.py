"""Lets a feed through to steps whose shards are on this machine, and has those of the next ones fetched meanwhile."""

from __future__ import annotations

import itertools
import threading
from collections import OrderedDict
from collections.abc import Generator, Iterator
from typing import Any

import numpy as np

from myxtts.cache.format import track_file
from myxtts.cache.mirrored import MirroredCache
from myxtts.data.order import Order
from myxtts.data.shard_order import ShardOrder
from myxtts.errors import MyXTTSError

GATE = "wait_for_shards"  # what the stage of a pipeline is called: the doctor takes no offence at it
_STREAMS = 4  # iterators over one dataset that may be under way at once
_BLOCKS_KEPT = 2  # behind the one that is asked for, batches of the one before may still be in the making
_WINDOWS_AHEAD = 64

Needs = list[list[int]]  # per cache the shards


class Gate:
    """`wait(first, stop)` returns when all shards that these steps read are mapped.

    It is called for one block of steps after the other. What a block reads stays mapped until two more were asked for:
    at most 16 batches are made at once, a block has 64, so those of the block before the last are all made by then.
    """

    def __init__(self, order: Order, caches: list[Any], payload: tuple[str, ...], replica: int, replicas: int):
        self._order, self._part = order, (replica, replicas)
        self._mirrors = [(number, cache.mirror) for number, cache in enumerate(caches)
                         if isinstance(cache, MirroredCache)]  # fmt: skip
        self._shards = [len(cache.shards) if isinstance(cache, MirroredCache) else 0 for cache in caches]
        self._streams: OrderedDict[int, list[Needs]] = OrderedDict()  # the step each asks for next -> its last blocks
        self._lock = threading.Lock()
        self._failed: MyXTTSError | None = None
        for _, mirror in self._mirrors:
            mirror.serve([track_file(name) for name in payload])

    def guard(self, batches: Generator[Any]) -> Generator[Any]:
        """The batches of a feed; what ended the waiting is raised as it was, and the end of reading is noted."""
        try:
            yield from batches
        except Exception:
            if self._failed is not None:
                raise self._failed from None
            raise
        finally:
            for _, mirror in self._mirrors:
                mirror.release(self)

    def wait(self, first: int, stop: int) -> None:
        try:
            self._wait(first, stop)
        except MyXTTSError as error:
            self._failed = error  # TensorFlow would make a trace of it
            raise

    def _wait(self, first: int, stop: int) -> None:
        windows = self._windows(first)
        needs = self._joined(itertools.takewhile(lambda window: self._begins(window) < stop, windows))
        with self._lock:
            kept = [*self._streams.pop(first, []), needs][-_BLOCKS_KEPT - 1 :]
            self._streams[stop] = kept
            while len(self._streams) > _STREAMS:
                self._streams.popitem(last=False)
            pinned = [blocks for stream in self._streams.values() for blocks in stream]
        later = self._joined(itertools.islice(self._windows(stop), _WINDOWS_AHEAD))
        for number, mirror in self._mirrors:
            keep = {shard for block in pinned for shard in block[number]}
            mirror.require(self, sorted(keep), needs[number], later[number])

    def _windows(self, step: int) -> Iterator[tuple[int, int]]:
        """The windows from that of a step on, without end."""
        if not isinstance(self._order, ShardOrder):
            return ((step // self._order.steps_per_epoch + epoch, 0) for epoch in itertools.count())
        order, (epoch, window) = self._order, self._order.window_of(step)
        places = itertools.count(epoch * order.windows + window)
        return (divmod(place, order.windows) for place in places)

    def _begins(self, window: tuple[int, int]) -> int:
        if not isinstance(self._order, ShardOrder):
            return window[0] * self._order.steps_per_epoch
        return self._order.first_step(*window)

    def _joined(self, windows: Any) -> Needs:
        """Per cache the shards of some windows, each once, in the order in which they are needed."""
        needs: list[dict[int, None]] = [{} for _ in self._shards]
        for window in windows:
            for number, shards in enumerate(self._reads(*window)):
                needs[number].update(dict.fromkeys(np.asarray(shards).tolist()))
            if all(len(need) == count for need, count in zip(needs, self._shards, strict=True)):
                break  # all there are
        return [list(need) for need in needs]

    def _reads(self, epoch: int, window: int) -> list[Any]:
        if not isinstance(self._order, ShardOrder):
            return [range(count) for count in self._shards]
        shard_lists = self._order.shards_of(epoch, window, *self._part)
        return [shards if count else [] for shards, count in zip(shard_lists, self._shards, strict=True)]
