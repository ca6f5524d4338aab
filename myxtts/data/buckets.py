"""At most K batch shapes for a corpus, with the fewest padded frames any choice of K boundaries can have.

`plan_buckets` looks at each length once. What it minimises is what the device will really process: for a bucket
that ends at `frames` and takes `batch` rows, ceil(members / batch) * batch * frames. The rows that fill up a last
short batch count as padding, so a bucket that holds two utterances never pays.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myxtts.errors import ConfigError, CorpusError

# The dynamic programme compares pairs of boundaries; 2,048 of them are a 32 MB table and 0.1 s. Only a cap above
# 8,192 frames (95 s) with the usual multiple of 4 has more; then boundaries are thinned to every 2nd, 3rd, ...
_MAX_BOUNDARIES = 2048
_CHUNK = 1 << 22


@dataclass(frozen=True, eq=False)
class BucketTable:
    """Which utterances go into which shape. Bucket b holds `members[starts[b]:starts[b + 1]]`, in rising order."""

    frames: NDArray[np.int64]  # [buckets] rising
    tokens: NDArray[np.int64]  # [buckets]
    batch: NDArray[np.int64]  # [buckets]
    starts: NDArray[np.int64]  # [buckets + 1]
    members: NDArray[Any]  # [planned] rows of the cache's index; int32 while they fit
    real_frames: NDArray[np.int64]  # [buckets] sum over the members
    over_cap: NDArray[np.int64]  # rows longer than the cap, in rising order
    max_frames: int

    @property
    def shapes(self) -> tuple[tuple[int, int, int], ...]:
        """(batch, frames, tokens) of each bucket."""
        rows = zip(self.batch.tolist(), self.frames.tolist(), self.tokens.tolist(), strict=True)
        return tuple(rows)

    @property
    def counts(self) -> NDArray[np.int64]:
        return np.diff(self.starts)

    @property
    def batches(self) -> NDArray[np.int64]:
        """Batches per bucket when each utterance is read once."""
        return -(-self.counts // self.batch)

    @property
    def useful_frame_share(self) -> float:
        """Real frames / padded frames of one epoch, weight-0 rows included."""
        padded = int((self.batches * self.batch * self.frames).sum())
        return int(self.real_frames.sum()) / padded if padded else 1.0

    def describe(self) -> dict[str, Any]:
        """What the plan comes to, as plain values for JSON."""
        return {
            "utterances": len(self.members),
            "over_cap": len(self.over_cap),
            "max_frames": self.max_frames,
            "useful_frame_share": round(self.useful_frame_share, 4),
            "batches_per_epoch": int(self.batches.sum()),
            "buckets": [
                {"batch": batch, "frames": frames, "tokens": tokens, "utterances": count}
                for (batch, frames, tokens), count in zip(self.shapes, self.counts.tolist(), strict=True)
            ],
        }

    def split(self, n_frames: Sequence[Any]) -> tuple[BucketTable, ...]:
        """One table per cache, from a plan over the concatenated `n_frames` of the caches: they share their shapes."""
        edges = np.cumsum([0] + [len(lengths) for lengths in n_frames])
        last = max(int(part.max()) for part in (self.members, self.over_cap) if len(part))
        if last >= edges[-1]:
            raise ValueError(f"the plan names utterance {last}, the caches have {edges[-1]}")
        return tuple(self._cut(np.asarray(lengths), int(low)) for lengths, low in zip(n_frames, edges, strict=False))

    def _cut(self, n_frames: NDArray[Any], low: int) -> BucketTable:
        parts = [self.members[a:b] for a, b in zip(self.starts, self.starts[1:], strict=False)]
        parts = [part[slice(*np.searchsorted(part, [low, low + len(n_frames)]))] - low for part in parts]
        over = slice(*np.searchsorted(self.over_cap, [low, low + len(n_frames)]))
        return replace(
            self,
            members=np.concatenate(parts),
            starts=np.cumsum([0] + [len(part) for part in parts]),
            real_frames=np.array([n_frames[part].sum(dtype=np.int64) for part in parts]),
            over_cap=self.over_cap[over] - low,
        )


def plan_buckets(
    n_frames: Any,
    n_tokens: Any,
    *,
    batch_size: int,
    max_buckets: int,
    max_frames: int,
    frame_budget: int | str | None = None,
    frame_multiple: int = 4,
    token_multiple: int = 8,
    batch_multiple: int = 1,
    utterances: Any = None,
) -> BucketTable:
    """The optimal table of at most `max_buckets` shapes for utterances of `n_frames` [n] and `n_tokens` [n].

    With `frame_budget` a batch holds floor(budget / frames) rows instead of `batch_size`, rounded down to a
    `batch_multiple` (the replicas) and never below one multiple. `utterances` names a subset of the rows, such as the
    training part; everything else is left alone. Rows over `max_frames` are listed in `over_cap`.
    """
    budget = _settled(frame_budget)
    _check_settings(batch_size, max_buckets, max_frames, budget, frame_multiple, token_multiple, batch_multiple)
    n_frames, n_tokens, rows = _check_lengths(n_frames, n_tokens, utterances)
    histogram = _histogram(n_frames, max_frames)
    if not histogram[: max_frames + 1].any():
        shortest = int(n_frames.min())
        raise ConfigError(
            f"all {len(n_frames)} utterances are longer than max_mel_frames = {max_frames}, the shortest has "
            f"{shortest} frames: set data.max_mel_frames to at least {shortest}, or cut the recordings into sentences"
        )
    candidates, counts = _boundaries(histogram, max_frames, frame_multiple)
    batch = _batch_sizes(candidates, batch_size, budget, batch_multiple)
    chosen = _choose(candidates, counts, batch, max_buckets)
    return _table(n_frames, n_tokens, rows, histogram, candidates[chosen], batch[chosen], max_frames, token_multiple)


def _settled(frame_budget: int | str | None) -> int | None:
    if isinstance(frame_budget, str):
        raise ConfigError(
            f"data.frame_budget is {frame_budget}, which 'myxtts train' alone can find, as it has the model: set it to "
            "the number in the config.yaml of a run that has trained, or to null"
        )
    return frame_budget


def _check_settings(
    batch_size: int, max_buckets: int, max_frames: int, frame_budget: int | None, *multiples: int
) -> None:
    named = {"batch_size": batch_size, "max_buckets": max_buckets, "max_frames": max_frames}
    named |= dict(zip(("frame_multiple", "token_multiple", "batch_multiple"), multiples, strict=True))
    if frame_budget is not None:
        named["frame_budget"] = frame_budget
    for name, value in named.items():
        if value < 1:
            raise ConfigError(f"{name} is {value}, expected at least 1")
    if frame_budget is None and batch_size % multiples[2]:
        raise ConfigError(f"batch_size {batch_size} is not a multiple of {multiples[2]}: choose one that is")


def _check_lengths(n_frames: Any, n_tokens: Any, utterances: Any) -> tuple[Any, Any, Any]:
    n_frames, n_tokens = np.asarray(n_frames), np.asarray(n_tokens)
    if n_frames.ndim != 1 or n_frames.shape != n_tokens.shape:
        raise ValueError(f"n_frames is {n_frames.shape} and n_tokens {n_tokens.shape}, expected two equal 1-D arrays")
    rows = None if utterances is None else np.sort(np.asarray(utterances, np.int64))
    if rows is not None:
        n_frames, n_tokens = n_frames[rows], n_tokens[rows]
    if not len(n_frames):
        raise CorpusError("there are no utterances to plan batches for: pack a corpus first, 'myxtts pack CORPUS'")
    if n_frames.dtype.kind not in "iu" or n_tokens.dtype.kind not in "iu":
        raise ValueError(f"lengths are {n_frames.dtype} and {n_tokens.dtype}, expected integers")
    if n_frames.min() < 1:
        row = int(n_frames.argmin() if rows is None else rows[n_frames.argmin()])
        raise CorpusError(
            f"utterance {row} has {n_frames.min()} frames, expected at least 1: run 'myxtts verify --fix'"
        )
    return n_frames, n_tokens, rows


def _chunks(n: int) -> Iterator[slice]:
    """Pieces of a long array, so that temporaries of 10^8 utterances stay small."""
    return (slice(start, start + _CHUNK) for start in range(0, n, _CHUNK))


def _histogram(n_frames: Any, max_frames: int) -> NDArray[np.int64]:
    """[max_frames + 2] utterances per length; the last entry counts all that are over the cap."""
    histogram = np.zeros(max_frames + 2, np.int64)
    for part in _chunks(len(n_frames)):
        histogram += np.bincount(np.minimum(n_frames[part], max_frames + 1), minlength=max_frames + 2)
    return histogram


def _boundaries(histogram: NDArray[np.int64], max_frames: int, multiple: int) -> tuple[Any, Any]:
    """Candidate boundaries (only lengths that occur, rounded up) and the utterances each would add."""
    length = np.flatnonzero(histogram[: max_frames + 1])
    while True:
        boundary, group = np.unique(-(-length // multiple) * multiple, return_inverse=True)
        if len(boundary) <= _MAX_BOUNDARIES:
            break
        multiple *= -(-len(boundary) // _MAX_BOUNDARIES)
    boundary[-1] = min(boundary[-1], -(-max_frames // multiple) * multiple)
    counts = np.zeros(len(boundary), np.int64)
    np.add.at(counts, group, histogram[length])
    return boundary, counts


def _batch_sizes(frames: Any, batch_size: int, frame_budget: int | None, multiple: int) -> NDArray[np.int64]:
    if frame_budget is None:
        return np.full(len(frames), batch_size, np.int64)
    return np.maximum(frame_budget // frames // multiple * multiple, multiple)


def _choose(frames: Any, counts: Any, batch: Any, max_buckets: int) -> NDArray[np.int64]:
    """Positions of the boundaries with the least total cost; of equally good choices, the one with fewest buckets."""
    cost = _costs(frames, counts, batch)
    best, origins = cost[:, 0].copy(), []
    totals = [int(best[-1])]
    for _ in range(1, min(max_buckets, len(frames))):
        # paths[j, i]: one bucket fewer up to candidate i, then one bucket over i + 1..j
        paths = cost[:, 1:] + best[:-1]
        origin = paths.argmin(axis=1)
        origins.append(origin)
        best = np.take_along_axis(paths, origin[:, None], axis=1)[:, 0]
        totals.append(int(best[-1]))
    chosen = [len(frames) - 1]
    for origin in reversed(origins[: int(np.argmin(totals))]):
        chosen.append(int(origin[chosen[-1]]))
    return np.array(chosen[::-1])


def _costs(frames: Any, counts: Any, batch: Any) -> NDArray[np.int64]:
    """[j, i]: padded frames of one bucket over the candidates i..j; impossible (i > j) is dearer than any plan."""
    ends = np.cumsum(counts)
    members = ends[:, None] - (ends - counts)
    cost = -(-members // batch[:, None]) * (batch * frames)[:, None]
    return np.where(members > 0, cost, np.int64(1) << 60)


def _table(
    n_frames: Any, n_tokens: Any, rows: Any, histogram: Any, frames: Any, batch: Any, max_frames: int, multiple: int
) -> BucketTable:
    bucket_of = _bucket_of(n_frames, frames, max_frames)
    dtype = np.int32 if (len(n_frames) if rows is None else int(rows[-1]) + 1) < 2**31 else np.int64
    length = np.arange(max_frames + 1)
    ends = np.cumsum(histogram[:-1])[np.minimum(frames, max_frames)]
    starts = np.concatenate([[0], ends])
    real = np.concatenate([[0], np.cumsum(histogram[:-1] * length)[np.minimum(frames, max_frames)]])
    members = np.empty(int(starts[-1]), dtype)
    tokens = np.empty(len(frames), np.int64)
    for bucket in range(len(frames)):
        inside = np.flatnonzero(bucket_of == bucket)
        tokens[bucket] = -(-max(int(n_tokens[inside].max()), 1) // multiple) * multiple
        members[starts[bucket] : starts[bucket + 1]] = inside if rows is None else rows[inside]
    over = np.flatnonzero(bucket_of == len(frames))
    return BucketTable(
        frames, tokens, batch, starts, members, np.diff(real), over if rows is None else rows[over], max_frames
    )


def _bucket_of(n_frames: Any, frames: Any, max_frames: int) -> NDArray[Any]:
    """Bucket of each utterance by a look-up in a table of lengths; one past the last bucket is over the cap."""
    by_length = np.searchsorted(frames, np.arange(max_frames + 2)).astype(np.min_scalar_type(len(frames)))
    by_length[-1] = len(frames)
    bucket_of = np.empty(len(n_frames), by_length.dtype)
    for part in _chunks(len(n_frames)):
        bucket_of[part] = by_length[np.minimum(n_frames[part], max_frames + 1)]
    return bucket_of
