"""What the judges said during a run (`training.evaluation_steps`): a row for each time, the recordings beneath."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from myxtts.evaluation.measures import MEASURES
from myxtts.report.markup import Markup, tag
from myxtts.report.page import table
from myxtts.report.wording import count

_SHOWN = ("distillmos", "dnsmos_overall", "wer", "similarity", "mcd_db", "sharpness_bins")
_ROWS = 24


def judged(evaluations: Sequence[dict[str, Any]]) -> Markup | None:
    if not evaluations:
        return None
    keys = [key for key in _SHOWN if any(key in each["scores"] for each in evaluations)]
    rows = [(count(each["step"]), *_cells(keys, each, "synthetic")) for each in evaluations[-_ROWS:]]
    rows.append(("recordings", *_cells(keys, evaluations[-1], "real")))
    return tag("div", tag("h3", "Judges"), table(["step", *keys], rows, id="judged"))


def _cells(keys: Sequence[str], record: dict[str, Any], kind: str) -> list[str | None]:
    scores = [record["scores"].get(key, {}).get(kind) for key in keys]
    return [None if v is None else f"{v:.{MEASURES[k].digits}f}" for k, v in zip(keys, scores, strict=True)]
