"""The graph of a dataset says what it is made of: Python functions however deep, reads, spectra, workers, prefetch."""

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from myxtts.doctor.structure import PYTHON_OPS, READ_OPS, SPECTRUM_OPS, Stage, Structure, structure_of
from myxtts.machine.process import anonymous_bytes

AUTOTUNE = tf.data.AUTOTUNE


def by_python(n):
    return tf.numpy_function(lambda value: value, [n], tf.int64)


def by_eager_python(n):
    return tf.py_function(lambda value: value, [n], tf.int64)


def numbers():
    return tf.data.Dataset.range(8)


def python_in_a_branch(n):
    return tf.cond(n > 100, lambda: by_python(n), lambda: n)


def python_in_a_loop(n):
    return tf.while_loop(lambda i: i < 1, lambda i: (tf.ensure_shape(by_python(i), []),), [n])[0]


def generator():
    yield from range(8)


OUTSIDE = numbers().map(by_python)  # a dataset that functions below only refer to

WITH_PYTHON = {
    "map": lambda: numbers().map(by_python),
    "py_function": lambda: numbers().map(by_eager_python),
    "parallel map, far from the end": lambda: numbers().map(by_python, AUTOTUNE).batch(2).cache().shuffle(3).repeat(),
    "interleave": lambda: numbers().interleave(lambda n: numbers().map(by_python), num_parallel_calls=2),
    "flat_map of flat_map": lambda: numbers().flat_map(lambda n: numbers().flat_map(lambda m: OUTSIDE.take(1))),
    "a dataset from outside": lambda: numbers().interleave(lambda n: OUTSIDE),
    "from_generator": lambda: tf.data.Dataset.from_generator(generator, output_signature=tf.TensorSpec([], tf.int64)),
    "a branch": lambda: numbers().map(python_in_a_branch),
    "a loop": lambda: numbers().map(python_in_a_loop),
    "a compiled function": lambda: numbers().map(tf.function(by_python)),
    "filter": lambda: numbers().filter(lambda n: by_python(n) > 3),
    "one of two": lambda: tf.data.Dataset.zip((numbers(), numbers().map(by_python))),
    "a mixture": lambda: tf.data.Dataset.sample_from_datasets([numbers(), numbers().map(by_python)]),
    "a window": lambda: numbers().group_by_window(lambda n: by_python(n) % 2, lambda _, part: part.batch(2), 2),
}


@pytest.mark.parametrize("name", WITH_PYTHON)
def test_python_is_found_wherever_it_hides(name):
    assert structure_of(WITH_PYTHON[name]()).count(PYTHON_OPS) >= 1


@pytest.mark.parametrize(
    "clean",
    [
        lambda: numbers().map(lambda n: n + 1).batch(2).prefetch(1),
        lambda: numbers().interleave(lambda n: numbers().map(lambda m: m * n), cycle_length=2),
        lambda: numbers().map(lambda n: tf.cond(n > 3, lambda: n, lambda: -n)).bucket_by_sequence_length(
            lambda n: tf.cast(n, tf.int32), [4], [2, 2]
        ),
        lambda: tf.data.Dataset.zip((numbers(), numbers())).shuffle(4).repeat(),
    ],
)  # fmt: skip
def test_none_is_found_where_there_is_none(clean):
    structure = structure_of(clean())
    assert (structure.count(PYTHON_OPS), structure.count(READ_OPS), structure.count(SPECTRUM_OPS)) == (0, 0, 0)


def test_reads_and_spectra_are_found_in_nested_functions():
    def mel(path):
        raw = tf.io.read_file(path)
        wave = tf.io.decode_raw(raw, tf.float32)
        return tf.abs(tf.signal.stft(wave, 64, 16))

    paths = tf.data.Dataset.from_tensor_slices(["a", "b"])
    structure = structure_of(paths.interleave(lambda path: tf.data.Dataset.from_tensors(path).map(mel)))
    assert (structure.count(READ_OPS), structure.count(SPECTRUM_OPS), structure.count(PYTHON_OPS)) == (1, 1, 0)


def test_shards_of_records_are_not_a_file_for_every_utterance():
    shards = tf.data.Dataset.from_tensor_slices(["a", "b"])
    assert structure_of(shards.interleave(tf.data.TFRecordDataset)).count(READ_OPS) == 0


def test_parallel_calls_and_which_stages_are_narrow():
    def work(n):
        return n * n + 1

    structure = structure_of(numbers().map(work).map(work, num_parallel_calls=3).map(work, num_parallel_calls=AUTOTUNE))
    assert [stage.parallel_calls for stage in structure.stages] == [-1, 3, None, None]
    assert structure.narrow(cores=8) == [3, 1]
    assert structure.narrow(cores=2) == [1]
    assert structure.narrow(cores=1) == []


def test_a_stage_that_does_nothing_is_not_narrow():
    assert structure_of(tf.data.Dataset.zip((numbers(), numbers())).map(lambda a, b: a)).narrow(cores=8) == []


def with_options(dataset):
    options = tf.data.Options()
    options.deterministic = False
    return dataset.with_options(options)


@pytest.mark.parametrize(
    ("end", "ahead"),
    [
        (lambda batches: batches.prefetch(2), True),
        (lambda batches: with_options(batches.prefetch(2)), True),
        (lambda batches: batches.prefetch(2).take(3).repeat(), True),
        (lambda batches: with_options(batches.prefetch(AUTOTUNE).repeat().take(3)), True),
        (lambda batches: batches, False),
        (lambda batches: with_options(batches.repeat()), False),
        (lambda batches: batches.prefetch(2).map(lambda n: n + 1), False),
    ],
)
def test_prefetch_counts_where_nothing_works_behind_it(end, ahead):
    assert structure_of(end(numbers().map(lambda n: n * 2).batch(2))).prefetches is ahead


def test_an_iterator_is_what_it_iterates_over():
    dataset = numbers().map(by_python).prefetch(1)
    for iterator in (iter(dataset), dataset.as_numpy_iterator()):
        structure = structure_of(iterator)
        assert structure.is_dataset
        assert structure.prefetches
        assert structure.count(PYTHON_OPS) == 1


def test_of_another_iterable_only_its_workers_are_known():
    class Loader:
        num_workers = 3

    assert structure_of(Loader()) == Structure([], 3, is_dataset=False)
    assert structure_of([1, 2]) == Structure([], None, is_dataset=False)


def test_a_captured_file_costs_no_memory(tmp_path: Path):
    table = tf.constant(np.ones((64, 1 << 20), np.float32))  # 256 MB
    dataset = numbers().map(lambda n: tf.gather(table, n)).batch(2)
    before = anonymous_bytes()
    structure = structure_of(dataset)
    assert anonymous_bytes() - before < 16 << 20
    assert any("Gather" in op for stage in structure.stages for op in stage.ops)


def test_it_survives_json():
    structure = structure_of(WITH_PYTHON["interleave"]())
    assert Structure.from_dict(structure.to_dict()) == structure
    assert Structure.from_dict(structure.to_dict()).stages[0] == Stage("ParallelInterleave", 2, structure.stages[0].ops)
