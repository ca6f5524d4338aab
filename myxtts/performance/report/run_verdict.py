"""What a run's report says on top: whether the device worked or waited, since when, and the few numbers that matter."""

from __future__ import annotations

from typing import Any

import numpy as np

from myxtts.performance.history import Episode, History
from myxtts.performance.report.markup import Markup, join, tag
from myxtts.performance.report.page import tiles, verdict
from myxtts.performance.report.run_data import METRIC, RunData
from myxtts.performance.report.wording import count, duration, ms, number, said_share, share

_DOCTOR = "myxtts doctor"


def run_verdict(data: RunData, past: History | None) -> Markup:
    if past is None:
        return verdict(
            "warn", f"Too early to judge: {count(data.last_step)} steps so far.", ["Let it train a little longer."]
        )
    state, sentence, details = judged(past)
    bad = past.events.get("not_finite", 0)
    if bad:
        state = "warn" if state == "good" else state
        details.append(f"{count(bad)} steps had no finite loss or gradient: see the events below.")
    return verdict(state, sentence, details, {"computing": 1 - past.stall, "waiting for data": past.stall})


def judged(past: History) -> tuple[str, str, list[Any]]:
    """State, sentence and details of a run's past."""
    worked, waited = said_share(1 - past.stall), said_share(past.stall)
    step = f"a step is {ms(past.data_ms)} of waiting and {ms(past.compute_ms)} of computing (medians)"
    if past.verdict == "healthy":
        return (
            "good",
            f"The device worked {worked} of the time.",
            [f"It waited {waited} for data: {step}. Nothing to mend."],
        )
    if past.verdict == "compiling":
        shapes = f"{count(past.late_traces)} shapes were compiled while it trained"
        return (
            "warn",
            f"The device worked {worked} of the time, but {shapes}.",
            ["Cure: plan buckets for all data (data.num_buckets); every shape is then compiled before the first step."],
        )
    worst = _worst(past)
    if past.stall > 0.25 or worst is None:
        sentence = f"The device waited {waited} of the time for data."
    else:
        sentence = f"The device worked {worked} of the time, but {_when(worst)} it waited {share(worst.stall)}."
    return (
        "bad",
        sentence,
        [
            *_why(past, worst, step),
            *past.advice,
            join(
                [
                    "What limits it, and what a cure would bring: run ",
                    tag("code", f"{_DOCTOR} --cache CACHE"),
                    " on this machine.",
                ]
            ),
        ],
    )


def _worst(past: History) -> Episode | None:
    return max(past.episodes, key=lambda each: each.wait_ms * (each.last_step - each.first_step + 1), default=None)


def _when(each: Episode) -> str:
    if each.goes_on:
        return f"from step {count(each.first_step)} on"
    if each.first_step == each.last_step:
        return f"at step {count(each.first_step)}"
    return f"from step {count(each.first_step)} to {count(each.last_step)}"


def _why(past: History, worst: Episode | None, step: str) -> list[str]:
    told = [f"{step[0].upper()}{step[1:]}."]
    if worst is not None and worst.meanwhile:
        told.append(f"Meanwhile {' and '.join(worst.meanwhile)}.")
    if past.period_steps:
        told.append(
            f"It comes in waves of {past.period_steps} steps: make more batches ahead (data.prefetch_buffer_size)."
        )
    return told


def run_tiles(data: RunData, past: History | None) -> Markup:
    steps = data.steps
    rows = [("steps", "Steps", count(data.last_step), _epochs(data))]
    if past is not None:
        total = float((steps["data_ms"] + steps["compute_ms"]).sum())
        rate = np.nansum(steps["batch"]) / max(total, 1e-9) * 1e3
        rows += [
            ("stall", "Waited for data", share(past.stall), f"longest {ms(float(steps['data_ms'].max()))}"),
            ("step-ms", "Step", ms(past.data_ms + past.compute_ms), _steadiness(past)),
        ]
        rows += [("rate", "Utterances/s", number(float(rate)), "while training")] if rate else []
    if len(steps["loss"]):
        rows.append(("loss", "Loss", number(float(steps["loss"][-1])), "at the last step"))
    best = data.best
    if best is not None:
        rows.append(("best", "Best validation", number(float(best[METRIC])), f"{METRIC} at step {count(best['step'])}"))
    return tiles(rows)


def _epochs(data: RunData) -> str:
    per_epoch = data.feed.get("steps_per_epoch")
    spent = (data.steps["data_ms"] + data.steps["compute_ms"]).sum() / 1e3 + (data.other_ms + data.compiling_ms) / 1e3
    return (f"{number(data.last_step / per_epoch)} epochs, " if per_epoch else "") + duration(float(spent))


def _steadiness(past: History) -> str:
    word = "stable" if past.jitter < 0.2 else "oscillating" if past.jitter > 0.5 else "varying"
    return f"median; {word} (std/mean {past.jitter:.2f})"
