"""What the judges said during a run (`training.evaluation_steps`): a row for each time, the recordings beneath.

Where the run starts from another model, what they said of that one is the first row.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from myxtts.evaluation.measures import MEASURES
from myxtts.files import read_regular
from myxtts.report.markup import Markup, tag
from myxtts.report.page import table
from myxtts.report.wording import count
from myxtts.shapes import fits
from myxtts.training.log_line import SCORES
from myxtts.training.run_log import START_SCORES

Scores = Mapping[str, Mapping[str, Any]]

_SHOWN = ("distillmos", "dnsmos_overall", "wer", "cer", "similarity", "mcd_db", "sharpness_bins")
_ROWS = 24
_MOST_BYTES = 1 << 20


def start_of(run: Path) -> Scores:
    """What the judges said before the first step; nothing where nobody asked them, or the file is not what it was."""
    try:
        scores = json.loads(read_regular(run / START_SCORES, _MOST_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    return scores if fits(scores, SCORES) else {}


def judged(evaluations: Sequence[dict[str, Any]], before: Scores, began_as: str) -> Markup | None:
    """`before` are the scores of `began_as`, which the run starts from."""
    heard = [(f"before ({began_as})", before)] if before else []
    heard += [(count(each["step"]), each["scores"]) for each in evaluations[-_ROWS:]]
    if not heard:
        return None
    keys = [key for key in _SHOWN if any(key in scores for _, scores in heard)]
    rows = [(when, *_cells(keys, scores, "synthetic")) for when, scores in heard]
    rows.append(("recordings", *_cells(keys, heard[-1][1], "real")))
    return tag("div", tag("h3", "Judges"), table(["step", *keys], rows, id="judged"))


def _cells(keys: Sequence[str], scores: Scores, kind: str) -> list[str | None]:
    values = [float(scores.get(key, {}).get(kind, "nan")) for key in keys]
    return [f"{v:.{MEASURES[k].digits}f}" if math.isfinite(v) else None for k, v in zip(keys, values, strict=True)]
