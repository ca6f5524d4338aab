"""A body becomes an order, or an answer that names the field; nothing a client can write makes it fail otherwise."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from myxtts.serving.order import FIELDS, Order, read_order
from myxtts.serving.problems import Problem


def read(**fields) -> Order:
    return read_order(json.dumps({"model": "m", "input": "Hi."} | fields).encode(), 100)


def test_what_is_left_out_has_a_default():
    assert read() == Order("m", "Hi.", "default", "mp3", 1.0, "audio", None)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"voice": "anna"}, {"voice": "anna"}),
        ({"voice": {"id": "anna"}}, {"voice": "anna"}),
        ({"voice": "alloy"}, {"voice": "default"}),  # a client that knows OpenAI's voices only
        ({"speed": 4, "response_format": "pcm"}, {"speed": 4.0, "response_format": "pcm"}),
        ({"stream_format": "sse", "language": "fa", "seed": 7}, {"stream_format": "sse", "language": "fa", "seed": 7}),
        ({"instructions": "Be cheerful."}, {"ignored": ("instructions",)}),
        ({"instructions": ""}, {}),
    ],
)
def test_fields_are_read(fields, expected):
    assert read(**fields)._asdict() == read()._asdict() | expected


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"model": None}, "model"),
        ({"input": 7}, "input"),
        ({"input": "x" * 101}, "input"),
        ({"speed": 4.1}, "speed"),
        ({"speed": True}, "speed"),
        ({"speed": "1"}, "speed"),
        ({"speed": 10**300}, "speed"),
        ({"voice": {"id": 7}}, "voice"),
        ({"voice": ["anna"]}, "voice"),
        ({"response_format": "ogg"}, "response_format"),
        ({"stream_format": "text"}, "stream_format"),
        ({"seed": 1.5}, "seed"),
        ({"seed": 2**63}, "seed"),
        ({"langauge": "fa"}, "langauge"),
    ],
)
def test_what_is_wrong_is_named(fields, param):
    with pytest.raises(Problem) as error:
        read(**fields)
    assert error.value.status == 400
    assert error.value.body()["error"]["param"] == param


BROKEN = [
    b"",
    b"[]",
    b"{",
    b"\xff",
    b'{"speed": NaN}',
    b'{"input": "\\ud800"}',
    b"[" * 5000,
    b'{"seed": ' + b"9" * 5000 + b"}",
]


@pytest.mark.parametrize("body", BROKEN)
def test_what_is_not_json_is_refused(body):
    with pytest.raises(Problem) as error:
        read_order(body, 100)
    assert (error.value.status, error.value.code) == (400, "invalid_json")


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])  # on a busy machine time says nothing
@given(st.dictionaries(st.sampled_from(FIELDS), anything))
def test_any_value_of_any_field_is_an_order_or_a_problem(fields):
    assert _what_comes_of(json.dumps(fields).encode("utf-8", "surrogatepass")) in (Order, 400)


def _what_comes_of(body):
    try:
        return type(read_order(body, 100))
    except Problem as problem:
        return problem.status
