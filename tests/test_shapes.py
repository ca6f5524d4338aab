"""What a file of a stranger must look like, and what is said where it does not."""

from typing import Any

import pytest

from myxtts.shapes import COUNT, Each, Maybe, Number, Only, fits, misfit

SHAPE = {"step": Number(0, 9, whole=True), "names": [str], "sizes": Each(COUNT), "kind": frozenset({"a", "b"}),
         "note": Maybe((None, str))}  # fmt: skip
RIGHT: dict[str, Any] = {"step": 3, "names": ["x"], "sizes": {"y": 1}, "kind": "a"}


def test_what_fits():
    assert misfit(RIGHT, SHAPE) == ""
    assert fits({**RIGHT, "note": None, "other": object()}, SHAPE)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"step": -1}, "step is -1, expected a whole number from 0 to 9"),
        ({"step": True}, "step is true"),
        ({"step": 2.5}, "step is 2.5"),
        ({"step": 10**400}, "step is a huge number"),
        ({"names": ["a", None]}, r"names\[1\] is null, expected a text"),
        ({"names": "abc"}, 'names is "abc", expected a list'),
        ({"names": ["\ud800"]}, r"names\[0\]"),
        ({"sizes": {"y": float("nan")}}, "sizes.y is NaN"),
        ({"sizes": []}, "sizes is a list, expected an object"),
        ({"kind": "c"}, 'kind is "c", expected one of a, b'),
        ({"kind": []}, "kind is a list"),
        ({"note": 5}, "note is 5"),
    ],
)
def test_what_does_not_fit_is_named(changes, said):
    import re

    assert re.match(said, misfit({**RIGHT, **changes}, SHAPE))


def test_a_missing_key_and_one_too_many():
    assert misfit({}, SHAPE) == "step is missing"
    assert misfit({"a": 1, "b": 2}, Only({"a": int})) == 'it has "b", which is not known'
    assert [fits(value, Number()) for value in (1.5, float("inf"), "1")] == [True, False, False]
