"""The report of a training run, from its directory: `report.html` beside `log.jsonl`.

write_run_report("runs/voice")
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from myxtts.config.config import XTTSConfig
from myxtts.doctor.history import Episode, History, explain
from myxtts.errors import DiagnosisError
from myxtts.report.buckets import bucket_card
from myxtts.report.charts import Curve, curves
from myxtts.report.judged import Scores, judged, start_of
from myxtts.report.machine import machine_card
from myxtts.report.markup import Markup, join, tag
from myxtts.report.page import card, folded, page, settings_table, table, write_page
from myxtts.report.run_data import METRIC, RunData, read_run
from myxtts.report.run_verdict import run_tiles, run_verdict
from myxtts.report.spoken import spoken_card
from myxtts.report.timeline import timeline
from myxtts.report.wording import count, moment, ms, number, share

REPORT = "report.html"
_ROWS = 24  # of a table that stands for a curve


def write_run_report(
    run: Path | str, file: Path | str | None = None, progress: Callable[[], Any] = lambda: None
) -> Path:
    """Make RUN/report.html, or `file`, from what is in the directory now. `progress` is called for each line read."""
    path = Path(file) if file is not None else Path(run) / REPORT
    write_page(path, run_report(run, progress))
    return path


def run_report(run: Path | str, progress: Callable[[], Any] = lambda: None) -> str:
    data = read_run(run, progress)
    try:
        past: History | None = explain(run)
    except DiagnosisError:  # too few steps to judge, which is said
        past = None
    body = [
        run_verdict(data, past),
        run_tiles(data, past),
        _timeline_card(data, past),
        _devices_card(past),
        _learning_card(data, start_of(Path(run))),
        spoken_card(Path(run)),
        machine_card(data.machine, _machine(data), data.began),
        bucket_card(data.feed, data.steps),
        _events_card(data),
        _settings_card(data),
    ]
    return page("training run", Path(run).resolve().name, _facts(data), body)


def _facts(data: RunData) -> list[str]:
    state = f"ended: {data.end.get('why')}" if data.end else "running, or killed"
    model = data.start.get("config", {}).get("model", {})
    size = (
        f"model {model.get('size')}, {count(data.start['parameters'])} parameters" if "parameters" in data.start else ""
    )
    return [state, *([f"began {moment(data.began)}"] if data.began else []), *([size] if size else [])]


def _began_as(data: RunData) -> str:
    """The model that the run starts from."""
    return str(data.start.get("config", {}).get("training", {}).get("start_from"))


def _machine(data: RunData) -> dict[str, Any]:
    return (data.report.get("machine") or {}).get("description") or {}


# ---- the cards ------------------------------------------------------------------------------------------------------


def _timeline_card(data: RunData, past: History | None) -> Markup:
    steps = data.steps
    if not len(steps["step"]):
        return card("Time per step", tag("p", "No step yet."))
    firsts = ", ".join(ms(wait) for wait in data.first_waits[-3:])
    first = tag(
        "p", f"Not counted: the first batch after each start, which every run waits for ({firsts}).", class_="note"
    )
    episodes = _episodes(past) if past is not None and past.episodes else None
    return card(
        "Time per step",
        timeline(steps["step"], steps["data_ms"], steps["compute_ms"], data.resumed),
        episodes,
        first if data.first_waits else None,
        folded("Numbers", _numbers_table(steps)),
        note="Milliseconds of each step.",
    )


def _devices_card(past: History | None) -> Markup:
    """Where several devices trained: what each did of a step."""
    if past is None or past.ranks is None:
        return join([])
    ranks = past.ranks
    rows = [
        (f"{n}{' (slowest)' if n == ranks.straggler else ''}", *(ms(value) for value in figures))
        for n, figures in enumerate(zip(ranks.data_ms, ranks.compute_ms, ranks.waiting_ms, strict=True))
    ]
    paragraph = tag("p", " ".join(f"{line[:1].upper()}{line[1:]}." for line in ranks.lines()))
    heads = ["device", "waits for data", "computes", "waits for the slowest"]
    return card("Devices", paragraph, table(heads, rows, words=(0,), id="devices"), note="Medians of a step.")


def _episodes(past: History) -> Markup:
    rows = [
        (_from_to(each), share(each.stall), ms(each.wait_ms), "; ".join(each.meanwhile) or "nothing unusual was seen")
        for each in past.episodes[:8]
    ]
    return table(["stalled steps", "waited", "a step", "meanwhile the machine"], rows, words=(3,), id="episodes")


def _from_to(each: Episode) -> str:
    if each.first_step == each.last_step:
        return count(each.first_step)
    return f"{count(each.first_step)} to {'now' if each.ongoing else count(each.last_step)}"


def _numbers_table(steps: dict[str, Any]) -> Markup:
    """The curve for those who read numbers: two dozen stretches of it."""
    rows = []
    for part in np.array_split(np.arange(len(steps["step"])), min(_ROWS, len(steps["step"]))):
        data, compute = steps["data_ms"][part], steps["compute_ms"][part]
        rows.append(
            (
                f"{count(steps['step'][part[0]])} to {count(steps['step'][part[-1]])}",
                ms(float(np.median(data))),
                ms(float(data.max())),
                ms(float(np.median(compute))),
                share(float(data.sum() / max((data + compute).sum(), 1e-9))),
                number(float(np.mean(steps["loss"][part]))),
            )
        )
    return table(["steps", "wait", "longest", "compute", "waited", "loss"], rows)


def _learning_card(data: RunData, before: Scores) -> Markup:
    steps, checks, best = data.steps, data.validations, data.best
    at = [each["step"] for each in checks]
    pictures = [
        curves("Loss", [Curve("loss", steps["step"], steps["loss"])], log=True),
        curves(
            f"Validation, {METRIC}",
            [Curve(METRIC, at, [float(each.get(METRIC, "nan")) for each in checks])],
            low=None,
            dots=len(at) <= 60,
            best=None if best is None else float(best.step),
        ),
        curves("Learning rate", [Curve("learning rate", steps["step"], steps["learning_rate"])]),
        curves("Gradient norm", [Curve("gradient norm", steps["step"], steps["grad_norm"])], log=True),
    ]
    rows = [
        (count(each["step"]), number(float(each.get(METRIC, "nan"))), number(float(each.get("duration_ratio", "nan"))))
        for each in checks[-_ROWS:]
    ]
    numbers = folded("Validations", table(["step", METRIC, "length, spoken / real"], rows)) if rows else None
    return card(
        "Learning", tag("div", *pictures, class_="grid"), numbers, judged(data.evaluations, before, _began_as(data))
    )


def _events_card(data: RunData) -> Markup:
    if not data.events:
        return join([])
    rows = [(count(each.get("step", 0)), each.get("event"), _details(each)) for each in data.events]
    return card("Events", table(["step", "event", "details"], rows, words=(1, 2), id="events"))


def _details(event: dict[str, Any]) -> str:
    known = ("time", "kind", "step", "event")
    return ", ".join(
        f"{key} {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for key, value in event.items()
        if key not in known
    )[:600]


def _settings_card(data: RunData) -> Markup:
    config = data.start.get("config")
    return card("Settings", settings_table(config, XTTSConfig().to_dict())) if config else join([])
