"""Fetching ahead changes when items are made, never which, in what order, or how errors arrive."""

import itertools
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from myxtts.data.ahead import ahead


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
