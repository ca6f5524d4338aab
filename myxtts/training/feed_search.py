"""Where the first steps wait for data, other settings of the feed are tried on the steps that follow.

These are steps of the run: a setting of the feed decides when a batch is there, never what is in it, so a search costs
a few waits and nothing else. It is sent what each step took and says with which settings to go on; it knows no clock.

    search = search_feed(candidates(data, most_workers=8, gpu=True), before)
    settings = next(search)                           # for the next step
    settings = search.send((data_ms, compute_ms))     # what it took -> for the one after it; None: as before
"""

from __future__ import annotations

import itertools
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

from myxtts.config.config import DataConfig
from myxtts.thresholds import HAND_OVER_MS, STALLED

SECONDS = 30.0  # of trials, at most
KNOBS = ("num_workers", "prefetch_buffer_size", "prefetch_to_gpu", "enhanced_gpu_prefetch")
_FIRST_STEPS, _TRIAL_STEPS, _LEAST_STEPS = 20, 12, 3
_SETTLING_STEPS = 4  # a feed that has just begun is behind
_TRIAL_SECONDS = 4.0  # where steps are long, fewer of them have to do
_BETTER = 0.75  # of the waiting there was: less of a difference may be noise
_MOST_PREFETCH, _LEAST_PREFETCH = 64, 8

Knobs = dict[str, Any]
Took = tuple[float, float]  # data_ms, compute_ms of a step
Steps = Generator[Knobs | None, Took, "Measured"]


@dataclass(frozen=True)
class Measured:
    """What some steps took. `wait_share`: how much of that was waiting for data."""

    wait_share: float
    wait_ms: float  # a step
    total_ms: float  # with the steps that do not count

    @property
    def stalled(self) -> bool:
        return self.wait_share > STALLED and self.wait_ms > HAND_OVER_MS


@dataclass(frozen=True)
class Outcome:
    """`settings` are those to keep; empty if none waits less."""

    settings: Knobs
    before: float
    after: float


def candidates(data: DataConfig, most_workers: int, gpu: bool) -> list[Knobs]:
    """Changes worth a trial, the likeliest first; none of what was given by hand."""
    threads = min(data.num_workers, most_workers)
    ahead = max(min(4 * data.prefetch_buffer_size, _MOST_PREFETCH), _LEAST_PREFETCH)
    more = {"num_workers": most_workers} if threads < most_workers else {}
    staged = {"prefetch_to_gpu": True, "enhanced_gpu_prefetch": True} if gpu else {}
    ideas: list[Knobs] = [
        {"prefetch_buffer_size": ahead} | more | staged,
        {"prefetch_buffer_size": ahead},
        more,
        {"num_workers": max(threads // 2, 1)},  # where the step wants the cores for itself
        staged,
    ]
    free = {key for key in KNOBS if key not in data.by_hand}
    changes = [{key: new for key, new in idea.items() if key in free and getattr(data, key) != new} for idea in ideas]
    return [change for at, change in enumerate(changes) if change and change not in changes[:at]]


def first_steps() -> Steps:
    """Watch the first steps of a run."""
    return (yield from _measure(None, _FIRST_STEPS, float("inf")))


def search_feed(
    ideas: Sequence[Knobs], before: Measured, seconds: float = SECONDS
) -> Generator[Knobs | None, Took, Outcome]:
    """Try one idea after the other on top of the best so far, until nothing waits any more or the time is over."""
    best: Knobs = {}
    least, spent_ms = before, 0.0
    for idea in ideas:
        left_ms = 1e3 * seconds - spent_ms
        if not least.stalled or left_ms <= 0:
            break
        measured = yield from _measure(best | idea, _TRIAL_STEPS, min(1e3 * _TRIAL_SECONDS, left_ms))
        spent_ms += measured.total_ms
        if measured.wait_share < _BETTER * least.wait_share:
            best, least = best | idea, measured
    return Outcome(best, before.wait_share, least.wait_share)


def _measure(settings: Knobs | None, steps: int, most_ms: float) -> Steps:
    """Let the next steps have these settings; those that settle down do not count."""
    total, counted = 0.0, []
    took = yield settings
    for step in itertools.count():
        total += sum(took)
        if step >= _SETTLING_STEPS:
            counted.append(took)
        if len(counted) >= steps or (len(counted) >= _LEAST_STEPS and total > most_ms):
            break
        took = yield None
    waited = sum(data_ms for data_ms, _ in counted)
    return Measured(waited / max(sum(map(sum, counted)), 1e-9), waited / len(counted), total)
