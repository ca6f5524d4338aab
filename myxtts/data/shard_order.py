"""The order of a cache in shards of which only some are at hand: a few shards at a time, each utterance once an epoch.

An epoch takes the shards in an order of its own, and goes through it in windows of about `shuffle_shards` shards. In a
window, row i of every batch draws from the i-th part of what the window holds: so a batch is made of all its shards
alike, and a replica, whose rows are neighbours, needs only its share of the shards. However many replicas there are,
they share the same global batches, and whether a shard is on this machine or far away changes nothing.

As in `Order` all of it is arithmetic. Each bucket's utterances lie on a line, shard after shard. An epoch permutes the
shards and so the pieces of the line; its length, and with it the number of batches, stays. Windows are equal parts of
each bucket's batches, so a window may cut through a shard, which then serves in two: one shard more to hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from myxtts.data.buckets import BucketTable
from myxtts.data.order import UNIT, Batches, Order
from myxtts.data.permutation import NUMPY, Arrays, draw, grid, permute, stream

_BATCHES, _SLOTS, _SHARDS = range(5, 8)  # streams of their own beside those of the plain order and the references


class ShardTables(NamedTuple):
    """What is looked up on the way. A cell is what a bucket has in a window, a piece what it has in a shard."""

    last_of_window: Any  # [windows] batches of this window and of all before it
    window: Any  # [windows, 4] first batch; batches and the grid of their number
    last_of_cell: Any  # [windows * buckets] batches of this cell and of all before it
    cell: Any  # [windows * buckets, 8] first batch, batch size, batches and their grid, slots, first slot, bucket
    place: Any  # [pieces, 6] first piece of the bucket; shards of its cache and their grid; the cache; place among them
    piece: Any  # [pieces, 2] where it begins on the line, its length
    members: Any  # [members] utterances
    ends: Any  # [members] weights added up, as in `order.Tables`


class ShardOrder(Order):
    """`Order` for caches in shards, window by window."""

    def __init__(
        self,
        seed: int,
        tables: BucketTable | Sequence[BucketTable],
        shard_ends: Sequence[Any],
        shuffle_shards: int,
        **weights: Any,
    ):
        """`shard_ends`: per cache where the utterances of each shard end in its index; of one in one piece, one end."""
        super().__init__(seed, tables, **weights)
        tables = [tables] if isinstance(tables, BucketTable) else list(tables)
        self._plain = self.tables
        self._line_unit = 1 if self._plain.ends is None else UNIT
        self.shard_counts = [len(ends) for ends in shard_ends]
        self.windows = windows_of(shard_ends, shuffle_shards)
        self.tables = self._tabulate(tables, shard_ends)
        self._purposes = [stream(seed, purpose) for purpose in (_BATCHES, _SLOTS, _SHARDS)]

    def _tabulate(self, tables: Sequence[BucketTable], shard_ends: Sequence[Any]) -> Any:
        _, size, slots, _, _, first_slot, _ = self._plain.bucket.T
        batches = -(-slots // size)
        edges = np.arange(self.windows + 1)[:, None] * batches // self.windows  # [windows + 1, buckets]
        count, first = np.diff(edges, axis=0), edges[:-1]
        own = np.minimum(edges[1:] * size, slots) - np.minimum(first * size, slots)
        rows, columns = np.array([grid(int(n))[1:] for n in count.ravel()]).T
        last = np.cumsum(count)
        bucket = np.broadcast_to(np.arange(len(size)), count.shape)
        sizes = np.broadcast_to(size, count.shape).ravel()
        cell = (last - count.ravel(), sizes, count.ravel(), rows, columns, own.ravel(),
                (first_slot + first * size).ravel(), bucket.ravel())  # fmt: skip
        in_window = count.sum(axis=1)
        grids = np.array([grid(int(n)) for n in in_window])
        window = np.column_stack([np.cumsum(in_window) - in_window, grids])
        place, piece = self._pieces(tables, shard_ends)
        members, ends = self._plain.members, self._plain.ends
        return ShardTables(np.cumsum(in_window), window, last, np.stack(cell, axis=1), place, piece, members, ends)

    def _pieces(self, tables: Sequence[BucketTable], shard_ends: Sequence[Any]) -> tuple[Any, Any]:
        """Where each bucket's utterances of each shard lie on the line: members are in the order of their shards."""
        places: list[NDArray[np.int64]] = []
        pieces: list[NDArray[np.int64]] = []
        first_member = first_piece = 0
        line = self._plain.ends
        for cache, (table, ends) in enumerate(zip(tables, shard_ends, strict=True)):
            shards = grid(len(ends))
            for start, stop in zip(table.starts, table.starts[1:], strict=False):
                inside = np.searchsorted(table.members[start:stop], ends)  # members before the end of each shard
                cuts = first_member + np.append(0, inside)
                if line is not None:
                    cuts = np.append(line, 0)[cuts - 1]  # where the weights of those before it end
                    cuts[0] = self._plain.bucket[len(places), 5] * UNIT
                    cuts = np.maximum.accumulate(cuts)
                of_bucket = (first_piece, *shards, cache)
                places.append(np.column_stack([np.tile(of_bucket, (len(ends), 1)), np.arange(len(ends))]))
                pieces.append(np.column_stack([cuts[:-1], np.diff(cuts)]))
                first_member, first_piece = first_member + int(stop - start), first_piece + len(ends)
        return np.concatenate(places), np.concatenate(pieces)

    def compute(self, steps: Any, tables: Any, xp: Arrays = NUMPY) -> Batches:
        epoch, place = steps // self.steps_per_epoch, steps % self.steps_per_epoch
        window = xp.after(tables.last_of_window, place)
        first, *grid_of_window = xp.unstack(xp.take(tables.window, window))
        key = draw(self._purposes[0], epoch, window, xp=xp)
        number = first + permute(place - first, tuple(grid_of_window), key, xp)
        cell = xp.after(tables.last_of_cell, number)

        # From here on one line per step and one column per row of its batch.
        fields = xp.unstack(xp.take(tables.cell, cell)[:, None])
        first_batch, size, count, rows, columns, slots, first_slot, bucket = fields
        inside = xp.arange(self.largest_batch)[None]
        key = draw(draw(self._purposes[1], epoch, cell, xp=xp)[:, None], inside, xp=xp)
        slot = inside * count + permute(number[:, None] - first_batch, (count, rows, columns), key, xp)
        real = (slot < slots) & (inside < size)
        slot = first_slot + xp.where(slot < slots, slot, slots - 1)
        member = self._member(epoch, slot, bucket[:, 0], tables, xp)
        return Batches(epoch, bucket[:, 0], xp.int64(xp.take(tables.members, member)), xp.float32(real))

    def _member(self, epoch: Any, slot: Any, bucket: Any, tables: Any, xp: Arrays) -> Any:
        """Which member a slot names in an epoch [steps, batch]."""
        at = slot * self._line_unit
        if tables.ends is not None:
            at = at + self._offset(epoch, bucket, xp)[:, None]
        epochs, own = xp.unique(epoch)
        pieces, ends, lengths = self._laid(epochs, tables, xp)
        total = ends[0, -1]
        shift = (xp.arange(xp.length(epochs)) * total)[:, None]
        piece_index = xp.after(xp.flat(ends + shift), at + xp.take(xp.flat(shift), own)[:, None])
        begin = xp.take(xp.flat(ends - lengths + shift), piece_index) - xp.take(xp.flat(shift), own)[:, None]
        at = at - begin + xp.take(xp.flat(xp.take(tables.piece[:, 0], pieces)), piece_index)
        return at if tables.ends is None else xp.after(tables.ends, at)

    def _laid(self, epochs: Any, tables: Any, xp: Arrays) -> tuple[Any, Any, Any]:
        """The pieces of the line as some epochs lay them [epochs, pieces]: which, where each ends, how long it is."""
        first, shards, rows, columns, cache, place = xp.unstack(tables.place[None])
        key = draw(draw(self._purposes[2], epochs, xp=xp)[:, None], cache, xp=xp)
        pieces = first + permute(place, (shards, rows, columns), key, xp)
        lengths = xp.take(tables.piece[:, 1], pieces)
        return pieces, xp.cumsum(lengths), lengths

    def window_of(self, step: int) -> tuple[int, int]:
        """(epoch, window) of a step."""
        epoch, place = divmod(step, self.steps_per_epoch)
        return epoch, int(np.searchsorted(self.tables.last_of_window, place, side="right"))

    def first_step(self, epoch: int, window: int) -> int:
        return epoch * self.steps_per_epoch + int(self.tables.window[window, 0])

    def shards_of(self, epoch: int, window: int, replica: int = 0, replicas: int = 1) -> list[NDArray[np.int64]]:
        """Per cache the shards that a replica reads in a window, in the order of the epoch."""
        pieces, ends, _ = (array[0] for array in self._laid(np.array([epoch]), self.tables, NUMPY))
        cells = self.tables.cell[window * len(self.buckets) : (window + 1) * len(self.buckets)]
        used = np.zeros(len(ends) + 1, np.int64)  # +1 where a run of pieces begins, -1 behind its end
        for _, size, count, _, _, slots, first_slot, _ in cells.tolist():
            if not slots:
                continue
            part = -(-size // replicas)
            rows = np.unique((replica * part + np.arange(part)) % size)
            begin, stop = np.minimum(rows * count, slots - 1), np.minimum((rows + 1) * count, slots) - 1
            reach = np.array([0, self._line_unit - 1])[:, None]  # inside a slot a weighted line is read anywhere
            at = (first_slot + np.stack([begin, np.maximum(begin, stop)])) * self._line_unit + reach
            low, high = np.minimum(np.searchsorted(ends, at, side="right"), len(ends) - 1)
            np.add.at(used, low, 1)
            np.add.at(used, high + 1, -1)
        touched = np.flatnonzero(np.cumsum(used[:-1]))
        return self._by_cache(pieces, touched)

    def _by_cache(self, pieces: Any, touched: Any) -> list[NDArray[np.int64]]:
        first, _, _, _, cache, place = self.tables.place.T
        touched = touched[np.argsort(place[touched], kind="stable")]
        shard = pieces[touched] - first[touched]
        counts = range(len(self.shard_counts))
        return [np.array(list(dict.fromkeys(shard[cache[touched] == number].tolist())), np.int64) for number in counts]


def windows_of(shard_ends: Sequence[Any], shuffle_shards: int) -> int:
    """In how many windows an epoch is gone through; 1 is the plain order."""
    return max(-(-len(ends) // shuffle_shards) for ends in shard_ends)
