"""Fetching ahead changes when items are made, never which, in what order, or how errors arrive."""

import itertools
import threading

import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from myxtts.data.ahead import ahead, elements


def threads():
    return [thread for thread in threading.enumerate() if thread.name == "myxtts-ahead"]


@given(st.lists(st.integers(), max_size=30), st.integers(1, 6))
def test_the_items_and_their_order(items, depth):
    assert list(ahead(items, depth)) == items
    assert not threads()


def test_an_error_comes_in_its_turn():
    def source():
        yield from (1, 2)
        raise ValueError("the third is broken")

    batches = ahead(source())
    assert [next(batches), next(batches)] == [1, 2]
    with pytest.raises(ValueError, match="third"):
        next(batches)
    assert not threads()


def test_no_more_than_depth_are_made_ahead():
    made = []
    blocked = threading.Event()

    def source():
        for n in itertools.count():
            made.append(n)
            if n == 4:
                blocked.set()
            yield n

    batches = ahead(source(), depth=4)
    assert next(batches) == 0
    assert blocked.wait(5)
    assert len(made) <= 6  # depth, the one taken, and the one in its hands
    batches.close()
    assert not threads()


def test_dropping_the_iterator_stops_the_thread():
    batches = ahead(itertools.count())
    next(batches)
    del batches
    assert not threads()


def test_elements_are_those_of_the_dataset():
    dataset = tf.data.Dataset.range(7).map(lambda n: {"b": n, "a": tf.fill([n], tf.cast(n, tf.float32)), "c": -n})
    seen, expected = list(elements(dataset)), list(dataset)
    assert [list(item) for item in seen] == [list(item) for item in expected]
    assert [{name: value.numpy().tolist() for name, value in item.items()} for item in seen] == [
        {name: value.numpy().tolist() for name, value in item.items()} for item in expected
    ]


def test_elements_raise_what_the_dataset_raises():
    inverse = tf.data.Dataset.range(3).map(lambda n: 1.0 / tf.cast(n, tf.float32))
    dataset = inverse.map(lambda x: {"x": tf.debugging.check_numerics(x, "no number")})
    with pytest.raises(tf.errors.InvalidArgumentError, match="no number"):
        next(elements(dataset))
