"""The learning rate: its shape, and that the compiled step uses the very number that the log shows."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from myxtts.errors import ConfigError
from myxtts.training.schedule import KINDS, learning_rate

steps = st.integers(0, 2**31)
# Rates below 1e-38 are subnormal float32, which TensorFlow takes for 0: a floor is 0 or can be told from it.
floors = st.just(0.0) | st.floats(1e-9, 1.0)
plans = st.tuples(st.floats(1e-6, 1.0), st.integers(0, 10_000), st.integers(1, 10_000_000), floors)


@tf.function(input_signature=[tf.TensorSpec([], tf.int64)] + [tf.TensorSpec([], tf.float64)] * 4)
def compiled(step, peak, warmup, total, floor):
    return [learning_rate(step, kind, peak, warmup, total, floor) for kind in KINDS]


@given(steps, plans)
def test_the_compiled_value_is_the_logged_value(step, plan):
    in_graph = compiled(step, *map(float, plan))
    assert [value.dtype for value in in_graph] == [tf.float32] * len(KINDS)
    assert [float(value) for value in in_graph] == [learning_rate(step, kind, *plan) for kind in KINDS]


def test_python_numbers_stay_exact_beside_a_tensor():
    """1.5e-3 is no float32: a conversion on the way would show in the last digit."""
    for step in range(0, 6000, 41):
        value = learning_rate(tf.constant(step, tf.int64), "cosine", 1.5e-3, 150, 6000, 0.02)
        assert float(value) == learning_rate(step, "cosine", 1.5e-3, 150, 6000, 0.02)


@given(steps, st.sampled_from(KINDS), plans)
def test_it_is_positive_and_never_above_the_peak(step, kind, plan):
    rate = learning_rate(step, kind, *plan)
    assert 0 <= rate <= np.float32(plan[0])
    if step + 1 >= plan[1]:
        assert kind == "constant" or rate >= np.float32(plan[0] * plan[3]) * (1 - 1e-6)


@given(st.sampled_from(KINDS), plans, steps, steps)
def test_it_rises_to_the_end_of_the_warm_up_and_falls_from_there(kind, plan, one, other):
    peak, warmup, total, floor = plan
    first, second = sorted((one, other))
    before, after = (learning_rate(step, kind, peak, warmup, total, floor) for step in (first, second))
    if second < warmup:
        assert before <= after
    elif first + 1 >= warmup:
        assert before >= after


def test_the_corners():
    assert learning_rate(0, "cosine", 1.0, 100, 1000, 0.1) == pytest.approx(0.01)
    assert learning_rate(99, "cosine", 1.0, 100, 1000, 0.1) == 1.0
    assert learning_rate(549, "cosine", 1.0, 100, 1000, 0.1) == pytest.approx(0.55)  # half way
    assert learning_rate(999, "cosine", 1.0, 100, 1000, 0.1) == pytest.approx(0.1)
    assert learning_rate(10**9, "cosine", 1.0, 100, 1000, 0.1) == pytest.approx(0.1)
    assert learning_rate(399, "noam", 1.0, 100, 1000, 0.1) == pytest.approx(0.5)  # sqrt(100 / 400)
    assert learning_rate(10**9, "noam", 1.0, 100, 1000, 0.1) == pytest.approx(0.1)
    assert learning_rate(0, "constant", 1.0, 0, 1000, 0.1) == 1.0
    with pytest.raises(ConfigError, match="found the schedule 'linear', expected one of cosine, noam, constant"):
        learning_rate(0, "linear", 1.0, 0, 1, 0.0)
