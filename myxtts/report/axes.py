"""Scales of a picture: from numbers to places, ticks at round numbers, and series thinned out to what can be seen."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myxtts.report.markup import Markup, tag
from myxtts.report.wording import plain

Floats = NDArray[np.float64]
TEXT_HEIGHT = 12
_CHARACTER = 6.6  # pixels, on average, of a label in 12 px


@dataclass(frozen=True)
class Scale:
    """Numbers from `low` to `high` to places from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        value, low, high = (
            (math.log10(v) for v in (value, self.low, self.high)) if self.log else (value, self.low, self.high)
        )
        share = (value - low) / (high - low) if high > low else 0.5
        return self.start + min(max(share, 0.0), 1.0) * (self.end - self.start)

    def ticks(self, most: int) -> list[float]:
        """Round numbers within, at most so many."""
        return _decades(self.low, self.high, most) if self.log else _round_numbers(self.low, self.high, most)


def _round_numbers(low: float, high: float, most: int) -> list[float]:
    if not high > low:
        return [low]
    magnitude = 10.0 ** math.floor(math.log10((high - low) / max(most, 1)))
    step = next(
        s for s in (m * magnitude for m in (1, 2, 2.5, 5, 10, 20)) if math.floor(high / s) - math.ceil(low / s) < most
    )
    return [n * step for n in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def _decades(low: float, high: float, most: int) -> list[float]:
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for multiples in ((1, 2, 5), (1, 3), (1,)):
        ticks = [m * 10.0**e for e in exponents for m in multiples if low * 0.999 <= m * 10.0**e <= high * 1.001]
        if len(ticks) <= most:
            break
    return ticks[:: max(1, math.ceil(len(ticks) / max(most, 1)))]


def round_up(value: float) -> float:
    """The next round number: where an axis may end."""
    if not value > 0:
        return 1.0
    magnitude = 10.0 ** math.floor(math.log10(value))
    return float(
        next(m * magnitude for m in (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10) if m * magnitude >= value * 0.9999)
    )


def x_axis(scale: Scale, y: float, most: int, written: Callable[[float], str] = plain) -> list[Markup]:
    """Labels below the line; the outermost stay inside the picture."""
    marks = [tag("line", x1=scale.start, x2=scale.end, y1=y, y2=y, class_="axis")]
    for value in scale.ticks(most):
        place, label = scale(value), written(value)
        half = text_width(label) / 2
        anchor = "start" if place - half < scale.start else "end" if place + half > scale.end else "middle"
        marks.append(tag("text", label, x=place, y=y + TEXT_HEIGHT + 4.0, text_anchor=anchor))
    return marks


def y_axis(scale: Scale, left: float, right: float, most: int, written: Callable[[float], str] = plain) -> list[Markup]:
    """Fine lines across, labels on the left of them."""
    marks = []
    for value in scale.ticks(most):
        marks.append(tag("line", x1=left, x2=right, y1=scale(value), y2=scale(value), class_="axis"))
        marks.append(tag("text", written(value), x=left - 6.0, y=scale(value) + 4.0, text_anchor="end"))
    return marks


def label_width(scale: Scale, most: int, written: Callable[[float], str] = plain) -> float:
    return max((text_width(written(value)) for value in scale.ticks(most)), default=0.0) + 8.0


def text_width(text: str) -> float:
    """About: nobody measures fonts here."""
    return len(text) * _CHARACTER


def bins_of(length: int, most: int) -> list[slice]:
    """At most so many neighbouring pieces of a series, all about equally long."""
    edges = np.linspace(0, length, min(most, length) + 1).round().astype(int)
    return [slice(int(a), int(b)) for a, b in zip(edges[:-1], edges[1:], strict=True)]


def finite(x: Any, y: Any) -> tuple[Floats, Floats]:
    """Both without the places where one is not a number."""
    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    kept = np.isfinite(x) & np.isfinite(y)
    return x[kept], y[kept]
