"""What a run's log says about its past: when it waited, since which step, on what. Reads, never runs.

print(explain("runs/voice"))
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myxtts.doctor.causes import CAUSES, DATA, HEALTHY
from myxtts.doctor.ranks import Ranks, ranks_of
from myxtts.doctor.verdicts import SUMMARY, analyse, verdict_of
from myxtts.errors import DiagnosisError
from myxtts.monitor import FEWEST_STEPS
from myxtts.monitor.statistics import oscillation
from myxtts.thresholds import (
    CORES_BUSY,
    DISK_READ_BYTES_PER_S,
    EPISODES,
    FAULTS_PER_S,
    STALLED,
    SWAPPED_BYTES_PER_S,
)
from myxtts.training.run_log import read_log, timed

_RANK_STEPS = 2000  # the last ones, from which is told how several devices did
_WINDOW = 20  # steps: long enough that one slow batch is not an episode
# What the machine may have been busy with, and how much of it is much
_MUCH = {
    "disk_read_bytes_per_s": (DISK_READ_BYTES_PER_S, "{:.0f} MB/s were read from the disk", 1e6),
    "major_faults_per_s": (FAULTS_PER_S, "{:.0f} pages a second came from the disk", 1),
    "swapped_in_bytes_per_s": (SWAPPED_BYTES_PER_S, "{:.0f} MB/s were swapped in", 1e6),
    "cpu_percent": (100 * CORES_BUSY, "the cores were busy {:.0f} % of the time", 1),
}

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Episode:
    """Steps that waited, and what the machine did more than otherwise."""

    first_step: int
    last_step: int
    stall: float
    wait_ms: float
    ongoing: bool = False  # to the last step of the log
    meanwhile: tuple[str, ...] = ()


@dataclass
class History:
    """The past of a run, and its verdict."""

    verdict: str  # healthy, data or recompilation
    steps: int
    stall: float
    data_ms: float
    compute_ms: float
    jitter: float
    period_steps: int | None
    late_traces: int = 0
    episodes: list[Episode] = field(default_factory=list)
    events: dict[str, int] = field(default_factory=dict)
    advice: list[str] = field(default_factory=list)  # by the run's last summary of itself
    ranks: Ranks | None = None  # where several devices trained

    @property
    def healthy(self) -> bool:
        return self.verdict == HEALTHY.name

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"healthy": self.healthy}

    def __str__(self) -> str:
        return "\n".join([f"verdict: {self.verdict}", *(f"  {line}" for line in _lines(self))])


@dataclass
class _Log:
    """The columns of a log that matter here; a million steps are 32 MB."""

    steps: Any = field(default_factory=list)  # (step, time, data_ms, compute_ms)
    machine: list[dict[str, Any]] = field(default_factory=list)
    events: Counter[str] = field(default_factory=Counter)
    late_traces: int = 0
    report: dict[str, Any] | None = None  # the last one
    ranks: deque[dict[str, Any]] = field(default_factory=lambda: deque(maxlen=_RANK_STEPS))


def explain(run: Path | str) -> History:
    """From RUN/log.jsonl, of a finished run or an active one."""
    log = _read(timed(read_log(run)))
    if len(log.steps) < FEWEST_STEPS:
        raise DiagnosisError(
            f"{run} has logged {len(log.steps)} steps, expected at least {FEWEST_STEPS}: let it train longer"
        )
    _, _, data, compute = log.steps.T
    total = data + compute
    wave = oscillation(total.tolist())
    history = History(
        verdict=HEALTHY.name,
        steps=len(total),
        stall=float(data.sum() / total.sum()),
        data_ms=float(np.median(data)),
        compute_ms=float(np.median(compute)),
        jitter=float(total.std() / total.mean()),
        period_steps=None if wave is None else wave[0],
        late_traces=log.late_traces,
        episodes=_episodes(log),
        events=dict(log.events),
        advice=_advice(log.report),
        ranks=ranks_of(log.ranks),
    )
    history.verdict = _verdict(history, float(total.sum()))
    return history


def _read(records: Iterable[dict[str, Any]]) -> _Log:
    log, first = _Log(), True
    for record in records:
        kind = record["kind"]
        if kind == "step":
            row = (record["step"], record["time"], float(record["data_ms"]), float(record["compute_ms"]))
            if not first:
                log.steps.append(row)
                if "rank_compute_ms" in record:
                    log.ranks.append(record)
            first = False
        elif kind in ("start", "resume"):
            first = True  # the first batch is waited for by every run
        elif kind == "event":
            log.events[record.get("event", "unnamed")] += 1
        elif kind == "machine":
            log.machine.append(record)
        elif kind == "report":
            log.late_traces = max(log.late_traces, int(record.get("traces_after_start", 0)))
            log.report = record
    log.steps = np.array(log.steps, np.float64).reshape(-1, 4)
    return log


def _advice(report: dict[str, Any] | None) -> list[str]:
    """What the monitor's last summary suggests; an older log has less of it."""
    if report is None or not set(report) >= SUMMARY:
        return []
    return [line for line in analyse(report)["recommendations"] if "myxtts doctor" not in line]  # that is this


def _verdict(history: History, run_ms: float) -> str:
    lost = sum(each.wait_ms * (each.last_step - each.first_step + 1) for each in history.episodes)
    ongoing = any(each.ongoing for each in history.episodes)
    if lost > EPISODES * run_ms or ongoing:
        return DATA.name
    return verdict_of(history.steps, history.stall, history.late_traces)


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
                ongoing=bool(len(numbers) - slow[-1] <= _WINDOW // 4),
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


def _lines(history: History) -> list[str]:
    lines = [
        f"{history.steps} steps, which waited {history.stall:.1%} of their time for data; "
        f"a step is {history.data_ms:.1f} ms of waiting and {history.compute_ms:.1f} ms of computing (medians)",
        f"step time varies by {history.jitter:.2f} (std/mean)"
        + (f", in waves of {history.period_steps} steps" if history.period_steps else ""),
    ]
    for episode in history.episodes[:5]:
        until = "on" if episode.ongoing else f"to {episode.last_step}"
        lines.append(
            f"from step {episode.first_step} {until} it waited {episode.stall:.0%} of its time, "
            f"{episode.wait_ms:.0f} ms a step" + "".join(f"; {line}" for line in episode.meanwhile)
        )
    if len(history.episodes) > 5:
        lines.append(f"and {len(history.episodes) - 5} shorter ones")
    lines += history.ranks.lines() if history.ranks is not None else []
    if history.late_traces:
        lines.append(f"{history.late_traces} shapes were compiled after the start: {CAUSES['recompilation'].cure}")
    if history.events:
        lines.append("events: " + ", ".join(f"{count} {name}" for name, count in sorted(history.events.items())))
    if history.verdict == DATA.name:
        lines += history.advice
        lines.append(f"find out why: {DATA.cure}")
    return lines
