"""A picture of a corpus: how long, how loud, how fast, whose, in which languages, and what is wrong with it.

Drawn on a canvas of its own: matplotlib's global state (pyplot, backends) is neither read nor changed.
"""

from __future__ import annotations

import warnings
from typing import Any, BinaryIO

import numpy as np

from myxtts.corpus.reasons import REASONS
from myxtts.corpus.report import Report
from myxtts.errors import MissingExtra

_BARS = 12
_NAME_CHARS = 22
_MOST_POINTS = 5000  # more make one blot
_NAMED_POINTS = 6
_SOUND, _ERROR, _WARNING, _REST = "#3b6ea5", "#b5403a", "#d99a2b", "#9aa5b1"


def find_matplotlib() -> Any:
    """(Figure, its canvas), or how to install them."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("matplotlib", "plot", "drawing a corpus") from None
    return Figure, FigureCanvasAgg


def draw(report: Report, title: str, file: BinaryIO) -> None:
    """Six panels, as a PNG."""
    figure_type, canvas_type = find_matplotlib()
    figure = figure_type(figsize=(15, 8.6), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.15, h_pad=0.12)
    canvas = canvas_type(figure)
    axes = figure.subplots(2, 3)
    hours = sum(report.seconds) / 3600
    length = f"{hours:.1f} h" if hours >= 1 else f"{hours * 60:.1f} min"
    heading = f"{title}: {len(report.seconds):,} of {report.rows:,} rows are usable, {length}"
    figure.suptitle(heading, fontsize=15, x=0.012, ha="left", parse_math=False)
    _draw_histogram(axes[0, 0], report.seconds, "length of the sound", "seconds")
    _draw_histogram(axes[0, 1], report.levels_db, "mean level", "dBFS")
    _draw_rates(axes[0, 2], report)
    _draw_shares(axes[1, 0], report.speakers, "speaker")
    _draw_shares(axes[1, 1], report.languages, "language")
    _draw_problems(axes[1, 2], report)
    for axis in axes.flat:
        axis.spines[["top", "right"]].set_visible(False)
        axis.set_axisbelow(True)
        axis.grid(axis="x" if axis in axes[1] else "both", color="#e6e9ed", linewidth=0.8)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # of a name in a script that the font does not have
        canvas.print_figure(file, format="png", dpi=100)


def _draw_histogram(axis: Any, values: list[float], what: str, unit: str) -> None:
    axis.set_title(what, loc="left")
    if not values:
        _say_nothing(axis)
        return
    median = float(np.median(values))
    axis.set_title(f"{what}, median {median:.1f} {unit}", loc="left")
    axis.hist(values, bins=40, color=_SOUND, edgecolor="white", linewidth=0.4)
    axis.axvline(median, color="black", linewidth=1)
    axis.locator_params(axis="x", nbins=7)
    axis.set_xlabel(unit)
    axis.set_ylabel("utterances")


def _draw_rates(axis: Any, report: Report) -> None:
    axis.set_title(f"text for the sound ({len(report.unusual)} far off the line)", loc="left")
    if not report.seconds:
        _say_nothing(axis)
        return
    step = -(-len(report.seconds) // _MOST_POINTS)
    axis.plot(report.seconds[::step], report.characters[::step], ".", color=_SOUND, markersize=3, alpha=0.5)
    for number, (at, name) in enumerate(report.unusual.items()):
        point = (report.seconds[at], report.characters[at])
        axis.plot(*point, "o", color=_WARNING, markersize=5)
        if number < _NAMED_POINTS:
            axis.annotate(f" {_short(name)}", point, va="center", fontsize=8, parse_math=False)
    rate = float(np.median(np.divide(report.characters, report.seconds)))
    longest = max(report.seconds)
    axis.plot([0, longest], [0, rate * longest], color="black", linewidth=1)
    axis.annotate(f"{rate:.1f} a second ", (longest, rate * longest), ha="right", va="bottom")
    axis.set_xlabel("seconds")
    axis.set_ylabel("characters")
    axis.set_xlim(0)
    axis.set_ylim(0)


def _draw_shares(axis: Any, seconds: Any, what: str) -> None:
    ranked = seconds.most_common()
    total = sum(seconds.values())
    axis.set_title(f"{len(ranked):,} {what}{'' if len(ranked) == 1 else 's'}", loc="left")
    if not ranked:
        _say_nothing(axis)
        return
    shown = ranked[:_BARS] if len(ranked) > _BARS + 1 else ranked
    rest = total - sum(value for _, value in shown)
    names = [_short(name) for name, _ in shown] + ([f"{len(ranked) - len(shown):,} others"] if rest > 1e-9 else [])
    minutes = [value / 60 for _, value in shown] + ([rest / 60] if rest > 1e-9 else [])
    colours = [_SOUND] * len(shown) + [_REST]
    _draw_bars(axis, names, minutes, colours[: len(names)], [f"{value * 60 / total:.0%}" for value in minutes])
    axis.set_xlabel("minutes")


def _draw_problems(axis: Any, report: Report) -> None:
    counts = {**report.counts(errors=True), **report.counts(errors=False)}
    axis.set_title("what is wrong (red: the row is not usable)", loc="left")
    if not counts:
        _say_nothing(axis, "nothing")
        return
    colours = [_ERROR if REASONS[reason].is_error else _WARNING for reason in counts]
    _draw_bars(axis, list(counts), list(counts.values()), colours, [f"{count:,}" for count in counts.values()])
    axis.set_xlabel("rows")


def _draw_bars(axis: Any, names: list[str], values: list[Any], colours: list[str], labels: list[str]) -> None:
    bars = axis.barh(range(len(names)), values, color=colours, height=0.7)
    axis.bar_label(bars, labels, padding=3, fontsize=9)
    axis.set_yticks(range(len(names)), names, fontsize=9, parse_math=False)
    axis.set_ylim(max(len(names), 4) - 0.4, -0.6)  # the first at the top; a single bar is not a wall
    axis.margins(x=0.12)


def _short(name: str) -> str:
    return name if len(name) <= _NAME_CHARS else f"{name[: _NAME_CHARS - 1]}…"


def _say_nothing(axis: Any, text: str = "no usable row") -> None:
    axis.text(0.5, 0.5, text, transform=axis.transAxes, ha="center", color=_REST)
    axis.set_xticks([])
    axis.set_yticks([])
