"""The body of POST /v1/audio/speech, checked field by field: an `Order`, or a `Problem` that names the field."""

from __future__ import annotations

import difflib
import json
from typing import Any, NamedTuple, NoReturn

from myxtts.inference.request import LARGEST_SEED
from myxtts.serving.encoding import MEDIA_TYPES
from myxtts.serving.problems import invalid

# OpenAI's own voices: clients that know no others ask for one of these and get the model's voice.
OPENAI_VOICES = (
    "alloy", "ash", "ballad", "cedar", "coral", "echo", "fable", "marin", "nova", "onyx", "sage", "shimmer", "verse",
)  # fmt: skip
OWN_VOICE = "default"
IGNORED = "X-MyXTTS-Ignored"  # a header of the answer: fields that had no effect
STREAM_FORMATS = ("audio", "sse")
FIELDS = (
    "model", "input", "voice", "response_format", "speed", "stream_format", "instructions", "language", "seed",
)  # fmt: skip
_SLOWEST, _FASTEST = 0.25, 4.0
_LONGEST_NAME = 64


class Order(NamedTuple):
    model: str
    text: str
    voice: str = OWN_VOICE
    response_format: str = "mp3"
    speed: float = 1.0
    stream_format: str = "audio"
    language: str | None = None
    seed: int | None = None
    ignored: tuple[str, ...] = ()  # fields that were sent and have no effect


def read_order(body: bytes, most_chars: int) -> Order:
    values = read_object(body)
    for name in values:
        if name not in FIELDS:
            near = difflib.get_close_matches(name, FIELDS, n=1)
            hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(FIELDS)}"
            raise invalid(f"unknown field {name[:80]!r}: {hint}", name[:80], "unknown_parameter")
    # OpenAI's older models take no directions either and ignore them; clients send them without asking which it is.
    directions = _text(values, "instructions", 10 * most_chars, "")
    return Order(
        model=_required(values, "model", _LONGEST_NAME),
        text=_required(values, "input", most_chars),
        voice=_voice(values),
        response_format=_choice(values, "response_format", tuple(MEDIA_TYPES), "mp3"),
        speed=_speed(values),
        stream_format=_choice(values, "stream_format", STREAM_FORMATS, "audio"),
        language=_text(values, "language", _LONGEST_NAME, None),
        seed=_seed(values),
        ignored=("instructions",) if directions else (),
    )


def read_object(body: bytes) -> dict[str, Any]:
    """A JSON object of plain values. JSON that Python reads and others do not (NaN, lone surrogates) is refused."""
    try:
        values = _DECODER.decode(body.decode())
        _ENCODER.encode(values).encode()
    except (ValueError, RecursionError) as error:  # half a surrogate pair is a UnicodeEncodeError, a ValueError
        raise invalid(f"the body is not JSON in UTF-8: {str(error)[:200]!r}", code="invalid_json") from None
    if not isinstance(values, dict):
        raise invalid("the body is not a JSON object: send {...}", code="invalid_json")
    return values


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_DECODER, _ENCODER = json.JSONDecoder(parse_constant=_refuse), json.JSONEncoder(ensure_ascii=False)


def _required(values: dict[str, Any], name: str, most: int) -> str:
    if values.get(name) is None:
        raise invalid(f"the field {name} is missing", name, "missing_required_parameter")
    return str(_text(values, name, most, ""))


def _text(values: dict[str, Any], name: str, most: int, default: str | None) -> str | None:
    value = values.get(name)
    if value is None:
        return default
    if not isinstance(value, str):
        raise invalid(f"{name} is {_kind(value)}, expected a string", name)
    if len(value) > most:
        raise invalid(f"{name} has {len(value)} characters, expected at most {most}", name, "string_above_max_length")
    return value


def _choice(values: dict[str, Any], name: str, choices: tuple[str, ...], default: str) -> str:
    value = _text(values, name, _LONGEST_NAME, default)
    if value not in choices:
        raise invalid(f"found the {name} {value!r}, expected one of: {', '.join(choices)}", name)
    return str(value)


def _speed(values: dict[str, Any]) -> float:
    value = values.get("speed")
    if value is None:
        return 1.0
    if isinstance(value, bool) or not isinstance(value, int | float) or not _SLOWEST <= value <= _FASTEST:
        raise invalid(f"speed is {_shown(value)}, expected a number from {_SLOWEST} to {_FASTEST:g}", "speed")
    return float(value)


def _seed(values: dict[str, Any]) -> int | None:
    value = values.get("seed")
    if value is not None and (type(value) is not int or abs(value) > LARGEST_SEED):
        raise invalid(f"seed is {_shown(value)}, expected a whole number below 2^63", "seed")
    return value


def _shown(value: Any) -> str:
    """Python refuses to write numbers of more than 4300 digits."""
    huge = type(value) is int and abs(value) > LARGEST_SEED
    return f"a number of {value.bit_length()} bits" if huge else str(value)[:40]


def _voice(values: dict[str, Any]) -> str:
    """A name, or {"id": name}."""
    value = values.get("voice")
    if isinstance(value, dict):
        if set(value) != {"id"} or not isinstance(value["id"], str):
            raise invalid('voice is an object, expected a name or {"id": name}', "voice")
        value = value["id"]
    name = _text({"voice": value}, "voice", _LONGEST_NAME, OWN_VOICE)
    return OWN_VOICE if name in OPENAI_VOICES else str(name)


def _kind(value: Any) -> str:
    kinds = {bool: "true or false", int: "a number", float: "a number", list: "a list", dict: "an object"}
    return kinds.get(type(value), "null")
