"""The arithmetic: step times to percentiles and the period of an oscillation, samples to columns. All of it pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

WINDOW_STEPS = 1_000  # what "now" means: the window of a summary
_OSCILLATION_STEPS = 1_000
Floats = NDArray[np.float64]


def step_statistics(steps: Sequence[tuple[float, float, int]]) -> dict[str, Any]:
    """Of (data_ms, compute_ms, utterances) per step: mean, jitter (std / mean) and percentiles of each time, the stall,
    and the oscillation of the last 1,000 whole steps."""
    table = np.asarray(steps, np.float64).reshape(-1, 3)
    data, compute, total = table[:, 0], table[:, 1], table[:, 0] + table[:, 1]
    whole = float(total.sum())
    cycle = oscillation(total[-_OSCILLATION_STEPS:])
    return {
        "steps": len(table),
        "data_ms": _describe(data), "compute_ms": _describe(compute), "total_ms": _describe(total),
        "stall": float(data.sum()) / whole if whole else 0.0,
        "utterances_per_second": float(table[:, 2].sum()) / whole * 1e3 if whole else 0.0,
        "oscillation": None if cycle is None else {"period_steps": cycle[0], "strength": cycle[1]},
    }  # fmt: skip


def _describe(values: Floats) -> dict[str, float]:
    if not values.size:
        return dict.fromkeys(("mean", "jitter", "p50", "p95", "p99"), 0.0)
    mean, (p50, p95, p99) = float(values.mean()), np.percentile(values, (50, 95, 99)).tolist()
    return {"mean": mean, "jitter": float(values.std()) / mean if mean else 0.0, "p50": p50, "p95": p95, "p99": p99}


# ---- oscillation ----------------------------------------------------------------------------------------------------


def oscillation(values: ArrayLike) -> tuple[int, float] | None:
    """(period in steps, strength from 0 to 1) of what comes back again and again, or None.

    The period is the first high peak of the autocorrelation that returns at twice and three times its lag. It must fit
    in four times; a smooth wave, which slow drift can imitate, is believed after about eight. Of white noise at most
    0.8 % of the series pass: 24 to 1,000 values, Gaussian to Pareto, 1,000 seeds each (the worst: Pareto 1.1, 300).
    """
    x = np.asarray(values, np.float64)
    longest = x.size // 4
    if longest < 6 or not np.isfinite(x).all() or not x.any():
        return None
    x = _levelled(x / np.abs(x).max())
    if x.std() <= 1e-9:  # the same time, again and again
        return None
    r, first_fall = _autocorrelation(x / x.std(), 3 * longest + 2)
    # Bartlett: what drifts slowly has fewer independent values, so that more is asked of its peaks.
    drift = 1.0 + 2.0 * float(np.square(r[1:first_fall]).sum())
    lags = np.arange(max(first_fall + 1, 2), longest + 1)
    needed = np.maximum(0.25, np.sqrt(2.0 * np.log(longest / 0.01) * drift / (x.size - lags)))
    high = (r[lags] > needed) & (r[lags] >= np.maximum(r[lags - 1], r[lags + 1]))
    peaks = [lag for lag in lags[high].tolist() if _returns(r, lag)]
    if not peaks:
        return None
    period = next(lag for lag in peaks if r[lag] >= 0.8 * max(r[peaks]))  # not one of its multiples
    return period, min(float(r[period]), 1.0)


def _levelled(x: Floats) -> Floats:
    """Without mean and slope, and the few largest cut to one height: two accidents are no oscillation."""
    highest = max(4, x.size // 200)
    x = np.minimum(x, np.partition(x, -highest)[-highest])
    ramp = np.arange(x.size) - (x.size - 1) / 2
    x = x - x.mean()
    return x - ramp * (x @ ramp) / (ramp @ ramp)


def _autocorrelation(x: Floats, lags: int) -> tuple[Floats, int]:
    """r[0..lags], each over the part that overlaps, and the first lag at which it is not positive."""
    spectrum = np.fft.rfft(x, 2 * x.size)
    products = np.fft.irfft(spectrum * spectrum.conj())[: lags + 1]
    power, lag = np.concatenate([[0.0], np.cumsum(x * x)]), np.arange(lags + 1)
    floor = 1e-9 * power[-1]  # a part in which nothing happens correlates with nothing
    r = products / np.sqrt(np.maximum(power[x.size - lag], floor) * np.maximum(power[-1] - power[lag], floor))
    fallen = np.flatnonzero(r <= 0)
    return r, int(fallen[0]) if fallen.size else lags


def _returns(r: Floats, lag: int) -> bool:
    """True if the peak comes back at 2 and 3 times its lag, a step or two earlier or later if it is long."""
    slack = {times: min(times - 1, lag // 4) for times in (2, 3)}
    return all(r[t * lag - s : t * lag + s + 1].max() > 0.6 * r[lag] for t, s in slack.items())


# ---- counters and samples -------------------------------------------------------------------------------------------


def hit_shares(counters: Mapping[str, int]) -> dict[str, float]:
    """Hits / (hits + misses) of each cache that counts `X.hits` and `X.misses`."""
    names = sorted({name.rpartition(".")[0] for name in counters if name.endswith((".hits", ".misses"))})
    hits = {name: counters.get(f"{name}.hits", 0) for name in names}
    return {name: hits[name] / max(hits[name] + counters.get(f"{name}.misses", 0), 1) for name in names}


def columns_of(samples: Sequence[Mapping[str, Any]], most_rows: int) -> dict[str, list[float | None]]:
    """The numbers of the samples by name, None where a sample lacks one; what is not a number is left out.

    More samples than `most_rows` become means of neighbours.
    """
    group = max(-(-len(samples) // most_rows), 1)
    rows = [samples[at : at + group] for at in range(0, len(samples), group)]
    names = dict.fromkeys(item for sample in samples for item in sample if isinstance(sample[item], int | float))
    return {name: [_mean([sample[name] for sample in row if name in sample]) for row in rows] for name in names}


def _mean(values: Sequence[float]) -> float | None:
    return round(sum(values) / len(values), 3) if values else None


def column_ranges(samples: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    """Mean, min and max of each number of the samples, but of the time."""
    ranges = {}
    for name, column in columns_of(samples, max(len(samples), 1)).items():
        values = [value for value in column if value is not None]
        ranges[name] = {"mean": sum(values) / len(values), "min": min(values), "max": max(values)}
    ranges.pop("at", None)
    return ranges
