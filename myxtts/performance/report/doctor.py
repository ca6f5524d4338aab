"""The report of the doctor: what limits a pipeline, what each cure would bring, and what the tried one has brought."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from myxtts.config.config import XTTSConfig
from myxtts.performance.causes import ON_THE_STEP
from myxtts.performance.diagnose import WORTH_IT, Diagnosis
from myxtts.performance.doctor import Treatment
from myxtts.performance.report.charts import Bar, bar_rows, share_bar
from myxtts.performance.report.machine import machine_card
from myxtts.performance.report.markup import Markup, join, tag
from myxtts.performance.report.page import card, folded, page, settings_table, table, tiles, verdict, write_page
from myxtts.performance.report.run_data import samples_to_traces
from myxtts.performance.report.timeline import timeline
from myxtts.performance.report.wording import NBSP, count, ms, number, said_share, share, times

_NOTICED = 0.1  # of the time: what is waited for less than that is not what a person should hear about first
_FAR = 10  # what is so many times faster than the device never holds it up
# A cause as one would say it to somebody who has ten seconds
IN_WORDS = {
    "python_function": "Python handles every file",
    "python_loader": "Python makes every batch",
    "per_file_reads": "every file is opened by itself",
    "slow_disk": "the disk is slow",
    "memory_pressure": "the data does not stay in memory",
    "host_features": "spectra are computed on the processor",
    "too_few_workers": "too few workers make batches",
    "host_cores": "all cores are busy making batches",
    "slow_loader": "the loader is slow",
    "no_prefetch": "loading and computing take turns",
    "oscillation": "batches come in waves",
    "padding_waste": "much of every batch is padding",
    "tiny_batch": "the batch is too small for the device",
    "eager_step": "the step is not compiled",
    "retracing": "the step is traced again and again",
    "recompilation": "new shapes are compiled all the time",
    "unexplained": "no known cause applies",
}


def write_doctor_report(
    path: Path | str,
    device: str,
    found: Diagnosis,
    done: Treatment | None,
    config: XTTSConfig,
    samples: Iterable[Any] = (),
    machine: dict[str, Any] | None = None,
) -> None:
    """`samples` and `machine` are those of a `MachineSampler` that watched meanwhile."""
    traces = samples_to_traces(samples)
    began = min((pairs[0][0] for pairs in traces.values() if pairs), default=0.0)
    body = [
        _verdict(found, done),
        _tiles(found),
        _treatment_card(done) if done else None,
        _cures_card(found),
        _shares_card(found),
        _loader_card(found),
        _rates_card(found),
        _padding_card(found),
        machine_card(traces, machine or {}, began),
        card("Settings", settings_table(config.to_dict(), XTTSConfig().to_dict())),
        card("All measurements", folded("Everything that the verdict rests on", _measured(found))),
    ]
    name = Path(config.data.dataset_path or "pipeline").name
    write_page(path, page("doctor", name, [f"device: {device}", f"batch {found.measured.batch}"], body))


def _verdict(found: Diagnosis, done: Treatment | None) -> Markup:
    """Worked or waited, why, and what to do about it with how much to gain."""
    shares = _grouped(found.shares)
    if found.healthy:
        return verdict(
            "good",
            f"The device worked {said_share(found.utilisation)} of the time.",
            [f"No cure would bring {share(WORTH_IT - 1)} more."],
            shares,
        )
    why = IN_WORDS.get(found.verdict, found.verdict.replace("_", " "))
    sentence = _balance(found) + why + "."
    details = [*_what_to_do(found, done), *(_sentence(line) for line in found.evidence)]
    return verdict("bad", sentence, details, shares)


def _balance(found: Diagnosis) -> str:
    """The part of the sentence before the reason."""
    wait = found.measured.wait_ms / found.measured.loop_ms
    if wait >= _NOTICED and found.verdict not in ON_THE_STEP:
        return f"The device waited {said_share(wait)} of the time for data: "
    used = said_share(found.utilisation)
    if found.utilisation < 0.5:
        return f"The device did useful work only {used} of the time: "
    return f"The device was busy {used} of the time, but "


def _what_to_do(found: Diagnosis, done: Treatment | None) -> Iterator[Markup]:
    if found.cures:
        gain = times(found.predicted(found.cures[0])["gain"])
        words = f"{found.cures[0].what}. Predicted: {gain} as many utterances a second."
        yield join([tag("strong", "Cure: "), words])
    if done is not None:
        words = f"{times(done.achieved_gain)} achieved, {times(done.predicted_gain)} predicted."
        yield join([tag("strong", "Tried: "), words])


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _tiles(found: Diagnosis) -> Markup:
    m = found.measured
    return tiles(
        [
            (
                "rate",
                "Utterances/s",
                number(found.utterances_per_second),
                f"device alone {number(found.rates.get('device', 0.0))}",
            ),
            ("utilisation", "Device used", share(found.utilisation), "of what it could do"),
            ("step-ms", "Step", ms(m.loop_ms), f"{ms(m.wait_ms)} waiting, {ms(m.compute_ms)} computing"),
            ("loader-ms", "Loader alone", ms(m.loader_ms), f"a batch, on {m.loader_cores:.1f} of {m.cores} cores"),
            ("device-ms", "Device alone", ms(m.device_ms), "a step, on a resident batch"),
        ]
    )


def _treatment_card(done: Treatment) -> Markup:
    """Predicted against achieved."""
    then = done.before.predicted(done.cure)
    rows = [
        (
            "before",
            number(done.before.utterances_per_second),
            "1.0×",
            share(done.before.utilisation),
            ms(done.before.measured.loop_ms),
        ),
        (
            "predicted",
            number(then["utterances_per_second"]),
            times(then["gain"]),
            share(then["utilisation"]),
            ms(done.cure.predicted_ms),
        ),
        (
            "achieved",
            number(done.after.utterances_per_second),
            times(done.achieved_gain),
            share(done.after.utilisation),
            ms(done.after.measured.loop_ms),
        ),
    ]
    values = (done.before.utterances_per_second, then["utterances_per_second"], done.after.utterances_per_second)
    bars = [
        Bar(row[0], value, f"{row[1]} utterances/s", kind)
        for row, value, kind in zip(rows, values, ("pad", "work-soft", "work"), strict=True)
    ]
    told = f"before {rows[0][1]}, predicted {rows[1][1]}, achieved {rows[2][1]} utterances a second"
    parts = [
        bar_rows(bars, told),
        tag("div", table(["", "utterances/s", "gain", "device used", "step"], rows, id="treatment")),
    ]
    note = f"{_sentence(done.cure.what)} The cured settings are in {done.config_file}."
    return card("Predicted against achieved", tag("div", *parts, class_="grid"), note=note)


def _cures_card(found: Diagnosis) -> Markup:
    if not found.cures:
        return join([])
    rows = [
        (
            cure.what,
            IN_WORDS.get(cure.cause, cure.cause),
            times(then["gain"]),
            number(then["utterances_per_second"]),
            share(then["utilisation"]),
        )
        for cure in found.cures
        for then in [found.predicted(cure)]
    ]
    return card(
        "What would help",
        table(["cure", "because", "predicted", "utterances/s", "device used"], rows, (1,), id="cures"),
        note="Each alone, the best first. Predictions come from the measurements below.",
    )


def _shares_card(found: Diagnosis) -> Markup:
    shares = {name: value for name, value in found.shares.items() if value >= 0.001}
    rows = [(name, share(value), ms(value * found.measured.loop_ms)) for name, value in shares.items()]
    return card("Where a step's time goes", share_bar(shares), table(["stage", "share", "a step"], rows, id="shares"))


def _grouped(shares: dict[str, float]) -> dict[str, float]:
    """All waiting in one, computing first."""
    grouped = {"computing": 0.0}
    for name, value in shares.items():
        key = "waiting for data" if name.startswith("waiting") else name
        grouped[key] = grouped.get(key, 0.0) + value
    return {name: value for name, value in grouped.items() if value > 0}


def _loader_card(found: Diagnosis) -> Markup:
    """Each batch of the loader alone; what takes longer than the device's step is too late."""
    intervals = np.asarray(found.measured.intervals_ms, np.float64)
    if not len(intervals):
        return join([])
    in_time = np.minimum(intervals, found.measured.device_ms)
    note = (
        "Milliseconds between batches, taken as fast as they come. A device with a step of "
        f"{ms(found.measured.device_ms)} would have waited for what is above it."
    )
    drawn = timeline(
        np.arange(1, len(intervals) + 1), intervals - in_time, in_time, name="batch", words=("in time", "too late")
    )
    return card("The loader, batch by batch", drawn, note=note)


def _rates_card(found: Diagnosis) -> Markup:
    """What each part could do by itself."""
    enough = _FAR * found.rates.get("device", float("inf"))
    rates = {name: rate for name, rate in sorted(found.rates.items(), key=lambda item: item[1]) if rate < enough}
    if not rates:
        return join([])
    bars = [Bar(name, rate, f"{number(rate)}/s", _rate_kind(name, found.rates)) for name, rate in rates.items()]
    told = ", ".join(f"{bar.name} {bar.written}" for bar in bars)
    faster = ", ".join(name for name in found.rates if name not in rates)
    rest = f" Left out, being more than {_FAR} times as fast as the device: {faster}." if faster else ""
    note = f"Utterances a second; the stages of a dataset on one core each.{rest}"
    return card("What each part could do alone", bar_rows(bars, told), note=note)


def _rate_kind(name: str, rates: dict[str, float]) -> str:
    """Red is for what is slower than the device, and so holds it up."""
    if name in ("device", "loop"):
        return {"device": "work", "loop": "pad"}[name]
    colour = "wait" if rates[name] < rates.get("device", 0.0) else "work"
    return colour if name == "loader" and colour == "wait" else f"{colour}-soft"


def _padding_card(found: Diagnosis) -> Markup:
    useful = found.measured.useful_share
    if useful is None or useful > 0.999:
        return join([])
    return card(
        "Padding", share_bar({"real frames": useful, "padding": 1 - useful}), note="Of the largest tensor of a batch."
    )


def _measured(found: Diagnosis) -> Markup:
    rows = [
        (name.replace("_", " "), _plain(value))
        for name, value in found.measured.to_dict().items()
        if name not in ("intervals_ms", "structure")
    ]
    return table(["measurement", "value"], rows)


def _plain(value: Any) -> str | None:
    if isinstance(value, dict):
        return ", ".join(f"{name} {number(ms_)}{NBSP}ms" for name, ms_ in value.items()) or None
    if isinstance(value, bool) or value is None:
        return None if value is None else "yes" if value else "no"
    return number(float(value)) if isinstance(value, float) else count(value)
