"""The steps of a run, or the batches of a loader: what was computed, what was waited for, and where it stalled.

However many there are, the longest wait of each bar is drawn: a stall of one step in 10,000 can be seen and pointed at.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from myxtts.report.axes import Floats, Scale, bins_of, label_width, round_up, x_axis, y_axis
from myxtts.report.charts import figure, legend
from myxtts.report.markup import Markup, join, tag
from myxtts.report.wording import count, ms, share
from myxtts.thresholds import STALLED

WORDS = ("computing, median", "longest wait")
_WIDE, _NARROW = (928.0, 250.0), (340.0, 220.0)
_BAR = 2.0  # pixels: thinner ones are not seen
_STRIP = 8.0  # height of the strip below that shows how much was waited for on average
_LEVELS = ((0.5, "wait"), (STALLED, "wait-soft"), (0.01, "work-soft"), (-1.0, "none"))


@dataclass(frozen=True)
class _Bar:
    first: int
    last: int
    compute_ms: float  # the median
    wait_ms: float  # the longest
    at: int  # the step that waited longest
    waited: float  # share of all time of these steps
    stalled: bool


def timeline(
    steps: Any,
    data_ms: Any,
    compute_ms: Any,
    resumed: tuple[int, ...] = (),
    name: str = "step",
    words: tuple[str, str] = WORDS,
) -> Markup:
    """Two pictures of the same, for a wide and for a narrow screen, of which one is shown."""
    at, data, compute = (np.asarray(column, np.float64) for column in (steps, data_ms, compute_ms))
    return join(
        [
            tag("div", _draw(at, data, compute, resumed, name, size), _legend(len(at), name, words, size), class_=kind)
            for size, kind in ((_WIDE, "wide"), (_NARROW, "narrow"))
        ]
    )


def _legend(steps: int, name: str, words: tuple[str, str], size: tuple[float, float]) -> Markup:
    per_bar = round(steps / min(steps, _most(size)))
    bar = f"each bar is one {name}" if per_bar == 1 else f"each bar is about {count(per_bar)} {_many(name)}"
    strip = [("none", "below the bars: waited on average, pale to red from 1, 10 and 50 % on")] if per_bar > 1 else []
    return legend(
        [
            ("work", f"{words[0]} ({bar})"),
            ("wait", f"{words[1]}, more than {share(STALLED)} of its {name}"),
            ("wait-soft", f"{words[1]}, less than that"),
            *strip,
        ]
    )


def _most(size: tuple[float, float]) -> int:
    return int((size[0] - 50) / _BAR)


def bars_of(steps: Floats, data: Floats, compute: Floats, most: int) -> list[_Bar]:
    """Neighbouring steps in one bar, none of them with its wait hidden."""
    total = data + compute
    return [
        _Bar(
            int(steps[part][0]),
            int(steps[part][-1]),
            float(np.median(compute[part])),
            float(data[part].max()),
            int(steps[part][np.argmax(data[part])]),
            float(data[part].sum() / max(total[part].sum(), 1e-9)),
            bool((data[part] > STALLED * total[part]).any()),
        )
        for part in bins_of(len(steps), most)
    ]


def _draw(steps: Floats, data: Floats, compute: Floats, resumed: tuple[int, ...], name: str, size: Any) -> Markup:
    width, height = size
    bars = bars_of(steps, data, compute, _most(size))
    bottom = height - 24.0 - _STRIP - 4
    y = Scale(0, _top(bars), bottom, 14)
    left = label_width(y, 4)
    x = Scale(float(steps[0]) - 0.5, float(steps[-1]) + 0.5, left, width - 1)
    places = [(x(bar.first - 0.5), x(bar.last + 0.5)) for bar in bars]
    marks = y_axis(y, left, width - 1, 4) + x_axis(x, bottom + _STRIP + 4, 6 if size is _WIDE else 4, count)
    marks += [
        _silhouette(bars, places, y),
        tag("g", *_waits(bars, places, y), class_="crisp"),
        *(_strip(bars, places, bottom + 3) if len(bars) < len(steps) else []),
    ]
    marks += [_resumed(x(step + 0.5), step, bottom) for step in resumed]
    marks += [_hover(bar, place, bottom, name) for bar, place in zip(bars, places, strict=True)]
    return figure(width, height, _alt(bars, data, compute, name), *marks)


def _top(bars: list[_Bar]) -> float:
    """The end of the axis: a few accidents are cut off (and marked), so that all others can be seen."""
    tops = np.array([bar.compute_ms + bar.wait_ms for bar in bars])
    usual = 1.4 * float(np.quantile(tops, 0.98))
    return round_up(float(tops.max()) if tops.max() <= 1.5 * usual else usual)


def _silhouette(bars: list[_Bar], places: list[tuple[float, float]], y: Scale) -> Markup:
    """All computing as one shape: hundreds of rectangles fewer."""
    outline = [f"M{places[0][0]:.1f},{y.start:.1f}"]
    for bar, (_, end) in zip(bars, places, strict=True):
        outline.append(f"V{y(bar.compute_ms):.1f}H{end:.1f}")
    return tag("path", d="".join(outline) + f"V{y.start:.1f}Z", class_="work")


def _waits(bars: list[_Bar], places: list[tuple[float, float]], y: Scale) -> list[Markup]:
    marks = []
    for bar, (begin, end) in zip(bars, places, strict=True):
        base, top = y(bar.compute_ms), y(bar.compute_ms + bar.wait_ms)
        if base - top >= 0.3:
            kind = "wait" if bar.stalled else "wait-soft"
            marks.append(tag("rect", x=begin, y=top, width=max(end - begin, 1.0), height=base - top, class_=kind))
        if bar.compute_ms + bar.wait_ms > y.high:
            middle = (begin + end) / 2
            kind = "wait" if bar.stalled else "work"
            marks.append(tag("path", d=f"M{middle - 4:.1f},11h8l-4,-7z", class_=kind))
    return marks


def _strip(bars: list[_Bar], places: list[tuple[float, float]], top: float) -> list[Markup]:
    """How much of their time the steps waited on average; neighbours of one colour are one piece."""
    levels = [next(kind for bound, kind in _LEVELS if bar.waited > bound) for bar in bars]
    marks = []
    for kind, group in groupby(zip(levels, places, strict=True), key=lambda pair: pair[0]):
        pieces = [place for _, place in group]
        marks.append(
            tag("rect", x=pieces[0][0], y=top, width=pieces[-1][1] - pieces[0][0], height=_STRIP - 3, class_=kind)
        )
    return marks


def _resumed(x: float, step: int, bottom: float) -> Markup:
    return tag("line", tag("title", f"resumed from step {count(step)}"), x1=x, x2=x, y1=14, y2=bottom, class_="mark")


def _hover(bar: _Bar, place: tuple[float, float], bottom: float, name: str) -> Markup:
    many = bar.first != bar.last
    where = f"{_many(name)} {count(bar.first)} to {count(bar.last)}" if many else f"{name} {count(bar.first)}"
    wait = (
        f"waited {share(bar.waited)}, longest {ms(bar.wait_ms)} at {count(bar.at)}"
        if many
        else f"waited {ms(bar.wait_ms)}"
    )
    words = f"{where}: {wait}; computing {ms(bar.compute_ms)}"
    return tag("rect", tag("title", words), x=place[0], y=0, width=place[1] - place[0], height=bottom, class_="hover")


def _alt(bars: list[_Bar], data: Floats, compute: Floats, name: str) -> str:
    stalled = int((data > STALLED * (data + compute)).sum())
    worst = max(bars, key=lambda bar: bar.wait_ms)
    return (
        f"Time per {name}: computing {ms(float(np.median(compute)))}, waiting {ms(float(np.median(data)))} (medians). "
        f"{count(stalled)} of {count(len(data))} {_many(name)} waited more than {share(STALLED)} of their time; the "
        f"longest wait was {ms(worst.wait_ms)} at {name} {count(worst.at)}."
    )


def _many(name: str) -> str:
    return f"{name}es" if name.endswith("ch") else f"{name}s"
