"""Measuring small real pipelines: every kind of batch, every way to fail, and what is counted meanwhile.

Phases end after a number of batches, however long these take: counts are asserted, no time is."""

import itertools

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.framework.tensor import Tensor

from myxtts.doctor import judge, resident
from myxtts.doctor import observe as observe_room
from myxtts.doctor.batch_shape import rows_of, shape_of, typical, useful_share
from myxtts.doctor.counters import python_calls, tracing
from myxtts.doctor.measurements import Measurements
from myxtts.errors import DiagnosisError


@pytest.fixture(autouse=True)
def by_counts(monkeypatch):
    """No phase ends by the clock, but for the step alone, which is called three times or more."""
    for name in ("LOADER_SECONDS", "LOOP_SECONDS", "_WARM_UP_SECONDS"):
        monkeypatch.setattr(observe_room, name, 600.0)
    monkeypatch.setattr(observe_room, "_SLOW_COMPILE_MS", 600e3)
    monkeypatch.setattr(resident, "DEVICE_SECONDS", 0.02)


def observe(data, step, progress=lambda what: None, most_batches=8):
    return observe_room.observe(data, step, progress, most_batches=most_batches)


def nothing(batch):
    pass


def batches(n=8, rows=4):
    return [np.random.default_rng(at).standard_normal((rows, 6, 3)).astype(np.float32) for at in range(n)]


# ---- what is given --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "rows"),
    [
        (batches(), 4),
        ([(batch, np.arange(4)) for batch in batches()], 4),
        ([{"mel": batch, "step": 7} for batch in batches()], 4),
        (tf.data.Dataset.from_tensor_slices(np.zeros((12, 5), np.float32)).batch(3, drop_remainder=True), 3),
        (tf.data.Dataset.from_tensor_slices({"a": np.zeros((12, 5)), "b": np.zeros(12)}).batch(6).repeat(), 6),
        (tf.data.Dataset.from_tensor_slices(tf.ragged.constant([[1], [2, 3]])).repeat().batch(2), 2),
        ([[]] * 8, 1),
    ],
    ids=["arrays", "tuples", "dicts", "dataset", "dataset of dicts", "ragged", "empty"],
)
def test_any_batch_is_measured(data, rows):
    measured = observe(data, nothing)
    assert measured.batch == rows
    assert measured.loop_steps >= 1
    assert measured.loader_ms > 0
    assert len(measured.intervals_ms) >= 1


def test_a_generator_can_be_iterated_once_and_that_is_enough():
    given = (batch for batch in itertools.cycle(batches()))
    assert observe(given, nothing).batch == 4
    assert next(given).shape == (4, 6, 3)  # it was not closed


def test_what_the_stages_are_called_and_in_which_order():
    said = []
    observe(batches(), nothing, said.append)
    assert said == ["loader", "device", "loop", "step"]


def test_it_survives_json():
    measured = observe(tf.data.Dataset.range(8).map(lambda n: n * 2).batch(2), nothing)
    assert Measurements.from_dict(measured.to_dict()) == measured


# ---- what goes wrong ------------------------------------------------------------------------------------------------


def broken():
    yield from batches(3)
    raise OSError("disk on fire")


class Broken:
    def __iter__(self):
        return broken()


@pytest.mark.parametrize("data", [Broken(), broken()], ids=["iterable", "generator"])
def test_data_that_raises_is_named(data):
    with pytest.raises(DiagnosisError, match="the data raised OSError: disk on fire.*expected batches"):
        observe(data, nothing)


def test_what_cannot_be_iterated_is_named():
    with pytest.raises(DiagnosisError, match="the data raised TypeError.*not iterable"):
        observe(7, nothing)


def test_a_dataset_that_raises_is_named():
    paths = tf.data.Dataset.from_tensor_slices(["/nowhere/a.wav"]).map(tf.io.read_file).batch(1)
    with pytest.raises(DiagnosisError, match="the data raised NotFoundError.*/nowhere/a.wav"):
        observe(paths, nothing)


@pytest.mark.parametrize(
    ("data", "count"), [([], 0), (iter(batches(3)), 3), (tf.data.Dataset.range(0).batch(1), 0)]
)  # fmt: skip
def test_data_that_ends_early_says_after_how_many(data, count):
    with pytest.raises(DiagnosisError, match=f"ended after {count} batches.*repeats"):
        observe(data, nothing)


def test_a_step_that_fails_is_named():
    def step(batch):
        raise ValueError("expected 80 mels")

    with pytest.raises(DiagnosisError, match="the step raised ValueError: expected 80 mels"):
        observe(batches(), step)


def test_a_step_that_fails_later_is_named():
    calls = itertools.count()

    def step(batch):
        return 1 / (20 - next(calls))

    with pytest.raises(DiagnosisError, match="ZeroDivisionError"):
        observe(batches(), step)


# ---- what is counted ------------------------------------------------------------------------------------------------


def test_python_called_by_a_graph_is_counted_and_an_untaken_branch_is_not():
    def load(n, limit):
        return tf.cond(n > limit, lambda: tf.numpy_function(lambda value: value, [n], tf.int64), lambda: n)

    numbers = tf.data.Dataset.range(1, 9).repeat()
    taken = observe(numbers.map(lambda n: load(n, 0)).batch(4), nothing)
    untaken = observe(numbers.map(lambda n: load(n, 100)).batch(4), nothing)
    assert taken.python_calls_per_batch >= 4
    assert untaken.python_calls_per_batch == 0


def test_counting_leaves_tensorflow_as_it_was():
    from tensorflow.python.framework import func_graph
    from tensorflow.python.ops import script_ops

    before = (type(script_ops._py_funcs).__call__, func_graph.func_graph_from_py_func)
    with pytest.raises(KeyError), python_calls(), tracing():
        raise KeyError
    assert (type(script_ops._py_funcs).__call__, func_graph.func_graph_from_py_func) == before


def several_lengths(lengths, rows=2):
    return [np.random.default_rng(0).standard_normal((rows, n, 3)).astype(np.float32) for n in lengths]


def test_new_shapes_are_traced_whoever_holds_the_compiled_function():
    compiled = tf.function(tf.reduce_sum)
    measured = observe(several_lengths(range(2, 402)), lambda batch: compiled(batch))
    assert not measured.few_shapes
    assert measured.traces >= measured.new_shapes - 1 >= 3  # the first in the loop may follow from the device phase
    assert measured.resident_traces == 0


def test_a_few_shapes_are_met_first_once_and_do_not_count():
    compiled = tf.function(tf.reduce_sum)
    measured = observe(several_lengths([2, 5, 9] * 50), compiled)
    assert measured.few_shapes
    assert measured.traces == 0


def test_a_step_that_is_traced_with_every_call_shows_on_a_resident_batch():
    compiled, numbers = tf.function(lambda batch, number: tf.reduce_sum(batch) * number), itertools.count()
    measured = observe(batches(), lambda batch: compiled(batch, next(numbers)))
    assert measured.resident_traces == 1
    assert measured.trace_ms > 0
    diagnosis = judge(measured)
    assert (diagnosis.verdict, diagnosis.healthy) == ("retracing", False)
    assert "the step is retraced even for a batch that it has met" in str(diagnosis)


def long_step(batch):
    for _ in range(20):
        batch = tf.tanh(batch) + 1.0
    return tf.reduce_sum(batch)


@pytest.mark.parametrize("read", [lambda loss: loss, float, lambda loss: loss.numpy(), np.asarray, lambda loss: None])
def test_an_eager_step_is_tried_as_a_graph_whatever_it_reads(read):
    weight = tf.Variable(1.0)

    def step(batch):
        loss = long_step(batch * weight)
        weight.assign(weight * 0.5)
        return read(loss)

    batch = tf.constant(batches()[0])
    assert resident.graph_ms(step, batch) > 0
    assert isinstance(float(tf.reduce_sum(batch)), float)  # tensors can be read as before
    assert {"numpy", "__float__"}.isdisjoint(vars(Tensor))


@pytest.mark.parametrize("step", [nothing, lambda batch: batch.missing(), lambda batch: tf.reduce_sum(batch)])
def test_what_is_no_eager_step_is_not(step):
    assert resident.graph_ms(step, batches()[0]) is None


def test_functions_that_run_eagerly_are_not_compiled():
    step = tf.function(long_step)
    assert resident.is_compiled(step)
    tf.config.run_functions_eagerly(True)
    try:
        assert not resident.is_compiled(step)
        assert resident.graph_ms(step, tf.constant(batches()[0])) > 0
        assert tf.config.functions_run_eagerly()
    finally:
        tf.config.run_functions_eagerly(False)


def test_larger_and_shorter_batches_have_the_right_shapes():
    met = []

    def step(batch):
        met.append(shape_of(batch))

    batch = {"mel": np.zeros((4, 6, 3)), "mask": np.zeros((4, 6)), "tokens": np.zeros((4, 5)), "step": 1}
    assert resident.double_time(step, batch) > 0
    assert resident.short_time(step, batch) > 0
    # tf.nest sorts the keys: mask, mel, step, tokens
    assert set(met) == {
        ((4, 6), (4, 6, 3), (4, 5)),
        ((8, 6), (8, 6, 3), (8, 5)),
        ((4, 3), (4, 3, 3), (4, 5)),
    }


def test_a_step_of_one_shape_has_no_larger_batch():
    step = tf.function(tf.reduce_sum, input_signature=[tf.TensorSpec([4, 6, 3], tf.float32)])
    assert resident.double_time(step, tf.constant(batches()[0])) is None


def test_a_plan_that_compiles_slowly_is_measured_on_one_shape(monkeypatch):
    monkeypatch.setattr(observe_room, "_SLOW_COMPILE_MS", 0.0)
    met = []
    measured = observe(several_lengths([2, 5, 9] * 50), lambda batch: met.append(shape_of(batch)))
    assert measured.few_shapes
    assert set(met) == {((2, 5, 3),)}


def test_a_phase_ends_though_batches_take_seconds():
    wants_more = observe_room._wants_more
    assert wants_more(0, 100.0, 5.0)  # one is needed
    assert wants_more(3, 7.0, 5.0)
    assert not wants_more(1, 8.0, 5.0)
    assert wants_more(100, 4.9, 5.0)
    assert not wants_more(4, 5.1, 5.0)
    assert not wants_more(400, 0.1, 5.0)


# ---- what a batch says ----------------------------------------------------------------------------------------------


def padded(lengths, width, value=0.0):
    batch = np.full((len(lengths), width, 3), value, np.float32)
    for row, length in enumerate(lengths):
        batch[row, :length] = np.random.default_rng(row).standard_normal((length, 3))
    return batch


@pytest.mark.parametrize("value", [0.0, -11.5])
def test_useful_share_of_padding_made_by_hand(value):
    assert useful_share([padded([10, 5, 5, 4], 10, value)]) == 0.6
    assert useful_share([padded([10, 10], 10, value)]) == 1.0
    assert useful_share([padded([10, 0], 10, value)]) == 0.5  # a row that only fills up
    assert useful_share([padded([10, 5], 10, value), padded([4, 4], 4)]) == 23 / 28


@pytest.mark.parametrize("batch", [np.zeros((4, 10, 3)), np.arange(4), np.float32(1), [], np.zeros((0, 5))])
def test_where_nothing_can_be_told_nothing_is(batch):
    assert useful_share([batch]) is None


def test_the_largest_tensor_decides():
    small = np.zeros((2, 50), np.int32)
    assert useful_share([{"tokens": small, "mel": padded([40, 20], 40)}]) == 0.75
    assert rows_of((small, padded([40, 20, 20], 40))) == 3


def test_the_typical_batch_is_neither_the_longest_nor_the_shortest():
    assert typical(several_lengths([2, 400, 30, 31, 50])).shape[1] == 31


@pytest.mark.parametrize(("loop_ms", "overlap"), [(30.0, 0.0), (25.0, 0.5), (20.0, 1.0), (40.0, 0.0), (5.0, 1.0)])
def test_overlap_is_what_is_hidden_of_the_shorter(loop_ms, overlap):
    times = {"device_ms": 10.0, "compute_ms": 10.0, "loader_ms": 20.0, "loop_ms": loop_ms, "wait_ms": loop_ms - 10}
    measurements = Measurements(batch=1, cores=2, device_cores=0, loader_cores=1, idle_cores=1, **times)
    assert measurements.overlap == overlap


def test_a_phase_ends_after_the_batches_that_were_asked_for():
    assert observe(batches(), nothing, most_batches=7).loop_steps == 7


def test_stages_that_cannot_account_for_the_time_are_not_shown():
    import time

    from myxtts.doctor.counters import stage_times

    def slow(n):
        time.sleep(0.002)
        return n

    numbers = tf.data.Dataset.range(4).map(lambda n: tf.numpy_function(slow, [n], tf.int64))
    taken = iter(numbers.repeat().prefetch(1))
    for _ in range(20):
        next(taken)
    assert stage_times(taken, 0.0)
    assert stage_times(taken, 1000.0) == {}


def test_the_users_own_error_is_told_and_not_half_a_traceback():
    def load_sample(number):
        if number == 5:
            raise ValueError("corrupt sample 41")
        return number

    data = tf.data.Dataset.range(9).map(lambda n: tf.py_function(load_sample, [n], tf.int64)).batch(1)
    with pytest.raises(DiagnosisError, match="the data raised ValueError: corrupt sample 41; expected batches"):
        observe(data, nothing)
