"""The report of the doctor: what limits a pipeline, what each cure would bring, and what the tried one has brought."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from myxtts.config.config import XTTSConfig
from myxtts.doctor.causes import CAUSES, VERDICTS
from myxtts.doctor.diagnosis import Diagnosis
from myxtts.doctor.treatment import Treatment
from myxtts.report.charts import Bar, bar_rows, share_bar
from myxtts.report.machine import machine_card
from myxtts.report.markup import Markup, join, tag
from myxtts.report.page import card, folded, page, settings_table, table, tiles, verdict, write_page
from myxtts.report.run_data import samples_to_traces
from myxtts.report.timeline import timeline
from myxtts.report.wording import NBSP, count, ms, number, said_share, share, times
from myxtts.thresholds import WORTH_IT

_OF_STEP = "The mean time of a step in the loop."
_FAR = 10  # what is so many times faster than the device never holds it up


def write_doctor_report(
    path: Path | str,
    device: str,
    diagnosis: Diagnosis,
    done: Treatment | None,
    config: XTTSConfig,
    samples: Iterable[Any] = (),
    machine: dict[str, Any] | None = None,
) -> None:
    """`samples` and `machine` are those of a `MachineSampler` that watched meanwhile."""
    traces = samples_to_traces(samples)
    began = min((pairs[0][0] for pairs in traces.values() if pairs), default=0.0)
    body = [
        _verdict(diagnosis, done),
        _tiles(diagnosis),
        _treatment_card(done) if done else None,
        _cures_card(diagnosis),
        _shares_card(diagnosis),
        _loader_card(diagnosis),
        _rates_card(diagnosis),
        _padding_card(diagnosis),
        machine_card(traces, machine or {}, began),
        card("Settings", settings_table(config.to_dict(), XTTSConfig().to_dict())),
        card("All measurements", folded("Everything that the verdict rests on", _measured(diagnosis))),
    ]
    name = Path(config.data.dataset_path or "pipeline").name
    write_page(path, page("doctor", name, [f"device: {device}", f"batch {diagnosis.measured.batch}"], body))


def _verdict(diagnosis: Diagnosis, done: Treatment | None) -> Markup:
    """How long the step waited, why, and what to do about it with how much to gain."""
    shares = _grouped(diagnosis.shares)
    if diagnosis.healthy:
        m = diagnosis.measured
        alone = f"Alone, the step takes {ms(m.device_ms)}; in the loop {ms(m.loop_ms)}."
        details = [f"{alone} No cure would bring {share(WORTH_IT - 1)} more."]
        return verdict("good", f"{_waited(diagnosis)}.", details, shares, _OF_STEP)
    sentence = _balance(diagnosis) + VERDICTS[diagnosis.verdict].words + "."
    details = [*_what_to_do(diagnosis, done), *(_sentence(line) for line in diagnosis.evidence)]
    return verdict("bad", sentence, details, shares, _OF_STEP)


def _waited(diagnosis: Diagnosis) -> str:
    return f"The step waited {said_share(diagnosis.measured.wait_ms / diagnosis.measured.loop_ms)} of its time for data"


def _balance(diagnosis: Diagnosis) -> str:
    """The part of the sentence before the reason."""
    cause = CAUSES.get(diagnosis.verdict)
    if cause is None or cause.part != "step":
        return f"{_waited(diagnosis)}: "
    if diagnosis.utilisation < 0.5:
        return f"The loop reaches {said_share(diagnosis.utilisation)} of what the device does alone: "
    return f"{_waited(diagnosis)}, but "


def _what_to_do(diagnosis: Diagnosis, done: Treatment | None) -> Iterator[Markup]:
    if diagnosis.cures:
        gain = times(diagnosis.predicted(diagnosis.cures[0])["gain"])
        words = f"{diagnosis.cures[0].what}. Predicted: {gain} as many utterances a second."
        yield join([tag("strong", "Cure: "), words])
    if done is not None:
        words = f"{times(done.achieved_gain)} achieved, {times(done.predicted_gain)} predicted."
        yield join([tag("strong", "Tried: "), words])


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _tiles(diagnosis: Diagnosis) -> Markup:
    m = diagnosis.measured
    return tiles(
        [
            (
                "rate",
                "Utterances/s",
                number(diagnosis.utterances_per_second),
                f"device alone {number(diagnosis.rates.get('device', 0.0))}",
            ),
            ("utilisation", "Device used", share(diagnosis.utilisation), "of what it could do"),
            ("step-ms", "Step", ms(m.loop_ms), f"{ms(m.wait_ms)} waiting, {ms(m.compute_ms)} computing"),
            ("loader-ms", "Loader alone", ms(m.loader_ms), f"a batch, on {m.loader_cores:.1f} of {m.cores} cores"),
            ("device-ms", "Device alone", ms(m.device_ms), "a step, on a resident batch"),
        ]
    )


def _treatment_card(done: Treatment) -> Markup:
    """Predicted against achieved."""
    before, then, after = done.before, done.before.predicted(done.cure), done.after
    stages = {  # utterances/s, gain, device used, step
        "before": (before.utterances_per_second, 1.0, before.utilisation, before.measured.loop_ms),
        "predicted": (then["utterances_per_second"], then["gain"], then["utilisation"], done.cure.predicted_ms),
        "achieved": (after.utterances_per_second, done.achieved_gain, after.utilisation, after.measured.loop_ms),
    }
    rows = [
        (name, number(rate), times(gain), share(used), ms(step)) for name, (rate, gain, used, step) in stages.items()
    ]
    heads = ["", "utterances/s", "gain", "device used", "step"]
    parts = [_rate_bars(stages), tag("div", table(heads, rows, id="treatment"))]
    note = f"{_sentence(done.cure.what)} The cured settings are in {done.config_file}."
    return card("Predicted against achieved", tag("div", *parts, class_="grid"), note=note)


def _rate_bars(stages: dict[str, tuple[float, float, float, float]]) -> Markup:
    kinds = {"before": "pad", "predicted": "work-soft", "achieved": "work"}
    bars = [Bar(name, rate, f"{number(rate)} utterances/s", kinds[name]) for name, (rate, *_) in stages.items()]
    return bar_rows(bars, ", ".join(f"{bar.name} {bar.written}" for bar in bars))


def _cures_card(diagnosis: Diagnosis) -> Markup:
    if not diagnosis.cures:
        return join([])
    rows = [
        (
            cure.what,
            CAUSES[cure.cause].words,
            times(then["gain"]),
            number(then["utterances_per_second"]),
            share(then["utilisation"]),
        )
        for cure in diagnosis.cures
        for then in [diagnosis.predicted(cure)]
    ]
    return card(
        "What would help",
        table(["cure", "because", "predicted", "utterances/s", "device used"], rows, (1,), id="cures"),
        note="Each alone, the best first. Predictions come from the measurements below.",
    )


def _shares_card(diagnosis: Diagnosis) -> Markup:
    shares = {name: value for name, value in diagnosis.shares.items() if value >= 0.001}
    rows = [(name, share(value), ms(value * diagnosis.measured.loop_ms)) for name, value in shares.items()]
    return card("Where a step's time goes", share_bar(shares), table(["stage", "share", "a step"], rows, id="shares"))


def _grouped(shares: dict[str, float]) -> dict[str, float]:
    """All waiting in one, computing first."""
    grouped = {"computing": 0.0}
    for name, value in shares.items():
        key = "waiting for data" if name.startswith("waiting") else name
        grouped[key] = grouped.get(key, 0.0) + value
    return {name: value for name, value in grouped.items() if value > 0}


def _loader_card(diagnosis: Diagnosis) -> Markup:
    """Each batch of the loader alone; what takes longer than the device's step is too late."""
    intervals = np.asarray(diagnosis.measured.intervals_ms, np.float64)
    if not len(intervals):
        return join([])
    in_time = np.minimum(intervals, diagnosis.measured.device_ms)
    note = (
        "Milliseconds between batches, taken as fast as they come. A device with a step of "
        f"{ms(diagnosis.measured.device_ms)} would have waited for what is above it."
    )
    drawn = timeline(
        np.arange(1, len(intervals) + 1), intervals - in_time, in_time, name="batch", words=("in time", "too late")
    )
    return card("The loader, batch by batch", drawn, note=note)


def _rates_card(diagnosis: Diagnosis) -> Markup:
    """What each part could do by itself."""
    enough = _FAR * diagnosis.rates.get("device", float("inf"))
    rates = {name: rate for name, rate in sorted(diagnosis.rates.items(), key=lambda item: item[1]) if rate < enough}
    if not rates:
        return join([])
    bars = [Bar(name, rate, f"{number(rate)}/s", _rate_kind(name, diagnosis.rates)) for name, rate in rates.items()]
    alt = ", ".join(f"{bar.name} {bar.written}" for bar in bars)
    faster = ", ".join(name for name in diagnosis.rates if name not in rates)
    rest = f" Left out, being more than {_FAR} times as fast as the device: {faster}." if faster else ""
    note = f"Utterances a second; the stages of a dataset on one core each.{rest}"
    return card("What each part could do alone", bar_rows(bars, alt), note=note)


def _rate_kind(name: str, rates: dict[str, float]) -> str:
    """Red is for what is slower than the device, and so holds it up."""
    if name in ("device", "loop"):
        return {"device": "work", "loop": "pad"}[name]
    colour = "wait" if rates[name] < rates.get("device", 0.0) else "work"
    return colour if name == "loader" and colour == "wait" else f"{colour}-soft"


def _padding_card(diagnosis: Diagnosis) -> Markup:
    useful = diagnosis.measured.useful_share
    if useful is None or useful > 0.999:
        return join([])
    return card(
        "Padding", share_bar({"real frames": useful, "padding": 1 - useful}), note="Of the largest tensor of a batch."
    )


def _measured(diagnosis: Diagnosis) -> Markup:
    rows = [
        (name.replace("_", " "), _plain(value))
        for name, value in diagnosis.measured.to_dict().items()
        if name not in ("intervals_ms", "structure")
    ]
    return table(["measurement", "value"], rows)


def _plain(value: Any) -> str | None:
    if isinstance(value, dict):
        return ", ".join(f"{name} {number(ms_)}{NBSP}ms" for name, ms_ in value.items()) or None
    if isinstance(value, bool) or value is None:
        return None if value is None else "yes" if value else "no"
    return number(float(value)) if isinstance(value, float) else count(value)
