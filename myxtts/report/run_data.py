"""A run's log as columns: what its report draws. Reads `log.jsonl` once, also of an active run."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from myxtts.evaluation.measures import MEASURES
from myxtts.report.axes import Floats
from myxtts.training.run_log import read_log, timed

METRIC = "mel_error"  # what validation goes by
_COLUMNS = ("step", "time", "data_ms", "compute_ms", "loss", "learning_rate", "grad_norm", "batch", "frames")
_MOST_EVENTS = 200  # the last ones are shown; a sick run has a million
_LARGEST_GAP = 3600.0  # seconds between two steps: more is a night in which nothing ran


class Best(NamedTuple):
    step: int
    by: str
    value: float


@dataclass
class RunData:
    """`steps` are columns by name; the first step after each start is not among them, its wait is in `first_waits`."""

    steps: dict[str, Floats]
    first_waits: list[float] = field(default_factory=list)
    other_ms: float = 0.0  # between steps: validation, samples, checkpoints
    start: dict[str, Any] = field(default_factory=dict)
    end: dict[str, Any] | None = None
    report: dict[str, Any] = field(default_factory=dict)  # the last one
    validations: list[dict[str, Any]] = field(default_factory=list)
    rated: list[dict[str, Any]] = field(default_factory=list)  # what checkpoints are chosen by
    evaluations: list[dict[str, Any]] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)
    resumed: tuple[int, ...] = ()
    machine: dict[str, list[tuple[float, float]]] = field(default_factory=dict)  # (time, value) by name
    compiling_ms: float = 0.0
    last_step: int = 0

    @property
    def began(self) -> float:
        return float(self.start.get("time", self.steps["time"][0] if len(self.steps["time"]) else 0.0))

    @property
    def feed(self) -> dict[str, Any]:
        """What the feed said about itself."""
        return self.start.get("feed") or {}

    @property
    def best(self) -> Best | None:
        """Of the run's checkpoints; of its validations as far as the log is older than ratings are."""
        by, first = (self.rated[-1]["by"], self.rated[0]["step"]) if self.rated else (METRIC, math.inf)
        older = [each | {"by": METRIC, "value": each.get(METRIC)} for each in self.validations if each["step"] < first]
        rated = [each for each in older + self.rated if each["by"] == by and isinstance(each["value"], float)]
        lowest = min(rated, key=lambda each: each["value"], default=None)
        if lowest is None:
            return None
        value = MEASURES[by].lower_better(lowest["value"]) if by in MEASURES else lowest["value"]
        return Best(int(lowest["step"]), by, value)


def read_run(run: Path | str, progress: Callable[[], Any] = lambda: None) -> RunData:
    """Every line of the history that led to the run as it is; `progress` is called for each."""
    rows: list[tuple[float, ...]] = []
    traces: dict[str, list[tuple[float, float]]] = defaultdict(list)
    data, resumed, before, first = RunData({}), [], 0.0, True
    for record in timed(read_log(run)):
        progress()
        kind, at = record["kind"], record["time"]
        if kind == "step":
            row = tuple(_number(record.get(name)) for name in _COLUMNS)
            if first:
                data.first_waits.append(row[2])
            else:
                rows.append(row)
                gap = (at - before) * 1e3 - row[2] - row[3]
                data.other_ms += gap if 0 < gap < _LARGEST_GAP * 1e3 else 0.0
            before, first, data.last_step = at, False, int(record["step"])
        elif kind in ("start", "resume"):
            first = True  # the first batch is waited for by every run
            if kind == "resume":
                resumed.append(int(record["step"]))
            else:
                data.start, data.end = data.start or record, None
        elif kind == "machine":
            _add_samples(traces, record)
        else:
            _keep(data, kind, record)
    columns = np.array(rows, np.float64).reshape(-1, len(_COLUMNS)).T
    data.steps, data.resumed, data.machine = dict(zip(_COLUMNS, columns, strict=True)), tuple(resumed), dict(traces)
    return data


def where_the_time_went(data: RunData) -> dict[str, float]:
    """Shares that sum to 1; padding is the computing on frames that are not there."""
    useful = float(data.feed.get("useful_frame_share") or 1.0)
    compute = float(data.steps["compute_ms"].sum())
    parts = {
        "computing": compute * useful,
        "padding": compute * (1 - useful),
        "waiting for data": float(data.steps["data_ms"].sum()) + sum(data.first_waits),
        "compiling": data.compiling_ms,
        "validation, samples, checkpoints": data.other_ms,
    }
    total = sum(parts.values())
    return {name: value / total for name, value in parts.items() if value > 0} if total else {}


def _number(value: Any) -> float:
    """What is not a number, or is not there, leaves a gap in a curve."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")


def _keep(data: RunData, kind: str, record: dict[str, Any]) -> None:
    if kind == "event":
        if record.get("event") == "compiled":
            data.compiling_ms += 1e3 * float(record.get("seconds", 0.0))
        data.events = [*data.events, record][-_MOST_EVENTS:]
    elif kind == "validation":
        data.validations.append(record)
    elif kind == "rated":
        data.rated.append(record)
    elif kind == "evaluation" and "scores" in record:
        data.evaluations.append(record)
    elif kind == "report":
        data.report = record
    elif kind == "end":
        data.end = record


def _add_samples(traces: dict[str, list[tuple[float, float]]], record: dict[str, Any]) -> None:
    times = record.get("at", [])
    for name, values in record.items():
        if name not in ("time", "kind", "step", "at") and isinstance(values, list):
            pairs = zip(times, values, strict=False)
            traces[name] += [(float(at), float(value)) for at, value in pairs if at is not None and value is not None]


def samples_to_traces(samples: Any) -> dict[str, list[tuple[float, float]]]:
    """The same from what a `MachineSampler` has: one dictionary per second."""
    traces: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for sample in samples:
        for name, value in sample.items():
            if name != "at" and isinstance(value, int | float):
                traces[name].append((float(sample["at"]), float(value)))
    return dict(traces)
