"""The bucket plan: the best there is, exact about what it left out, and cheap for a million utterances."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from myxtts.data.buckets import BucketTable, plan_buckets
from myxtts.errors import ConfigError, CorpusError

lengths = st.lists(st.integers(1, 120), min_size=1, max_size=60)
relaxed = settings(max_examples=60)


def plan(n_frames, n_tokens=None, **settings) -> BucketTable:
    defaults = {"batch_size": 4, "max_buckets": 4, "max_frames": 100}
    tokens = np.ones_like(n_frames) if n_tokens is None else n_tokens
    return plan_buckets(np.asarray(n_frames), np.asarray(tokens), **defaults | settings)


def ljspeech_like(n: int) -> tuple[np.ndarray, np.ndarray]:
    seconds = np.clip(np.random.default_rng(0).normal(6.57, 2.19, n), 1.1, 10.1)
    return np.ceil(seconds * 22050 / 256).astype(np.int64), (seconds * 14).astype(np.int64)


def padded_frames(frames, ends, batch) -> int:
    """Padded frames of a plan with these boundaries, worked out the slow way."""
    total, rest = 0, list(frames)
    for end in ends:
        inside = [length for length in rest if length <= end]
        rest = [length for length in rest if length > end]
        total += -(-len(inside) // batch) * batch * end
    return total


@relaxed
@given(st.lists(st.integers(1, 20), min_size=1, max_size=30), st.integers(1, 6), st.integers(1, 4))
def test_no_choice_of_boundaries_pads_less(frames, batch, most):
    table = plan(frames, batch_size=batch, max_buckets=most, frame_multiple=2)
    candidates = sorted({-(-length // 2) * 2 for length in frames})
    choices = ((*some, candidates[-1]) for k in range(most) for some in itertools.combinations(candidates[:-1], k))
    best = min(padded_frames(frames, ends, batch) for ends in choices)
    assert sum(frames) / table.useful_frame_share == pytest.approx(best)
    assert padded_frames(frames, table.frames.tolist(), batch) == best


@relaxed
@given(lengths, st.integers(1, 9), st.integers(1, 6), st.sampled_from([None, 50, 400]), st.integers(0, 2**32 - 1))
def test_every_utterance_is_in_one_bucket_that_holds_it_or_over_the_cap(frames, batch, most, budget, seed):
    if min(frames) > 100:
        frames = [*frames, 100]
    tokens = np.random.default_rng(seed).integers(0, 50, len(frames))
    table = plan(frames, tokens, batch_size=batch, max_buckets=most, frame_budget=budget)
    assert sorted([*table.members.tolist(), *table.over_cap.tolist()]) == list(range(len(frames)))
    assert table.over_cap.tolist() == [i for i, length in enumerate(frames) if length > 100]
    assert len(table.shapes) <= most
    assert (table.counts > 0).all()
    assert (np.diff(table.frames) > 0).all()
    below = 0
    for (size, most_frames, most_tokens), start, stop in zip(
        table.shapes, table.starts, table.starts[1:], strict=False
    ):
        members = table.members[start:stop]
        assert all(below < frames[i] <= most_frames for i in members)
        assert tokens[members].max() <= most_tokens
        assert most_frames % 4 == 0
        assert most_tokens % 8 == 0
        assert most_tokens > 0
        assert size == (batch if budget is None else max(budget // most_frames, 1))
        below = most_frames
    real = sum(length for length in frames if length <= 100)
    assert table.useful_frame_share == pytest.approx(real / (table.batches * table.batch * table.frames).sum())


def test_more_buckets_never_pad_more():
    frames, tokens = ljspeech_like(500)
    shares = [
        plan(frames, tokens, batch_size=32, max_buckets=k, max_frames=1720).useful_frame_share for k in range(1, 20)
    ]
    assert shares == sorted(shares)


def test_ljspeech_like_corpus_reaches_the_promised_share():
    frames, tokens = ljspeech_like(2000)
    for buckets, share in ((8, 0.92), (12, 0.94)):
        table = plan(frames, tokens, batch_size=32, max_buckets=buckets, max_frames=1720)
        assert len(table.shapes) <= buckets
        assert table.useful_frame_share >= share


def test_few_utterances_get_few_buckets():
    frames, tokens = ljspeech_like(60)
    table = plan(frames, tokens, batch_size=32, max_buckets=8, max_frames=1720)
    assert len(table.shapes) == 2
    assert table.batches.tolist() == [1, 1]


def test_one_shape_is_enough_for_one_length():
    assert plan([64] * 40, max_buckets=8).shapes == ((4, 64, 8),)


def test_a_boundary_stays_within_the_rounded_cap():
    assert plan([97, 98, 99, 100], max_frames=98).frames.tolist() == [100]
    assert plan([97, 98, 99, 100], max_frames=98).over_cap.tolist() == [2, 3]


def test_a_frame_budget_makes_short_batches_larger():
    table = plan([10] * 50 + [50] * 50, max_buckets=2, frame_budget=400, batch_multiple=4)
    assert table.shapes == ((32, 12, 8), (4, 52, 8))


def test_a_budget_below_one_row_still_takes_a_multiple_of_rows():
    assert plan([80], frame_budget=10, batch_multiple=2).shapes == ((2, 80, 8),)


def test_a_subset_keeps_the_row_numbers_of_the_whole():
    table = plan([10, 999, 30, 999, 50, 999], utterances=[5, 4, 0, 1])
    assert sorted(table.members.tolist()) == [0, 4]
    assert table.over_cap.tolist() == [1, 5]


def test_splitting_a_common_plan_gives_each_cache_its_rows_and_all_the_shapes():
    first, second = np.array([10, 50, 10, 999]), np.array([90, 90, 10])
    joint = plan(np.concatenate([first, second]), batch_size=2)
    one, two = joint.split([first, second])
    assert one.shapes == two.shapes == joint.shapes
    assert sorted(one.members.tolist()) == [0, 1, 2]
    assert one.over_cap.tolist() == [3]
    assert sorted(two.members.tolist()) == [0, 1, 2]
    assert (one.real_frames + two.real_frames == joint.real_frames).all()
    assert one.real_frames.sum() == 70


def test_splitting_by_lengths_of_another_corpus_is_refused():
    with pytest.raises(ValueError, match="names utterance 2, the caches have 2"):
        plan([10, 20, 30]).split([np.array([10]), np.array([20])])


def test_a_cap_with_more_candidates_than_the_table_holds_still_covers_every_length():
    frames = np.arange(1, 20_001)
    table = plan(frames, max_buckets=8, max_frames=20_000, frame_multiple=1)
    assert len(table.members) == 20_000
    assert table.frames[-1] >= 20_000
    assert table.useful_frame_share > 0.88


def test_a_million_utterances_keep_four_bytes_each():
    frames = (np.arange(10**6) * 7919 % 1700 + 20).astype(np.uint16)
    table = plan(frames, frames // 4, batch_size=32, max_buckets=8, max_frames=1720)
    assert table.members.nbytes == 4 * 10**6
    assert (np.sort(table.members) == np.arange(10**6)).all()


def test_describe_is_plain_values():
    described = plan([10, 10, 50, 999]).describe()
    assert described["over_cap"] == 1
    assert described["batches_per_epoch"] == 1
    assert described["buckets"] == [{"batch": 4, "frames": 52, "tokens": 8, "utterances": 3}]
    assert described["useful_frame_share"] == round(70 / (4 * 52), 4)


def test_an_empty_corpus_says_to_pack_one():
    with pytest.raises(CorpusError, match="no utterances.*myxtts pack"):
        plan(np.array([], np.int64))


def test_a_corpus_wholly_over_the_cap_names_the_setting():
    with pytest.raises(ConfigError, match="max_mel_frames to at least 101"):
        plan([200, 101])


def test_an_utterance_without_frames_is_named():
    with pytest.raises(CorpusError, match="utterance 1 has 0 frames"):
        plan([5, 0])


def test_a_budget_that_nobody_has_found_yet_is_refused():
    with pytest.raises(ConfigError, match="data.frame_budget is auto, which 'myxtts train' alone can find"):
        plan([80], frame_budget="auto")


@pytest.mark.parametrize("name", ["batch_size", "max_buckets", "max_frames", "frame_multiple", "frame_budget"])
def test_a_setting_below_one_is_refused(name):
    with pytest.raises(ConfigError, match=f"{name} is 0"):
        plan([5], **{name: 0})


def test_a_batch_that_replicas_cannot_share_is_refused():
    with pytest.raises(ConfigError, match="batch_size 6 is not a multiple of 4"):
        plan([5], batch_size=6, batch_multiple=4)


@pytest.mark.parametrize(("frames", "tokens"), [([1.5], [1]), ([1, 2], [1]), ([[1]], [[1]])])
def test_arrays_that_are_no_lengths_are_refused(frames, tokens):
    with pytest.raises(ValueError, match="expected"):
        plan(frames, tokens)
