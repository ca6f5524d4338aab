"""What a run is doing, for the page: numbers of its log, thinned out; nothing is measured here.

A log is read again only when it has grown, and at most for a twentieth of the time: the cores are for the training.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from myxtts.doctor.history import explain
from myxtts.errors import DiagnosisError, MyXTTSError, TrainingError
from myxtts.models.description import find_checkpoint
from myxtts.report.run_data import METRIC, RunData, read_run, where_the_time_went
from myxtts.studio.jobs import Job
from myxtts.training.run_log import LOG, plain
from myxtts.watch.run_tail import RunTail

_MOST_POINTS = 240
_SAMPLE = re.compile(r"step-(\d{1,12})-(\d{1,3})\.wav")
_MOST_SAMPLES = 24
_SHARE = 1 / 20


@dataclass
class _Seen:
    size: int
    state: dict[str, Any]
    again_at: float


class Live:
    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock, self._seen = clock, dict[Path, _Seen]()

    def look(self, run: Path) -> dict[str, Any]:
        """Step, curve, shares of the time, verdict; empty before the first line of the log."""
        try:
            size = (run / LOG).stat().st_size
        except OSError:
            return {}
        seen = self._seen.get(run)
        if seen is None or (seen.size != size and self._clock() >= seen.again_at):
            spent = time.thread_time()
            state = _tell(run)
            again_at = self._clock() + (time.thread_time() - spent) / _SHARE
            self._seen[run] = seen = _Seen(size, state, again_at)
        newest = RunTail(run).last.get("step", 0) if seen.size != size else 0  # the end alone is soon read
        return seen.state | {"step": max(newest, seen.state.get("step", 0))}


def summary(run: Path) -> dict[str, Any]:
    """What can be known of a run without its log."""
    job, judged = Job(run / "job").status(), Job(run / "evaluate").status()
    return {
        "name": run.name, "job": job, "evaluation": _scores(judged), "speaks": _speaks(run),
        "report": (run / "report.html").is_file(), "heard": (run / "evaluation.html").is_file(),
    }  # fmt: skip


def _scores(judged: dict[str, Any] | None) -> dict[str, Any] | None:
    """Without what each judge said of each sentence: that is on the page that was made of it."""
    if judged is None or "result" not in judged:
        return judged
    return {**judged, "result": {name: judged["result"].get(name) for name in ("sentences", "scores", "missing")}}


def samples(run: Path) -> list[dict[str, Any]]:
    """The newest first."""
    numbered = [(int(match[1]), int(match[2]), path.name) for path in (run / "samples").glob("*.wav")
                if (match := _SAMPLE.fullmatch(path.name))]  # fmt: skip
    newest = sorted(numbered, key=lambda each: (-each[0], each[1]))[:_MOST_SAMPLES]
    return [{"step": step, "sentence": sentence, "name": name} for step, sentence, name in newest]


def sample(run: Path, name: str) -> Path | None:
    path = run / "samples" / name
    return path if _SAMPLE.fullmatch(name) and path.is_file() else None


def _speaks(run: Path) -> bool:
    try:
        find_checkpoint(run)
    except MyXTTSError:
        return False
    return True


def _tell(run: Path) -> dict[str, Any]:
    try:
        data = read_run(run)
    except TrainingError:
        return {}
    state: dict[str, Any] = plain({
        "step": data.last_step,
        "curve": _curve(data),
        "validations": [[each["step"], each[METRIC]] for each in data.validations if METRIC in each][-_MOST_POINTS:],
        "parts": where_the_time_went(data),
        "seconds_a_step": _pace(data),
        "epochs": _epochs(data),
        "verdict": _verdict(run),
        "events": [_event(each) for each in data.events[-8:]],
    })  # fmt: skip
    return state


def _verdict(run: Path) -> dict[str, Any] | None:
    """None while it is too early."""
    try:
        return explain(run).to_dict()
    except DiagnosisError:
        return None


def _curve(data: RunData) -> list[list[float]]:
    """[step, loss] with the mean of equal stretches, so that the last point is the last stretch."""
    steps, losses = data.steps["step"], data.steps["loss"]
    kept = np.isfinite(losses)
    steps, losses = steps[kept], losses[kept]
    parts = min(len(steps), _MOST_POINTS)
    if not parts:
        return []
    pieces = zip(np.array_split(steps, parts), np.array_split(losses, parts), strict=True)
    return [[float(at[-1]), round(float(loss.mean()), 5)] for at, loss in pieces]


def _pace(data: RunData) -> float | None:
    """Wall seconds between the last steps: with validation, samples and checkpoints."""
    times = data.steps["time"][-200:]
    return round(float(times[-1] - times[0]) / (len(times) - 1), 4) if len(times) > 1 else None


def _epochs(data: RunData) -> float | None:
    per_epoch = data.feed.get("steps_per_epoch")
    return round(data.last_step / float(per_epoch), 2) if per_epoch else None


def _event(event: dict[str, Any]) -> dict[str, Any]:
    return {"event": str(event.get("event", "")), "step": event.get("step"), "time": event["time"]}
