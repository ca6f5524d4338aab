"""How far a row can be trusted: the weakest of what speaks for it, 0 to 1."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

import numpy as np

from myxtts.evaluation.intelligibility import edit_distance
from myxtts.prepare.likelihood import Chance, Likelihood

LEAST_TRUST = 0.7  # by default; see docs/log.md for what is below it

_SURE_MARGIN = 1.5  # times what chance reaches: fully trusted

_USUAL, _IMPOSSIBLE = 1.6, 3.0  # times faster or slower than the median: fully trusted, not at all
_LEAST_ROWS = 5  # of which a median says something


def agreement(words: Sequence[str], heard: Sequence[str]) -> float:
    """Of a given text and what was heard: 1 minus the character error rate."""
    said, heard_text = " ".join(words), " ".join(heard)
    return max(1.0 - edit_distance(said, heard_text) / len(said), 0.0) if said else 0.0


def usual_rate(rates: Sequence[float]) -> float | None:
    """Characters a second; None where there are too few rows to tell."""
    known = [rate for rate in rates if rate > 0]
    return statistics.median(known) if len(known) >= _LEAST_ROWS else None


def plausibility(rate: float, usual: float | None) -> float:
    """Of a rate of speech: too many characters for the time mean words that are not in the sound, too few that some are
    missing."""
    if usual is None:
        return 1.0
    if rate <= 0:
        return 0.0
    off = abs(math.log(rate / usual))
    return min(max((math.log(_IMPOSSIBLE) - off) / (math.log(_IMPOSSIBLE) - math.log(_USUAL)), 0.0), 1.0)


def likelihood(judged: Likelihood, chance: Chance | None) -> float:
    """Of words that a voice has found: just enough where 95 of 100 words that were not said are less likely, and at
    their worst half of them are farther away."""
    margin, worst = (chance.margin, chance.worst) if chance else (1.0, None)
    likely = np.interp(judged.margin, (0.0, margin, _SURE_MARGIN * margin), (0.0, LEAST_TRUST, 1.0))
    near = np.interp(judged.worst, worst, (1.0, LEAST_TRUST, 0.0)) if worst else 1.0
    return float(min(likely, near))


def weakest(**parts: float) -> tuple[float, str]:
    """The trust, and what it is the trust in."""
    name = min(parts, key=lambda each: parts[each])
    return round(parts[name], 3), name
