"""What a run's log says about its past: when it waited, since which step, on what. Reads, never runs.

print(explain("runs/voice"))
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myxtts.errors import DiagnosisError
from myxtts.monitor import oscillation
from myxtts.training.run_log import read_log, timed

STALLED = 0.10  # of a window's time spent waiting
_WORTH_TELLING = 0.02  # of the run's time lost in episodes: less is told, but does not make it sick
_WINDOW = 20  # steps: long enough that one slow batch is not an episode
_FEWEST_STEPS = 10
# What the machine may have been busy with, and how much of it is much
_MUCH = {
    "disk_read_bytes_per_s": (5e6, "{:.0f} MB/s were read from the disk", 1e6),
    "major_faults_per_s": (20.0, "{:.0f} pages a second came from the disk", 1),
    "swapped_in_bytes_per_s": (1e6, "{:.0f} MB/s were swapped in", 1e6),
    "cpu_percent": (85.0, "the cores were busy {:.0f} % of the time", 1),
}

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Episode:
    """Steps in which the device waited, and what the machine did more than otherwise."""

    first_step: int
    last_step: int
    stall: float
    wait_ms: float
    goes_on: bool = False  # to the last step of the log
    meanwhile: tuple[str, ...] = ()


@dataclass
class History:
    """The past of a run, and its verdict."""

    verdict: str  # "healthy", "data" or "compiling"
    steps: int
    stall: float
    data_ms: float
    compute_ms: float
    jitter: float
    period_steps: int | None
    late_traces: int = 0
    episodes: list[Episode] = field(default_factory=list)
    events: dict[str, int] = field(default_factory=dict)
    advice: list[str] = field(default_factory=list)  # of the monitor, in the run's last report

    @property
    def healthy(self) -> bool:
        return self.verdict == "healthy"

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"healthy": self.healthy}

    def __str__(self) -> str:
        return "\n".join([f"verdict: {self.verdict}", *(f"  {line}" for line in _told(self))])


@dataclass
class _Log:
    """The columns of a log that matter here; a million steps are 32 MB."""

    steps: Any = field(default_factory=list)  # (step, time, data_ms, compute_ms)
    machine: list[dict[str, Any]] = field(default_factory=list)
    events: Counter[str] = field(default_factory=Counter)
    late_traces: int = 0
    advice: list[str] = field(default_factory=list)


def explain(run: Path | str) -> History:
    """From RUN/log.jsonl, of a finished run or of one that goes on."""
    log = _read(timed(read_log(run)))
    if len(log.steps) < _FEWEST_STEPS:
        raise DiagnosisError(
            f"{run} has logged {len(log.steps)} steps, expected at least {_FEWEST_STEPS}: let it train longer"
        )
    _, _, data, compute = log.steps.T
    total = data + compute
    wave = oscillation(total.tolist())
    found = History(
        verdict="healthy",
        steps=len(total),
        stall=float(data.sum() / total.sum()),
        data_ms=float(np.median(data)),
        compute_ms=float(np.median(compute)),
        jitter=float(total.std() / total.mean()),
        period_steps=None if wave is None else wave[0],
        late_traces=log.late_traces,
        episodes=_episodes(log),
        events=dict(log.events),
        advice=log.advice,
    )
    found.verdict = _verdict(found, float(total.sum()))
    return found


def _read(records: Iterable[dict[str, Any]]) -> _Log:
    log, first = _Log(), True
    for record in records:
        kind = record["kind"]
        if kind == "step":
            row = (record["step"], record["time"], float(record["data_ms"]), float(record["compute_ms"]))
            if not first:
                log.steps.append(row)
            first = False
        elif kind in ("start", "resume"):
            first = True  # the first batch is waited for by every run
        elif kind == "event":
            log.events[record["event"]] += 1
        elif kind == "machine":
            log.machine.append(record)
        elif kind == "report":
            log.late_traces = max(log.late_traces, int(record.get("traces_after_start", 0)))
            advice = record.get("analysis", {}).get("recommendations", [])
            log.advice = [line for line in advice if "myxtts doctor" not in line]  # that is this
    log.steps = np.array(log.steps, np.float64).reshape(-1, 4)
    return log


def _verdict(found: History, run_ms: float) -> str:
    lost = sum(each.wait_ms * (each.last_step - each.first_step + 1) for each in found.episodes)
    goes_on = any(each.goes_on for each in found.episodes)
    if found.stall > STALLED or lost > _WORTH_TELLING * run_ms or goes_on:
        return "data"
    return "compiling" if found.late_traces else "healthy"


def _episodes(log: _Log) -> list[Episode]:
    """Stretches in which windows of steps waited more than a tenth of their time, the longest first."""
    numbers, times, data, compute = log.steps.T
    total = data + compute
    if len(numbers) < _WINDOW:
        return []
    weights = np.ones(_WINDOW)
    share = np.convolve(data, weights, "valid") / np.convolve(total, weights, "valid")
    edges = np.diff(np.concatenate([[0], (share > STALLED).astype(int), [0]]))
    episodes = []
    for first, last in zip(np.flatnonzero(edges == 1), np.flatnonzero(edges == -1), strict=True):
        slow = np.flatnonzero(data[first : last + _WINDOW - 1] > STALLED * total[first : last + _WINDOW - 1]) + first
        own = slice(slow[0], slow[-1] + 1)
        episodes.append(
            Episode(
                int(numbers[slow[0]]),
                int(numbers[slow[-1]]),
                float(data[own].sum() / total[own].sum()),
                float(data[own].mean()),
                goes_on=bool(len(numbers) - slow[-1] <= _WINDOW // 4),
                meanwhile=_meanwhile(log.machine, times[slow[0]] - total[slow[0]] / 1e3, times[slow[-1]]),
            )
        )
    return sorted(episodes, key=lambda episode: episode.first_step - episode.last_step)


def _meanwhile(machine: list[dict[str, Any]], began: float, ended: float) -> tuple[str, ...]:
    """What the machine did much of between two times, and twice as much as otherwise."""
    said = []
    for column, (much, words, unit) in _MUCH.items():
        at, values = _column(machine, column)
        inside = (began <= at) & (at <= ended)
        mean = float(values[inside].mean()) if inside.any() else 0.0
        otherwise = float(values[~inside].mean()) if not inside.all() else 0.0
        if mean > max(much, 0.0 if column == "cpu_percent" else 2 * otherwise):
            said.append(words.format(mean / unit))
    return tuple(said)


def _column(machine: list[dict[str, Any]], column: str) -> tuple[Floats, Floats]:
    """Times and values of one number of the machine; what a sample lacks is left out."""
    pairs = [
        pair
        for record in machine
        for pair in zip(record.get("at", []), record.get(column, []), strict=False)
        if None not in pair
    ]
    table = np.array(pairs, np.float64).reshape(-1, 2)
    return table[:, 0], table[:, 1]


def _told(found: History) -> list[str]:
    lines = [
        f"{found.steps} steps, the device waited {found.stall:.1%} of the time; a step is {found.data_ms:.1f} ms of "
        f"waiting and {found.compute_ms:.1f} ms of computing (medians)",
        f"step time varies by {found.jitter:.2f} (std/mean)"
        + (f", in waves of {found.period_steps} steps" if found.period_steps else ""),
    ]
    for episode in found.episodes[:5]:
        until = "on" if episode.goes_on else f"to {episode.last_step}"
        lines.append(
            f"from step {episode.first_step} {until} it waited {episode.stall:.0%} of the time, "
            f"{episode.wait_ms:.0f} ms a step" + "".join(f"; {line}" for line in episode.meanwhile)
        )
    if len(found.episodes) > 5:
        lines.append(f"and {len(found.episodes) - 5} shorter ones")
    if found.late_traces:
        lines.append(
            f"{found.late_traces} shapes were compiled after the start: plan buckets (data.num_buckets) for all data"
        )
    if found.events:
        lines.append("events: " + ", ".join(f"{count} {name}" for name, count in sorted(found.events.items())))
    if found.verdict == "data":
        lines += found.advice
        lines.append("find out why: run 'myxtts doctor --cache CACHE' on the machine while nothing else runs")
    return lines
