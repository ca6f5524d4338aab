"""From a step number to the utterances of its batch: arithmetic over (seed, step), nothing remembered.

A step lies in an epoch; the batches of the epoch are permuted by (seed, epoch); a batch names its bucket and its slots
there; the slots of a bucket are permuted by (seed, epoch, bucket); a slot names its utterance. So any step costs the
same, a run resumes from an integer, and however many replicas there are, they share the same global batches.

- Equal weights: a slot is an utterance, each comes exactly once per epoch.
- Utterance weights: a bucket has as many slots as its weights add up to, and an utterance of share 2.3 gets two or
  three of them. Which of the two changes with the epochs so that counts stay close to epochs * share.
- Cache weights: the share of an epoch's utterances that comes from each cache, relative to the other caches. The epoch
  keeps its length. Without them every cache is read whole. A batch comes from one cache in any case.

The last batch of a bucket may be short: rows of weight 0 fill it, which repeat utterances of that bucket.
Each formula is written once and runs on numpy arrays and in TensorFlow graphs alike (`Arrays`, graph.py); all of it is
integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from myxtts.data.buckets import BucketTable
from myxtts.data.permutation import NUMPY, Arrays, draw, grid, permute, stream
from myxtts.errors import ConfigError

_BATCHES, _SLOTS, _OFFSETS = range(1, 4)  # each purpose draws from a stream of its own; 4 is that of references
UNIT = 1 << 31  # one slot in fixed point: weights keep 31 bits, and 2^31 slots still fit an int64
_GOLDEN = 1327217885  # UNIT / golden ratio: its multiples fill [0, UNIT) more evenly than random numbers
END_OF_TIME = 1 << 32  # steps and epochs are drawn from by their low 32 bits


class Bucket(NamedTuple):
    """One static shape of one cache."""

    cache: int
    frames: int
    tokens: int
    batch: int


@dataclass(frozen=True, eq=False)
class Batch:
    """What a step trains on. `bucket` counts through `Order.buckets`; utterances are rows of that cache's index."""

    step: int
    epoch: int
    cache: int
    bucket: int
    utterances: NDArray[np.int64]  # [batch]
    weight: NDArray[np.float32]  # [batch] 1, or 0 for a row that only fills up


class Batches(NamedTuple):
    """Arrays or tensors for many steps; past the end of a smaller bucket's batch the rows have weight 0 too."""

    epoch: Any  # [steps]
    bucket: Any  # [steps]
    utterances: Any  # [steps, largest batch] int64
    weight: Any  # [steps, largest batch] float32


class Tables(NamedTuple):
    """What is looked up on the way, over the buckets of all caches one after the other."""

    last_batch: Any  # [buckets] batches of this bucket and of all before it
    bucket: Any  # [buckets, 7] first batch, batch size, slots, rows and columns of their grid, first slot, first member
    members: Any  # [members] utterances
    ends: Any  # [members] weights added up, in UNITs; None when a slot is a member


class Order:
    """The order of all batches, for ever: `order.batch(step)`. The whole state of a run through it is the step."""

    def __init__(
        self,
        seed: int,
        tables: BucketTable | Sequence[BucketTable],
        *,
        cache_weights: Sequence[float] | None = None,
        utterance_weights: Sequence[Any] | None = None,
    ):
        """One table per cache. `utterance_weights`: per cache None or a weight for each row; their scale is free."""
        tables = [tables] if isinstance(tables, BucketTable) else list(tables)
        self.seed = seed
        self.buckets = tuple(Bucket(c, f, t, b) for c, table in enumerate(tables) for b, f, t in table.shapes)
        self.largest_batch = max(bucket.batch for bucket in self.buckets)
        self.tables: Any = _tabulate(tables, _shares(tables, cache_weights, utterance_weights))
        self.steps_per_epoch = int(self.tables.last_batch[-1])
        self._keys = {purpose: stream(seed, purpose) for purpose in (_BATCHES, _SLOTS, _OFFSETS)}

    def batch(self, step: int) -> Batch:
        batches = self.batches([step])
        bucket = int(batches.bucket[0])
        cache, _, _, size = self.buckets[bucket]
        return Batch(step, int(batches.epoch[0]), cache, bucket, batches.utterances[0, :size], batches.weight[0, :size])

    def batches(self, steps: Any) -> Batches:
        """Many steps at once, any steps: row i is the batch of `steps[i]`."""
        steps = np.asarray(steps, np.int64)
        if steps.size and not (steps.min() >= 0 and steps.max() < END_OF_TIME):
            raise ValueError(f"steps {steps.min()} to {steps.max()}: expected 0 to 2^32 - 1")
        return self.compute(steps, self.tables)

    def compute(self, steps: Any, tables: Tables, xp: Arrays = NUMPY) -> Batches:
        """`batches` without a check, over `tables`: the order's own, or the same as tensors with their `Arrays`."""
        epoch, place = steps // self.steps_per_epoch, steps % self.steps_per_epoch
        number = permute(place, grid(self.steps_per_epoch), draw(self._keys[_BATCHES], epoch, xp=xp), xp)
        bucket = xp.after(tables.last_batch, number)

        # From here on one line per step and one column per row of its batch.
        fields = xp.unstack(xp.take(tables.bucket, bucket)[:, None])
        first_batch, size, slots, rows, columns, first_slot, first_member = fields
        inside = xp.arange(self.largest_batch)[None]
        place = (number[:, None] - first_batch) * size + inside
        real = (place < slots) & (inside < size)

        key = draw(self._keys[_SLOTS], epoch, bucket, xp=xp)[:, None]
        slot = permute(place % slots, (slots, rows, columns), key, xp)
        if tables.ends is None:
            member = first_member + slot
        else:
            member = xp.after(tables.ends, (first_slot + slot) * UNIT + self._offset(epoch, bucket, xp)[:, None])
        return Batches(epoch, bucket, xp.int64(xp.take(tables.members, member)), xp.float32(real))

    def _offset(self, epoch: Any, bucket: Any, xp: Arrays) -> Any:
        """Where inside a slot the weights are read: a random start per bucket, a golden-ratio turn each epoch."""
        return (draw(self._keys[_OFFSETS], bucket, xp=xp) + epoch * _GOLDEN) % UNIT

    @staticmethod
    def shard(batch: Batch, replica: int, replicas: int) -> Batch:
        """What one replica takes of a global batch: equal contiguous parts, filled up with weight-0 rows."""
        utterances, weight = shard_rows(batch.utterances, batch.weight, replica, replicas)
        return replace(batch, utterances=utterances, weight=weight)

    @property
    def one_size(self) -> bool:
        """True if every bucket has the same batch size."""
        return all(bucket.batch == self.largest_batch for bucket in self.buckets)


def shard_rows(utterances: Any, weight: Any, replica: int, replicas: int, xp: Arrays = NUMPY) -> tuple[Any, Any]:
    """`Order.shard` for bare rows; with the `Arrays` of TensorFlow for tensors."""
    if not 0 <= replica < replicas:
        raise ValueError(f"replica {replica} of {replicas}: expected 0 to {replicas - 1}")
    size = xp.length(utterances)
    part = (size + replicas - 1) // replicas
    row = replica * part + xp.arange(part)
    return xp.take(utterances, row % size), xp.where(row < size, xp.take(weight, row % size), xp.float32(0))


def _tabulate(tables: Sequence[BucketTable], shares: NDArray[np.float64] | None) -> Tables:
    counts = np.concatenate([table.counts for table in tables])
    size = np.concatenate([table.batch for table in tables])
    starts = np.cumsum(counts) - counts
    members = tables[0].members if len(tables) == 1 else np.concatenate([table.members for table in tables])
    slots, ends = (counts, None) if shares is None else _lay_out(shares, starts, counts)
    batches = -(-slots // size)
    last_batch = np.cumsum(batches)
    rows, columns = np.array([grid(int(n))[1:] for n in slots]).T
    fields = (last_batch - batches, size, slots, rows, columns, np.cumsum(slots) - slots, starts)
    return Tables(last_batch, np.stack(fields, axis=1), members, ends)


def _lay_out(shares: Any, starts: Any, counts: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Slots per bucket, and where the share of each member ends when all are laid end to end, a slot being one UNIT.

    Reading this line once per slot, always at the same offset, gives each member the floor or the ceiling of its share.
    """
    slots = np.zeros(len(counts), np.int64)
    ends = np.empty(len(shares), np.int64)
    for bucket, (start, count) in enumerate(zip(starts, counts, strict=True)):
        added = np.cumsum(shares[start : start + count])
        total = added[-1] if count else 0.0
        slots[bucket] = max(round(total), 1) if total > 0 else 0
        added /= total or 1.0  # the last is exactly 1, so that a bucket ends where the next begins
        added = np.rint(added * (slots[bucket] * UNIT)).astype(np.int64)
        ends[start : start + count] = added + slots[:bucket].sum() * UNIT
    return slots, ends


def _shares(
    tables: Sequence[BucketTable], cache_weights: Sequence[float] | None, utterance_weights: Sequence[Any] | None
) -> NDArray[np.float64] | None:
    """Slots per epoch that each member should get; None when that is 1 throughout."""
    given = [None] * len(tables) if utterance_weights is None else utterance_weights
    given = [None if weights is None else np.asarray(weights, np.float64) for weights in given]
    for name, values in (("cache_weights", cache_weights), ("utterance_weights", given)):
        if values is not None and len(values) != len(tables):
            raise ConfigError(f"{name} has {len(values)} entries for {len(tables)} caches, expected one for each")
    if cache_weights is None and all(weights is None or np.all(weights == weights[:1]) for weights in given):
        return None
    sizes = np.array([len(table.members) for table in tables], np.float64)
    totals = sizes if cache_weights is None else _checked("cache_weights", np.where(sizes > 0, cache_weights, 0))
    totals = totals * (sizes.sum() / totals.sum())
    entries = zip(tables, given, totals, strict=True)
    return np.concatenate([_scaled(table, weights, total) for table, weights, total in entries])


def _scaled(table: BucketTable, weights: Any, total: float) -> NDArray[np.float64]:
    """Weights of the members that add up to `total`."""
    if weights is None or not len(table.members):
        return np.full(len(table.members), total / max(len(table.members), 1))
    shares = _checked("utterance_weights", weights[table.members])
    return shares * (total / shares.sum())


def _checked(name: str, weights: Any) -> NDArray[np.float64]:
    weights = np.asarray(weights, np.float64)
    if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.any()):
        raise ConfigError(f"{name}: found {weights.min()} to {weights.max()}, expected 0 or more, and one above 0")
    return weights


def balance_weights(labels: Any, temperature: float) -> NDArray[np.float64]:
    """Weights [n] of mean 1 with which the share of a label (speaker, language) goes as its count ^ (1 / temperature).

    1 leaves the corpus as it is, 5 lifts rare labels, infinity gives each label the same share. To balance two things
    multiply their weights: `Order` brings any weights back to mean 1.
    """
    if not temperature >= 1:
        raise ConfigError(f"temperature is {temperature}, expected 1 (as the corpus is) to inf (labels equally often)")
    _, label, counts = np.unique(np.asarray(labels), return_inverse=True, return_counts=True)
    share = counts ** (1.0 / temperature)
    return (share / share.sum() / counts)[label] * len(label)
