"""What a run's log says about its past: when it waited, since which step, what else cost time. Reads, never runs.

print(explain("runs/voice"))
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from myxtts.errors import DiagnosisError
from myxtts.monitor import oscillation
from myxtts.training.run_log import read_log

STALLED = 0.10  # of a window's time spent waiting
_WINDOW = 20  # steps: long enough that one slow batch is not an episode
_FEWEST_STEPS = 10


@dataclass(frozen=True)
class Episode:
    """Steps in which the device waited."""

    first_step: int
    last_step: int
    stall: float
    wait_ms: float


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
    episodes: list[Episode] = field(default_factory=list)
    slow_shapes: list[str] = field(default_factory=list)
    events: dict[str, int] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)

    @property
    def healthy(self) -> bool:
        return self.verdict == "healthy"

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"healthy": self.healthy}

    def __str__(self) -> str:
        return "\n".join([f"verdict: {self.verdict}", *(f"  {line}" for line in self.lines)])


def explain(run: Path | str) -> History:
    """From RUN/log.jsonl, of a finished run or of one that goes on."""
    records = list(read_log(run))
    steps = [record for record in records if record["kind"] == "step"]
    if len(steps) < _FEWEST_STEPS:
        raise DiagnosisError(
            f"{run} has logged {len(steps)} steps, expected at least {_FEWEST_STEPS}: let it train longer"
        )
    numbers = np.array([step["step"] for step in steps])
    data = np.array([float(step["data_ms"]) for step in steps])
    compute = np.array([float(step["compute_ms"]) for step in steps])
    data, compute, numbers = data[1:], compute[1:], numbers[1:]  # the first batch is waited for by every run
    total = data + compute
    wave = oscillation(total.tolist())
    events: dict[str, int] = {}
    for record in records:
        if record["kind"] == "event":
            events[record["event"]] = events.get(record["event"], 0) + 1
    late = max(
        (int(record.get("traces_after_start", 0)) for record in records if record["kind"] == "report"), default=0
    )
    found = History(
        verdict="healthy",
        steps=len(steps),
        stall=float(data.sum() / total.sum()),
        data_ms=float(np.median(data)),
        compute_ms=float(np.median(compute)),
        jitter=float(total.std() / total.mean()),
        period_steps=None if wave is None else wave[0],
        episodes=_episodes(numbers, data, total),
        events=events,
    )
    if found.stall > STALLED or found.episodes:
        found.verdict = "data"
    elif late:
        found.verdict = "compiling"
    found.lines = _told(found, late)
    return found


def _episodes(numbers: Any, data: Any, total: Any) -> list[Episode]:
    """Stretches in which windows of steps waited more than a tenth of their time, the longest first."""
    if len(numbers) < _WINDOW:
        return []
    weights = np.ones(_WINDOW)
    share = np.convolve(data, weights, "valid") / np.convolve(total, weights, "valid")
    waited = np.concatenate([[0], (share > STALLED).astype(int), [0]])
    edges = np.diff(waited)
    episodes = []
    for first, last in zip(np.flatnonzero(edges == 1), np.flatnonzero(edges == -1), strict=True):
        slow = np.flatnonzero(data[first : last + _WINDOW - 1] > STALLED * total[first : last + _WINDOW - 1]) + first
        if not len(slow):
            continue
        own = slice(slow[0], slow[-1] + 1)
        stall = float(data[own].sum() / total[own].sum())
        episodes.append(Episode(int(numbers[slow[0]]), int(numbers[slow[-1]]), stall, float(data[own].mean())))
    return sorted(episodes, key=lambda episode: episode.first_step - episode.last_step)


def _told(found: History, late: int) -> list[str]:
    lines = [
        f"{found.steps} steps, the device waited {found.stall:.1%} of the time; a step is {found.data_ms:.1f} ms of "
        f"waiting and {found.compute_ms:.1f} ms of computing (medians)",
        f"step time varies by {found.jitter:.2f} (std/mean)"
        + (f", in waves of {found.period_steps} steps" if found.period_steps else ""),
    ]
    for episode in found.episodes[:5]:
        lines.append(
            f"from step {episode.first_step} to {episode.last_step} it waited {episode.stall:.0%} of the time, "
            f"{episode.wait_ms:.0f} ms a step"
        )
    if found.episodes:
        lines.append("find out why: run 'myxtts doctor --cache CACHE' on the machine while nothing else runs")
    if late:
        lines.append(f"{late} shapes were compiled after the start: plan buckets (data.num_buckets) for all data")
    if found.events:
        lines.append("events: " + ", ".join(f"{count} {name}" for name, count in sorted(found.events.items())))
    return lines
