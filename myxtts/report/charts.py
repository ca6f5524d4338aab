"""Pictures as SVG: curves, shares, bars. Each has a sentence for who cannot see it, and numbers under the pointer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from myxtts.report.axes import Scale, bins_of, finite, label_width, round_up, text_width, x_axis, y_axis
from myxtts.report.markup import Markup, join, tag
from myxtts.report.wording import number, plain, share

SMALL = 400.0  # width of a picture in a grid; on a phone it is as wide as the screen
_BINS = 120  # points of a curve of that width: one every three pixels
_BOTTOM = 22.0
_ROWS_WIDTH, _ROW = 360.0, 40.0

Written = Callable[[float], str]


@dataclass(frozen=True)
class Curve:
    """One line: its numbers and its class in the style sheet."""

    name: str
    x: Any
    y: Any
    kind: str = ""


def figure(width: float, height: float, alt: str, *marks: Any) -> Markup:
    """An SVG with the sentence that stands for it."""
    picture = tag("svg", *marks, viewBox=f"0 0 {width:g} {height:g}", role="img", aria_label=alt)
    return tag("div", picture, class_="chart")


def legend(entries: Sequence[tuple[str, str]]) -> Markup:
    """(class, words) with a small square each."""
    square = {
        kind: tag("svg", tag("rect", width=12, height=12, rx=2, class_=kind), viewBox="0 0 12 12", aria_hidden="true")
        for kind, _ in entries
    }
    return tag("ul", *(tag("li", square[kind], words) for kind, words in entries), class_="legend")


# ---- curves ---------------------------------------------------------------------------------------------------------


def curves(
    title: str,
    lines: Sequence[Curve],
    *,
    low: float | None = 0.0,
    high: float | None = None,
    log: bool = False,
    height: float = 150.0,
    x_name: str = "step",
    x_written: Written = plain,
    y_written: Written = plain,
    said: Written = number,
    dots: bool = False,
    best: float | None = None,
) -> Markup:
    """A small picture with its heading. Long curves are thinned out: the mean as a line, all between as a band."""
    points = [(line, *finite(line.x, line.y)) for line in lines]
    points = [entry for entry in points if len(entry[1])]
    if not points:
        return join([])
    y = _y_scale([values for _, _, values in points], low, high, log, height)
    left = label_width(y, 4, y_written)
    ends = [float(edge(at)) for edge in (min, max) for _, at, _ in points]
    x = Scale(min(ends), max(ends), left, SMALL - 2)
    marks = y_axis(y, left, SMALL - 2, 4, y_written) + x_axis(x, height - _BOTTOM, 5, x_written)
    hovers: list[Markup] = []
    for line, at, values in points:
        marks += _curve(line, at, values, x, y, dots, best)
        hovers += _hovers(line.name, at, values, x, y, x_name, x_written, said) if len(points) == 1 else []
    alt = "; ".join(
        f"{line.name} from {said(float(v[0]))} to {said(float(v[-1]))}, "
        f"lowest {said(float(v.min()))}, highest {said(float(v.max()))}"
        for line, _, v in points
    )
    names = legend([(_KEYS[line.kind], line.name) for line, _, _ in points]) if len(points) > 1 else None
    return tag("div", tag("h3", title), figure(SMALL, height, f"{title}: {alt}", *marks, *hovers), names)


_KEYS = {"": "work", "second": "other", "third": "wait", "fourth": "pad", "control": "pad"}


def _y_scale(values: list[Any], low: float | None, high: float | None, log: bool, height: float) -> Scale:
    lowest, highest = min(float(v.min()) for v in values), max(float(v.max()) for v in values)
    if log and lowest > 0:
        return Scale(lowest * 0.9, max(highest, lowest * 2) * 1.1, height - _BOTTOM, 8, log=True)
    bottom = min(lowest, 0.0 if low is None else low)
    if low is None:
        bottom = lowest - 0.1 * (highest - lowest)
    top = round_up(highest) if high is None else max(high, highest)
    return Scale(bottom, top if top > bottom else bottom + 1, height - _BOTTOM, 8)


def _curve(line: Curve, at: Any, values: Any, x: Scale, y: Scale, dots: bool, best: float | None) -> list[Markup]:
    bins = bins_of(len(at), _BINS)
    places = [x(float(at[part].mean())) for part in bins]
    means = [y(float(values[part].mean())) for part in bins]
    marks = []
    if len(at) > len(bins):
        above = [f"{p:.1f},{y(float(values[part].max())):.1f}" for p, part in zip(places, bins, strict=True)]
        below = [f"{p:.1f},{y(float(values[part].min())):.1f}" for p, part in zip(places, bins, strict=True)]
        marks.append(tag("path", d="M" + "L".join(above + below[::-1]) + "Z", class_="band"))
    path = "M" + "L".join(f"{p:.1f},{m:.1f}" for p, m in zip(places, means, strict=True))
    marks.append(tag("path", d=path, class_=f"trace {line.kind}".strip()))
    if dots or len(bins) == 1:
        marks += [
            tag("circle", cx=p, cy=m, r=3.5, class_="dot best" if best == float(at[part][0]) else "dot")
            for p, m, part in zip(places, means, bins, strict=True)
        ]
    return marks


def _hovers(
    name: str, at: Any, values: Any, x: Scale, y: Scale, x_name: str, x_written: Written, said: Written
) -> list[Markup]:
    """A strip over every point that says its numbers."""
    bins = bins_of(len(at), _BINS // 2)
    edges = [x(float(at[part][0])) for part in bins] + [x.end]
    strips = []
    for part, begin, end in zip(bins, edges[:-1], edges[1:], strict=True):
        first, last = float(at[part][0]), float(at[part][-1])
        where = x_written(first) if first == last else f"{x_written(first)} to {x_written(last)}"
        spread = f", {said(float(values[part].min()))} to {said(float(values[part].max()))}" if first != last else ""
        strips.append(
            tag(
                "rect",
                tag("title", f"{x_name} {where}: {name} {said(float(values[part].mean()))}{spread}"),
                x=begin,
                y=y.end,
                width=max(end - begin, 1.0),
                height=y.start - y.end,
                class_="hover",
            )
        )
    return strips


# ---- shares and bars ------------------------------------------------------------------------------------------------


_SHARE_KINDS = {
    "computing": "work",
    "real frames": "work",
    "padding": "pad",
    "lost by the emulation": "pad",
    "compiling": "other",
}


def kind_of(name: str) -> str:
    """The colour of a share by what it is."""
    if name.startswith("waiting"):
        return "wait"
    return _SHARE_KINDS.get(name, "other-soft")


def share_bar(shares: dict[str, float]) -> Markup:
    """One bar of 100 %, and below it who has how much."""
    alt = ", ".join(f"{name} {share(value)}" for name, value in shares.items())
    height, bars, at = 18.0, [], 0.0
    for name, value in shares.items():
        width = max(value, 0.0) * 1000
        bars.append(
            tag(
                "rect",
                tag("title", f"{name} {share(value)}"),
                x=at,
                y=0,
                width=max(width - 1.5, 0.6 if value else 0.0),
                height=height,
                class_=kind_of(name),
            )
        )
        at += width
    svg = tag("svg", *bars, viewBox=f"0 0 1000 {height:g}", preserveAspectRatio="none", role="img", aria_label=alt)
    names = legend([(kind_of(name), f"{name} {share(value)}") for name, value in shares.items()])
    return join([tag("div", svg, class_="chart flat"), names])


@dataclass(frozen=True)
class Bar:
    """A row: its name, its number, how that is written, and its class."""

    name: str
    value: float
    written: str
    kind: str = "work"


def bar_rows(bars: Sequence[Bar], alt: str, log: bool = False) -> Markup:
    """Rows of bars, named above each, so that they fit a phone; on a log scale if they are decades apart."""
    most, least = max(bar.value for bar in bars), min(bar.value for bar in bars)
    end = _ROWS_WIDTH - 12 - max(text_width(bar.written) for bar in bars)
    scale = Scale(least / 3, most, 0, end, log=True) if log and least > 0 else Scale(0, most, 0, end)
    marks = []
    for n, bar in enumerate(bars):
        top, length = n * _ROW, max(scale(bar.value), 1.0)
        marks += [
            tag("text", bar.name, x=0, y=top + 12),
            tag("rect", x=0, y=top + 17, width=length, height=14, rx=2, class_=bar.kind),
            tag("text", bar.written, x=length + 6, y=top + 28, class_="strong"),
        ]
    return tag("div", figure(_ROWS_WIDTH, len(bars) * _ROW, alt, *marks), class_="rows")
