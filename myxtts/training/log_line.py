"""One line of a log.jsonl that anybody may have written: what its readers rely on is there and is what they expect.

A line that is no object with a `kind` is none. A field that is not what it should be is left out, as if it had not been
written: readers know fields that are missing from older logs, and draw a gap.
"""

from __future__ import annotations

import json
from typing import Any

from myxtts.shapes import COUNT, Each, Maybe, Number, fits

_MOST_BYTES = 1 << 24  # of a line; an hour of machine samples is 60 kB
_TIME = Number(0, 2e10)  # seconds since 1970: the year 2603
_MS = Number(0, 1e12)
_NUMBER = (Number(-1e300, 1e300), frozenset({"NaN", "Infinity", "-Infinity"}))
_RANGES = Each({"mean": _NUMBER, "min": _NUMBER, "max": _NUMBER})
_WINDOW = {
    "steps": COUNT,
    "stall": Number(0, 1),
    "total_ms": {"jitter": _MS},
    "oscillation": (None, {"period_steps": Maybe((None, COUNT)), "strength": Maybe((None, _NUMBER))}),
}
_BUCKET = {name: Number(0, 1e9) for name in ("frames", "utterances", "batch")}
_FEED = {
    "useful_frame_share": Maybe((None, Number(0, 1))),
    "steps_per_epoch": Maybe((None, Number(1, 1e12))),
    "tables": Maybe([{"buckets": Maybe([_BUCKET])}]),
}
_MACHINE = {
    "description": Maybe({"cpus": Maybe((None, COUNT)), "memory_bytes": Maybe((None, COUNT))}),
    "columns": _RANGES,
}
SCORES = Each(Each(_NUMBER))  # measure -> kind -> value
# of lines of the kinds that have them
_FIELDS: dict[str, Any] = {
    "time": _TIME,
    "step": COUNT,
    "data_ms": _MS,
    "compute_ms": _MS,
    "seconds": Number(0, 1e12),
    "batch": COUNT,
    "frames": COUNT,
    "event": str,
    "why": str,
    "by": str,
    "value": (None, _NUMBER),
    "parameters": COUNT,
    "config": Each(Each(Any)),
    "scores": SCORES,
    "feed": _FEED,
    "at": [(None, _TIME)],
    "traces_after_start": COUNT,
    "spans": Each({"total_ms": _NUMBER, "count": COUNT, "max_ms": _NUMBER}),
    "counters": Each(COUNT),
    "late": Each(COUNT),
    "steps": COUNT,
    "utterances": Number(0, 1e15),
    "eta_seconds": (None, Number(0, 1e12)),
    "rank_data_ms": [_MS],
    "rank_compute_ms": [_MS],
    "timings": (None, {"window": _WINDOW}),
    "machine": _MACHINE,
}
_OF_NUMBERS = {"step": _NUMBER, "validation": _NUMBER, "machine": [(None, _NUMBER)]}  # what all other fields are then
_OF_EVENTS = _FIELDS | {"utterances": [str]}  # not how many, but which
_NAMES = frozenset({"kind"})


def parse_line(line: bytes) -> dict[str, Any] | None:
    """The record in a line, as far as it can be relied on; None if it is no line of a log."""
    if len(line) > _MOST_BYTES:
        return None
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict) or not fits(record.get("kind"), str):
        return None
    others, fields = _OF_NUMBERS.get(record["kind"]), _OF_EVENTS if record["kind"] == "event" else _FIELDS
    return {name: value for name, value in record.items() if _is_as_expected(name, value, fields.get(name, others))}


def _is_as_expected(name: str, value: Any, wanted: Any) -> bool:
    if type(value) is float and (wanted is _NUMBER or wanted is _MS):  # most of all fields
        return 0 <= value < 1e12 or fits(value, wanted)
    return wanted is None or name in _NAMES or fits(value, wanted)
