"""How far a row can be trusted: the weakest of what speaks for it, 0 to 1."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from myxtts.evaluation.intelligibility import edit_distance

LEAST_TRUST = 0.7  # by default; see docs/log.md for what is below it

# Nats a frame (likelihood.py): fully trusted, not at all. 0.7 is a margin of 0.8, and 12.5 at the worst.
_SURE_MARGIN, _NO_MARGIN = 2.0, -2.0
_NEAR, _FAR = 9.5, 19.5

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


def likelihood(margin: float, worst: float) -> float:
    """Of words that a voice finds so much likelier in a slice than others, and so far from it in its worst stretch."""
    parts = (margin - _NO_MARGIN) / (_SURE_MARGIN - _NO_MARGIN), (_FAR - worst) / (_FAR - _NEAR)
    return min(max(min(parts), 0.0), 1.0)


def weakest(**parts: float) -> tuple[float, str]:
    """The trust, and what it is the trust in."""
    name = min(parts, key=lambda each: parts[each])
    return round(parts[name], 3), name
