"""What a run's report says on top: how long the step waited for data, since when, and the few numbers that matter."""

from __future__ import annotations

from typing import Any

import numpy as np

from myxtts.doctor.causes import CAUSES, DATA, HEALTHY
from myxtts.doctor.history import Episode, History
from myxtts.report.markup import Markup, join, tag
from myxtts.report.page import tiles, verdict
from myxtts.report.run_data import RunData, where_the_time_went
from myxtts.report.wording import count, duration, ms, number, said_share, share
from myxtts.thresholds import STALLED, steadiness_of

_ALL_TIME = (
    "All time since the start: compiling, steps, and what is done between them. Padding is computing on frames that "
    "are not there; waiting includes the first batch after each start."
)


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
    return verdict(state, sentence, details, where_the_time_went(data), _ALL_TIME)


def judged(past: History) -> tuple[str, str, list[Any]]:
    """State, sentence and details of a run's past."""
    waited = f"The step waited {said_share(past.stall)} of its time for data"
    step = f"A step is {ms(past.data_ms)} of waiting and {ms(past.compute_ms)} of computing (medians)."
    if past.verdict == HEALTHY.name:
        return "good", f"{waited}.", [f"{step} Nothing to mend."]
    if past.verdict == DATA.name:
        return "bad", f"{waited}{_episode(past)}.", [step, *_why(past), *past.advice, _ask_the_doctor()]
    shapes = f"{count(past.late_traces)} shapes were compiled during training"
    return "warn", f"{waited}, but {shapes}.", [step, f"Cure: {CAUSES[past.verdict].cure}."]


def _episode(past: History) -> str:
    """The worst stretch, where the whole does not show it."""
    worst = _worst(past)
    return "" if past.stall > STALLED or worst is None else f", but {share(worst.stall)} {_when(worst)}"


def _ask_the_doctor() -> Markup:
    return join(
        [
            "What limits it, and what a cure would bring: run ",
            tag("code", "myxtts doctor --data CACHE"),
            " on this machine.",
        ]
    )


def _worst(past: History) -> Episode | None:
    return max(past.episodes, key=lambda each: each.wait_ms * (each.last_step - each.first_step + 1), default=None)


def _when(each: Episode) -> str:
    if each.ongoing:
        return f"from step {count(each.first_step)} on"
    if each.first_step == each.last_step:
        return f"at step {count(each.first_step)}"
    return f"from step {count(each.first_step)} to {count(each.last_step)}"


def _why(past: History) -> list[str]:
    lines, worst = [], _worst(past)
    if worst is not None and worst.meanwhile:
        lines.append(f"Meanwhile {' and '.join(worst.meanwhile)}.")
    if past.period_steps:
        cure = CAUSES["oscillation"].cure.format(n=2 * past.period_steps)
        lines.append(f"It comes in waves of {past.period_steps} steps: {cure}.")
    return lines


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
        rows.append(("best", "Best checkpoint", number(best.value), f"{best.by} at step {count(best.step)}"))
    return tiles(rows)


def _epochs(data: RunData) -> str:
    per_epoch = data.feed.get("steps_per_epoch")
    spent = (data.steps["data_ms"] + data.steps["compute_ms"]).sum() / 1e3 + (data.other_ms + data.compiling_ms) / 1e3
    return (f"{number(data.last_step / per_epoch)} epochs, " if per_epoch else "") + duration(float(spent))


def _steadiness(past: History) -> str:
    return f"median; {steadiness_of(past.jitter)} (std/mean {past.jitter:.2f})"
