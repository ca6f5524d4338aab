"""The order of a cache in shards: each utterance once an epoch, a few shards at a time, the same for any replicas."""

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from myxtts.data.buckets import BucketTable, plan_buckets
from myxtts.data.graph import GraphOrder
from myxtts.data.order import Order
from myxtts.data.shard_order import ShardOrder

seeds = st.integers(0, 2**31 - 1)


def table_of(n: int, batch: int = 4, buckets: int = 3) -> BucketTable:
    frames = 20 + np.arange(n) * 37 % 181
    return plan_buckets(frames, frames // 5, batch_size=batch, max_buckets=buckets, max_frames=400)


def ends_of(n: int, shards: int) -> np.ndarray:
    """Of uneven shards, one with at least one utterance each."""
    cuts = np.cumsum(1 + np.arange(shards) * 7 % 5)
    return np.append(cuts[:-1] * n // cuts[-1], n)


@st.composite
def orders(draw):
    n, shards = draw(st.integers(20, 150)), draw(st.integers(2, 12))
    table, ends = table_of(n, draw(st.integers(1, 9)), draw(st.integers(1, 4))), ends_of(n, shards)
    weights = [1.0 + np.arange(n) % 3] if draw(st.booleans()) else None
    order = ShardOrder(draw(seeds), table, [ends], draw(st.integers(1, 4)), utterance_weights=weights)
    return order, ends, weights is not None


def epoch_of(order: Order, epoch: int) -> list:
    return [order.batch(epoch * order.steps_per_epoch + step) for step in range(order.steps_per_epoch)]


@settings(max_examples=10)
@given(orders(), st.integers(0, 1000))
def test_every_utterance_comes_as_often_as_its_weight_says(made, epoch):
    order, ends, weighted = made
    batches = epoch_of(order, epoch)
    rows = np.concatenate([batch.utterances[batch.weight > 0] for batch in batches])
    counts = np.bincount(rows, minlength=ends[-1])
    if not weighted:
        assert (counts == 1).all()
    else:
        share = (1.0 + np.arange(ends[-1]) % 3) / (1.0 + np.arange(ends[-1]) % 3).mean()
        assert len(rows) == pytest.approx(share.sum(), abs=len(order.buckets))
        assert (np.abs(counts - share) < 1.5).all()  # a bucket has a whole number of slots
    assert order.steps_per_epoch == len(batches)


@settings(max_examples=6)
@given(orders(), st.integers(0, 1000), st.sampled_from([1, 2, 3]))
def test_a_window_reads_the_shards_that_it_says(made, epoch, replicas):
    order, ends, _ = made
    for batch in epoch_of(order, epoch):
        _, window = order.window_of(batch.step)
        assert order.first_step(epoch, window) <= batch.step
        for replica in range(replicas):
            own = Order.shard(batch, replica, replicas).utterances
            read = set(np.searchsorted(ends, own, side="right").tolist())
            assert read <= set(order.shards_of(epoch, window, replica, replicas)[0].tolist())


@settings(max_examples=5)
@given(orders(), st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=8))
def test_a_graph_gives_the_batches_of_numpy(made, steps):
    order, _, _ = made
    expected, computed = order.batches(steps), GraphOrder(order).batches(tf.constant(steps, tf.int64))
    for name, values in expected._asdict().items():
        assert np.array_equal(computed[name], values), name


def test_a_window_needs_few_shards_and_a_replica_its_part_of_them():
    order = ShardOrder(1, table_of(20_000, batch=32), [ends_of(20_000, 100)], 10)
    assert order.windows == 10
    every = [order.shards_of(epoch, window)[0] for epoch in range(3) for window in range(10)]
    assert max(map(len, every)) <= 16  # ten, one that is cut at either end, and what buckets differ by
    part = [order.shards_of(0, window, replica, 4)[0] for window in range(10) for replica in range(4)]
    assert max(map(len, part)) <= 7
    assert set(np.concatenate(part).tolist()) == set(range(100))


def test_windows_and_shards_come_in_another_order_each_epoch():
    order = ShardOrder(1, table_of(4_000, batch=16), [ends_of(4_000, 40)], 8)
    first, second = (order.shards_of(epoch, 0)[0].tolist() for epoch in (0, 1))
    assert first != second
    assert first != sorted(first)
    together = [set(order.batch(step).utterances.tolist()) for step in (0, order.steps_per_epoch)]
    assert together[0] != together[1]


def test_a_batch_is_made_of_all_shards_of_its_window():
    order = ShardOrder(1, table_of(4_000, batch=32, buckets=1), [ends_of(4_000, 40)], 8)
    batch = order.batch(3)
    read = np.unique(np.searchsorted(ends_of(4_000, 40), batch.utterances, side="right"))
    assert len(read) >= 7


def test_caches_of_which_one_is_in_one_piece():
    order = ShardOrder(1, [table_of(100), table_of(50)], [ends_of(100, 10), np.array([50])], 2, cache_weights=[1, 1])
    caches = {batch.cache for batch in epoch_of(order, 0)}
    assert caches == {0, 1}
    assert all(order.shards_of(0, window)[1].tolist() == [0] for window in range(order.windows))


def test_the_order_is_what_it_always_was():
    """Resuming a run, and its mirror, rest on it."""
    order = ShardOrder(7, table_of(60), [ends_of(60, 6)], 2)
    assert order.batch(5).utterances.tolist() == GOLDEN[0]
    assert order.shards_of(1, 1)[0].tolist() == GOLDEN[1]


GOLDEN = [[15, 21, 25, 45], [4, 5, 0, 2]]
