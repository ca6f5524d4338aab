"""The order: each utterance its share, any step by itself, the same in numpy, in a graph and for any replicas."""

from __future__ import annotations

import hashlib
import math
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from myxtts.data.buckets import BucketTable, plan_buckets
from myxtts.data.graph import GraphOrder, tensorflow_arrays
from myxtts.data.order import Batch, Order, balance_weights, shard_rows
from myxtts.data.permutation import draw, grid, permute, stream
from myxtts.data.references import References
from myxtts.errors import ConfigError

relaxed = settings(max_examples=40)
seeds = st.integers(0, 2**31 - 1)


def table_of(n: int, batch: int = 4, buckets: int = 3, budget: int | None = None) -> BucketTable:
    """A fixed corpus by arithmetic: numpy's random streams may change, these lengths may not."""
    frames = 20 + np.arange(n) * 37 % 181
    return plan_buckets(frames, frames // 5, batch_size=batch, max_buckets=buckets, max_frames=400, frame_budget=budget)


tables = st.builds(
    table_of, st.integers(1, 150), st.integers(1, 9), st.integers(1, 5), st.sampled_from([None, 300, 1000])
)


def epoch_of(order: Order, epoch: int = 0) -> list[Batch]:
    first = epoch * order.steps_per_epoch
    return [order.batch(step) for step in range(first, first + order.steps_per_epoch)]


def real_rows(batches: list[Batch]) -> np.ndarray:
    return np.concatenate([batch.utterances[batch.weight > 0] for batch in batches])


def assert_same(batch: Batch, element: dict) -> None:
    assert np.array_equal(element["utterances"], batch.utterances)
    assert np.array_equal(element["weight"], batch.weight)
    position = tuple(int(element[name]) for name in ("step", "epoch", "cache", "bucket"))
    assert position == (batch.step, batch.epoch, batch.cache, batch.bucket)


# Permutations


@relaxed
@given(st.one_of(st.integers(1, 70), st.sampled_from([255, 256, 257, 4096, 65535, 65536, 65537])), seeds)
def test_permute_is_a_permutation(n, seed):
    moved = permute(np.arange(n), grid(n), stream(seed))
    assert np.array_equal(np.sort(moved), np.arange(n))


def test_permute_is_a_permutation_of_a_million():
    assert (np.bincount(permute(np.arange(10**6), grid(10**6), stream(7))) == 1).all()


@pytest.mark.parametrize("n", [2**31 - 1, 2**31 + 11, 10**12])
def test_permute_stays_inside_and_apart_past_31_bits(n):
    index = np.concatenate([np.arange(5000), n - 1 - np.arange(5000)])
    moved = permute(index, grid(n), stream(1))
    assert len(np.unique(moved)) == len(index)
    assert moved.min() >= 0
    assert moved.max() < n


@relaxed
@given(st.one_of(st.integers(1, 10), st.integers(1, 2**33)), seeds)
def test_permute_is_the_same_in_tensorflow(n, seed):
    index = np.unique(np.linspace(0, n - 1, 20).astype(np.int64))
    moved = permute(tf.constant(index), grid(n), tf.constant(stream(seed), tf.int64), tensorflow_arrays())
    assert np.array_equal(moved, permute(index, grid(n), stream(seed)))


def test_all_orders_of_few_items_come_about_equally_often():
    for n in (2, 3, 4, 5):
        keys = draw(stream(3), np.arange(40_000))[:, None]
        orders = permute(np.arange(n)[None], grid(n), keys) @ n ** np.arange(n)
        _, counts = np.unique(orders, return_counts=True)
        assert len(counts) == math.factorial(n)
        assert counts.min() > 0.7 * 40_000 / math.factorial(n)


def test_neighbours_are_not_kept_together():
    n, batch = 100_000, 25
    batch_of = np.stack([permute(np.arange(n), grid(n), draw(stream(0), epoch)) // batch for epoch in range(40)])
    together = (batch_of[:, 1:] == batch_of[:, :-1]).mean() * n / (batch - 1)
    assert 0.9 < together < 1.1  # 1 is chance; 40 epochs of 24 expected meetings give a deviation of 0.03


def test_draws_are_even_and_differ_between_streams():
    drawn = draw(stream(0), np.arange(100_000))
    assert drawn.min() >= 0
    assert drawn.max() < 2**32
    assert abs(drawn.mean() / 2**31 - 1) < 0.01
    ones = (drawn[:, None] >> np.arange(32)) & 1
    assert np.abs(ones.mean(axis=0) - 0.5).max() < 0.01
    assert len({stream(seed, purpose) for seed in range(300) for purpose in range(4)}) == 1200


# Equal weights


@relaxed
@given(tables, seeds, st.integers(0, 1000))
def test_every_utterance_comes_exactly_once_per_epoch(table, seed, epoch):
    order = Order(seed, table)
    batches = epoch_of(order, epoch)
    assert np.array_equal(np.sort(real_rows(batches)), np.sort(table.members))
    assert all(batch.epoch == epoch for batch in batches)
    assert order.steps_per_epoch == table.batches.sum()


@relaxed
@given(tables, seeds)
def test_a_batch_has_the_shape_and_the_members_of_its_bucket(table, seed):
    order = Order(seed, table)
    for batch in epoch_of(order):
        cache, frames, tokens, size = order.buckets[batch.bucket]
        assert (size, frames, tokens) == table.shapes[batch.bucket]
        assert cache == batch.cache == 0
        assert batch.utterances.shape == batch.weight.shape == (size,)
        assert batch.utterances.dtype == np.int64
        assert batch.weight.dtype == np.float32
        members = table.members[table.starts[batch.bucket] : table.starts[batch.bucket + 1]]
        assert np.isin(batch.utterances, members).all()
        assert 0 < batch.weight.sum() == np.count_nonzero(batch.weight)
        assert (np.diff(batch.weight) <= 0).all()


@relaxed
@given(tables, seeds, st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=20))
def test_a_step_needs_no_history(table, seed, steps):
    walked, fresh = Order(seed, table), Order(seed, table)
    together = walked.batches(steps)
    for row, step in reversed(list(enumerate(steps))):
        batch = fresh.batch(step)
        size = len(batch.utterances)
        assert np.array_equal(together.utterances[row, :size], batch.utterances)
        assert np.array_equal(together.weight[row, :size], batch.weight)
        assert not together.weight[row, size:].any()
        assert (together.bucket[row], together.epoch[row]) == (batch.bucket, step // fresh.steps_per_epoch)


def test_seeds_and_epochs_give_other_orders():
    first = epoch_of(Order(0, table_of(200)))
    others = [epoch_of(Order(0, table_of(200)), epoch) for epoch in (1, 2)]
    others += [epoch_of(Order(seed, table_of(200))) for seed in (1, 256, 257, 65536)]
    seen = {tuple(real_rows(batches).tolist()) for batches in (first, *others)}
    assert len(seen) == 7
    assert len({tuple(batch.bucket for batch in batches) for batches in (first, *others)}) == 7


def test_batches_of_all_buckets_are_mixed_in_an_epoch():
    buckets = np.array([batch.bucket for batch in epoch_of(Order(0, table_of(3000)))])
    half = np.bincount(buckets[: len(buckets) // 2]) / np.bincount(buckets)
    assert ((half > 0.35) & (half < 0.65)).all()


def test_steps_outside_of_time_are_refused():
    order = Order(0, table_of(10))
    for step in (-1, 2**32):
        with pytest.raises(ValueError, match="expected 0 to"):
            order.batch(step)


# Weights


@relaxed
@given(tables, seeds, st.lists(st.floats(0.01, 20), min_size=150, max_size=150), st.integers(0, 50))
def test_each_utterance_gets_the_floor_or_the_ceiling_of_its_share(table, seed, weights, epoch):
    order = Order(seed, table, utterance_weights=[weights])
    got = np.bincount(real_rows(epoch_of(order, epoch)), minlength=150)
    scale = len(table.members) / np.array(weights)[table.members].sum()
    for start, stop in zip(table.starts, table.starts[1:], strict=False):
        members = table.members[start:stop]
        share = np.array(weights)[members] * scale
        slots = max(round(share.sum()), 1)
        assert got[members].sum() == slots
        share *= slots / share.sum()
        assert (got[members] >= np.floor(share - 1e-6)).all()
        assert (got[members] <= np.ceil(share + 1e-6)).all()


def test_shares_even_out_over_the_epochs():
    table = table_of(60, buckets=2)
    weights = 1.0 + np.arange(60) % 7
    order = Order(5, table, utterance_weights=[weights])
    epochs = 200
    got = np.bincount(real_rows([batch for e in range(epochs) for batch in epoch_of(order, e)]), minlength=60)
    for start, stop in zip(table.starts, table.starts[1:], strict=False):
        members = table.members[start:stop]
        share = weights[members] / weights[members].sum() * got[members].sum()
        assert np.abs(got[members] - share).max() < 4  # random offsets would stray by about sqrt(200) / 2 = 7


@pytest.mark.parametrize("weights", [None, np.ones(50), np.full(50, 0.25)])
def test_equal_weights_are_no_weights(weights):
    plain, weighted = Order(1, table_of(50)), Order(1, table_of(50), utterance_weights=[weights])
    assert np.array_equal(plain.batches(np.arange(90)).utterances, weighted.batches(np.arange(90)).utterances)


def test_weight_zero_keeps_an_utterance_out():
    weights = np.ones(50)
    weights[::2] = 0
    order = Order(1, table_of(50), utterance_weights=[weights])
    assert set(real_rows(epoch_of(order)) % 2) == {1}


def test_balancing_goes_from_as_it_is_to_all_labels_equal():
    labels = ["a"] * 80 + ["b"] * 16 + ["c"] * 4
    as_is, middle, equal = (balance_weights(labels, temperature) for temperature in (1, 2, math.inf))
    assert np.allclose(as_is, 1)
    assert np.allclose([equal[:80].sum(), equal[80:96].sum(), equal[96:].sum()], 100 / 3)
    assert np.allclose(np.array([middle[0] * 80, middle[80] * 16, middle[96] * 4]) / middle[96] / 4, [20**0.5, 2, 1])
    assert all(weights.mean() == pytest.approx(1) for weights in (as_is, middle, equal))


def test_balanced_speakers_are_heard_equally_often():
    labels = np.where(np.arange(400) % 10 == 0, "rare", "common")
    order = Order(0, table_of(400), utterance_weights=[balance_weights(labels, math.inf)])
    heard = labels[real_rows([batch for epoch in range(10) for batch in epoch_of(order, epoch)])]
    assert (heard == "rare").mean() == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("temperature", [0.5, 0, -1, math.nan])
def test_a_temperature_below_one_is_refused(temperature):
    with pytest.raises(ConfigError, match="expected 1"):
        balance_weights([1, 2], temperature)


@pytest.mark.parametrize("weights", [[-1.0] + [1.0] * 9, [math.nan] * 10, [math.inf] + [1.0] * 9])
def test_weights_that_are_none_are_refused(weights):
    with pytest.raises(ConfigError, match="utterance_weights: found"):
        Order(0, table_of(10), utterance_weights=[weights])


# Several caches


def test_without_weights_every_cache_is_read_whole():
    two = [table_of(30), table_of(70)]
    batches = epoch_of(Order(0, two))
    for cache, table in enumerate(two):
        rows = real_rows([batch for batch in batches if batch.cache == cache])
        assert np.array_equal(np.sort(rows), np.sort(table.members))


@relaxed
@given(st.integers(50, 300), st.integers(50, 300), st.integers(1, 9), st.integers(1, 9), seeds)
def test_cache_weights_are_the_share_of_the_utterances(first, second, one, two, seed):
    order = Order(seed, [table_of(first), table_of(second)], cache_weights=[one, two])
    rows = [real_rows([batch for batch in epoch_of(order) if batch.cache == cache]) for cache in (0, 1)]
    assert abs(len(rows[0]) + len(rows[1]) - first - second) <= 3  # each of six buckets rounds to whole slots
    assert abs(len(rows[0]) - (first + second) * one / (one + two)) <= 3


def test_a_cache_of_weight_zero_is_never_read():
    batches = epoch_of(Order(0, [table_of(30), table_of(70)], cache_weights=[0, 2]))
    assert {batch.cache for batch in batches} == {1}


def test_caches_planned_together_may_leave_buckets_empty():
    short, long = np.full(20, 30), np.full(30, 300)
    both = np.concatenate([short, long])
    joint = plan_buckets(both, both // 5, batch_size=4, max_buckets=2, max_frames=400)
    order = Order(0, joint.split([short, long]))
    assert [bucket.frames for bucket in order.buckets] == [32, 300, 32, 300]
    assert {batch.bucket for batch in epoch_of(order)} == {0, 3}
    assert len(real_rows(epoch_of(order))) == 50


def test_weights_for_another_number_of_caches_are_refused():
    with pytest.raises(ConfigError, match="cache_weights has 2 entries for 1 caches"):
        Order(0, table_of(10), cache_weights=[1, 1])
    with pytest.raises(ConfigError, match="cache_weights: found 0.0 to 0.0"):
        Order(0, table_of(10), cache_weights=[0])


# Replicas


@relaxed
@given(tables, seeds, st.integers(0, 100))
def test_replicas_share_the_same_global_batch(table, seed, step):
    batch = Order(seed, table).batch(step)
    for replicas in (1, 2, 3, 4, 8):
        parts = [Order.shard(batch, replica, replicas) for replica in range(replicas)]
        assert len({len(part.utterances) for part in parts}) == 1
        utterances = np.concatenate([part.utterances for part in parts])
        weight = np.concatenate([part.weight for part in parts])
        size = len(batch.utterances)
        assert np.array_equal(utterances[:size], batch.utterances)
        assert np.array_equal(weight[:size], batch.weight)
        assert not weight[size:].any()
        assert np.isin(utterances, batch.utterances).all()


def test_shards_of_tensors_are_those_of_arrays():
    batch = Order(0, table_of(50, batch=6)).batch(3)
    cut = tf.function(lambda u, w: shard_rows(u, w, 3, 4, tensorflow_arrays()))
    utterances, weight = cut(tf.constant(batch.utterances), tf.constant(batch.weight))
    part = Order.shard(batch, 3, 4)
    assert np.array_equal(utterances, part.utterances)
    assert np.array_equal(weight, part.weight)


def test_a_replica_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match="replica 4 of 4"):
        Order.shard(Order(0, table_of(10)).batch(0), 4, 4)


# TensorFlow

ORDERS = {
    "equal": lambda: Order(3, table_of(150)),
    "budget": lambda: Order(4, table_of(150, budget=1000)),
    "weighted": lambda: Order(5, table_of(150), utterance_weights=[1 + np.arange(150) % 5]),
    "mixed": lambda: Order(6, [table_of(30), table_of(70, batch=7)], cache_weights=[3, 1]),
    "single": lambda: Order(7, table_of(1)),
}


def in_graph(order: Order, steps: list[int], references: References | None = None) -> list[dict]:
    """What a graph computes for these steps, each cut to its batch."""
    compute = tf.function(GraphOrder(order, references).batches, input_signature=[tf.TensorSpec([None], tf.int64)])
    made = {name: field.numpy() for name, field in compute(tf.constant(steps, tf.int64)).items()}
    rows = [{name: field[at] for name, field in made.items()} for at in range(len(steps))]
    return [{name: field[: row["batch"]] if field.ndim else field for name, field in row.items()} for row in rows]


@pytest.mark.parametrize("name", ORDERS)
def test_a_graph_gives_the_batches_of_numpy(name):
    order, steps = ORDERS[name](), [0, 1, 2, 57, 10**6, 2**32 - 1]
    for step, element in zip(steps, in_graph(order, steps), strict=True):
        assert_same(order.batch(step), element)
        cache, frames, tokens, size = order.buckets[int(element["bucket"])]
        assert (element["frames"], element["tokens"], element["cache"]) == (frames, tokens, cache)
        assert size == element["batch"] == len(element["utterances"])


@settings(max_examples=15)
@given(tables, seeds, st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=8), st.booleans())
def test_tensorflow_agrees_on_any_table(table, seed, steps, weighted):
    weights = [1.0 + np.arange(150) % 3] if weighted else None
    order = Order(seed, table, utterance_weights=weights)
    expected, computed = order.batches(steps), GraphOrder(order).batches(tf.constant(steps, tf.int64))
    for name, values in expected._asdict().items():
        assert np.array_equal(computed[name], values)


def test_references_in_a_graph_are_those_of_numpy():
    order = Order(2, [table_of(30), table_of(70, batch=7)])
    references = References(2, [np.arange(30) % 4, np.arange(70) % 9])
    for element in in_graph(order, list(range(5, 60)), references):
        reference, crop = references.pick(element["utterances"], element["step"], element["cache"])
        assert np.array_equal(element["reference"], reference)
        assert np.array_equal(element["crop"], crop)


def test_importing_the_order_does_not_import_tensorflow():
    code = "import sys, myxtts.data.numpy_batches, myxtts.data.plan; sys.exit('tensorflow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# Golden orders: a change here changes every run that is resumed. It must never happen by an upgrade.

GOLDEN = {
    "equal": "a616227835d5e935",
    "budget": "c0977d1cadb38bc0",
    "weighted": "a0bafde1406544c7",
    "mixed": "e3deb4834881d4d0",
}


@pytest.mark.parametrize("name", GOLDEN)
def test_the_order_is_what_it_always_was(name):
    order = ORDERS[name]()
    digest = hashlib.sha256()
    for step in [*range(300), 10**6, 2**32 - 1]:
        batch = order.batch(step)
        digest.update(np.array([batch.epoch, batch.cache, batch.bucket], "<i8").tobytes())
        digest.update(batch.utterances.astype("<i8").tobytes() + batch.weight.astype("<f4").tobytes())
    assert digest.hexdigest()[:16] == GOLDEN[name]


def test_the_first_batches_are_what_they_always_were():
    order = ORDERS["equal"]()
    batches = [order.batch(step) for step in range(3)]
    assert [(batch.bucket, batch.utterances.tolist()) for batch in batches] == [
        (0, [79, 94, 6, 25]),
        (1, [144, 70, 2, 42]),
        (1, [71, 7, 149, 134]),
    ]
    reference, crop = References(3, [np.arange(150) % 5]).pick(batches[0].utterances, 0)
    assert reference.tolist() == [44, 114, 11, 40]
    assert (crop * 2**24).tolist() == [9132931.0, 8651938.0, 2974593.0, 8875360.0]
