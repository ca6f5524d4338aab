"""The report of `myxtts bench`: loaders side by side, and what they would do for an accelerator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from myxtts.config.config import XTTSConfig
from myxtts.report.charts import Bar, Curve, bar_rows, curves
from myxtts.report.markup import Markup, tag
from myxtts.report.page import card, page, settings_table, table, tiles, verdict, write_page
from myxtts.report.wording import NBSP, count, ms, number, plain, said_share, share, times

_NEEDS = 0.9  # of the resident control: what a loader must reach for a device not to notice it
_STEP_MS = 10.0  # the step time that the verdict speaks of, or the nearest that was measured
MEANING = {
    "limit": "mel copied from memory",
    "mapped": "packed cache, mel ready",
    "limit-audio": "sound copied from memory",
    "mapped-audio": "packed cache, mel made by the device",
    "native": "a wav file each, read by TensorFlow",
    "npy": "an .npy file of mel each",
    "python": "a wav file each, read by Python",
}  # names are for typing; a person meets them here for the first time


def write_bench_report(path: Path | str, result: dict[str, Any], config: XTTSConfig) -> None:
    """From what `bench` returns."""
    body = [
        _verdict(result),
        _tiles(result),
        _rates_card(result),
        _utilisation_card(result),
        _table_card(result),
        card("Settings", settings_table(config.to_dict(), XTTSConfig().to_dict())),
    ]
    facts = [
        f"batch {result['batch_size']}",
        "files dropped from memory before each loader" if result["cold"] else "files in memory",
    ]
    write_page(path, page("loaders", Path(result["cache"]).name, facts, body))


def _loaders(result: dict[str, Any]) -> dict[str, Any]:
    """Without the physical limit, which is no loader."""
    return {name: row for name, row in result["loaders"].items() if not name.startswith("limit")}


def _fastest_first(rows: dict[str, Any]) -> list[tuple[str, Any]]:
    return sorted(rows.items(), key=lambda item: -item[1]["utterances_per_s"])


def _best(result: dict[str, Any]) -> tuple[str, Any]:
    return _fastest_first(_loaders(result) or result["loaders"])[0]


def _verdict(result: dict[str, Any]) -> Markup:
    """The fastest loader, by how much, and whether a device would notice it."""
    name, row = _best(result)
    step = min(row["au"], key=lambda c: abs(c - _STEP_MS))
    used, limit = min(row["au"][step], 1.0), min(_control(result, step), 1.0)
    sentence = f"The {name} loader keeps a device with a step of {step:g}{NBSP}ms busy {said_share(used)} of the time."
    details = [f"{number(row['utterances_per_s'])} utterances a second, {ms(row['batch_ms'])} a batch."]
    slowest, other = _fastest_first(_loaders(result) or result["loaders"])[-1]
    if slowest != name:
        gain = times(row["utterances_per_s"] / other["utterances_per_s"])
        busy = said_share(min(other["au"][step], 1.0))
        details.append(f"That is {gain} the rate of the {slowest} loader, which would keep it busy {busy} of the time.")
    # What the emulation itself loses with a batch that is always there is no waiting for data.
    rest = {"waiting for data": limit - used, "lost by the emulation": 1 - max(limit, used)}
    shares = {"computing": used} | {name: value for name, value in rest.items() if value >= 0.001}
    return verdict("good" if used >= _NEEDS * limit else "bad", sentence, details, shares)


def _control(result: dict[str, Any], step: float) -> float:
    return next(float(control["resident_au"]) for control in result["controls"] if control["step_ms"] == step)


def _tiles(result: dict[str, Any]) -> Markup:
    name, row = _best(result)
    reached = row["break_even_ms"]
    return tiles(
        [
            ("rate", "Utterances/s", number(row["utterances_per_s"]), name),
            ("real-time", "Faster than real time", f"{count(row['x_real_time'])}×", "hours of speech an hour"),
            ("cpu", "CPU an utterance", f"{number(row['cpu_us_per_utterance'])}{NBSP}µs", "of one core"),
            (
                "break-even",
                "Break-even step",
                "not reached" if reached is None else ms(reached),
                "the fastest device it feeds",
            ),
            ("useful", "Useful frames", share(row["useful_frame_share"]), "the rest is padding"),
        ]
    )


def _rates_card(result: dict[str, Any]) -> Markup:
    rows = _fastest_first(result["loaders"])
    bars = [
        Bar(
            f"{name}: {MEANING[name]}",
            row["utterances_per_s"],
            f"{number(row['utterances_per_s'])}/s",
            "pad" if name.startswith("limit") else "work",
        )
        for name, row in rows
    ]
    alt = "; ".join(f"{bar.name}, {bar.written}" for bar in bars)
    return card(
        "Rate of each loader",
        bar_rows(bars, alt),
        note="Utterances a second. Grey: the physical limit, plain copies by one thread.",
    )


def _utilisation_card(result: dict[str, Any]) -> Markup:
    """One small picture per loader, all with the same axes: lines that lie on each other cannot be told apart."""
    steps = [control["step_ms"] for control in result["controls"]]
    resident = Curve(
        "limit of the emulation", steps, [100 * control["resident_au"] for control in result["controls"]], "control"
    )
    pictures = [
        curves(
            name,
            [Curve("utilisation", list(row["au"]), [100 * au for au in row["au"].values()]), resident],
            high=100.0,
            height=130.0,
            x_name="step",
            x_written=lambda v: f"{plain(v)}{NBSP}ms",
            y_written=lambda v: f"{plain(v)}{NBSP}%",
        )
        for name, row in _fastest_first(_loaders(result) or result["loaders"])
    ]
    note = (
        "How busy each loader keeps a device, over the device's time for a step: a fast device is at the left. "
        "Emulated: no GPU was used."
    )
    return card("Emulated accelerator utilisation", tag("div", *pictures, class_="grid"), note=note)


def _table_card(result: dict[str, Any]) -> Markup:
    heads = ["loader", "utterances/s", "CPU µs", "useful", "jitter", "p99/median", "first batch", "break-even"]
    ordered = _fastest_first(result["loaders"])
    rows = [
        (
            name,
            number(row["utterances_per_s"]),
            number(row["cpu_us_per_utterance"]),
            share(row["useful_frame_share"]),
            f"{row['jitter']:.2f}",
            f"{row['p99_over_median']:.2f}",
            ms(1e3 * row["first_batch_s"]),
            None if row["break_even_ms"] is None else ms(row["break_even_ms"]),
        )
        for name, row in ordered
    ]
    steps = [control["step_ms"] for control in result["controls"]]
    used = [(name, *(share(min(row["au"][c], 1.0)) for c in steps)) for name, row in ordered]
    used += [
        (f"control: {title}", *(share(min(control[key], 1.0)) for control in result["controls"]))
        for title, key in (("resident batch", "resident_au"), ("throttled to a half", "throttled_au"))
    ]
    utilisation = table(["utilisation at a step of", *(f"{c:g}{NBSP}ms" for c in steps)], used, id="utilisation")
    return card("All numbers", table(heads, rows, id="loaders"), utilisation)
