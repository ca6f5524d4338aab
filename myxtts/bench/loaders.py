"""Measures loaders side by side: rate, CPU cost, jitter, memory, and what they would do for an accelerator.

Every loader feeds the same utterances of one cache; the per-file loaders get them as files in a temporary folder.
"""

from __future__ import annotations

import itertools
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import soundfile

from myxtts.bench.emulator import break_even_ms, emulate, run_controls
from myxtts.cache.fit import settle
from myxtts.cache.open import open_cache
from myxtts.cache.reader import Cache
from myxtts.config.config import XTTSConfig
from myxtts.data.file_feed import KINDS, FileFeed
from myxtts.data.listing import Listing, list_cache, write_npy_files
from myxtts.data.pipeline import Feed
from myxtts.data.plan import Plan
from myxtts.errors import ConfigError
from myxtts.features.mel import HOP_SAMPLES, SAMPLE_RATE
from myxtts.machine.page_cache import drop_pages
from myxtts.machine.process import anonymous_bytes

LOADERS = ("limit", "mapped", "limit-audio", "mapped-audio", *KINDS)
_MODES = {"limit": "precompute", "mapped": "precompute", "limit-audio": "on_the_fly", "mapped-audio": "on_the_fly"}
DRAIN_SECONDS = 2.0
EMULATE_SECONDS = 1.5

Progress = Callable[[str], None]


def bench(
    cache_folder: Path,
    config: XTTSConfig,
    loaders: Sequence[str] | None = None,
    step_ms: Sequence[float] = (5.0, 10.0, 20.0, 50.0),
    cold: bool = False,
    progress: Progress = lambda what: None,
    drained_batches: int | None = None,
) -> dict[str, Any]:
    """One row of numbers per loader, and the emulator's two controls per step time, measured in the same run.

    Rates are those of as many batches as come in two seconds, or of `drained_batches`.
    """
    cache = open_cache(cache_folder)
    config = XTTSConfig(settle(config.data, [cache]), config.model, config.training)
    loaders = usable_loaders(cache) if loaders is None else loaders
    unknown = [name for name in loaders if name not in LOADERS]
    if unknown:
        raise ConfigError(f"found the loader {unknown[0]!r}, expected some of {', '.join(LOADERS)}")
    progress("controls")
    controls = {c: run_controls(c, _steps(c)) for c in step_ms}
    result: dict[str, Any] = {
        "cache": str(cache_folder),
        "batch_size": config.data.batch_size,
        "cold": cold,
        "controls": [
            {"step_ms": c, "resident_au": control.resident_au, "throttled_au": control.throttled_au,
             "throttled_expected": control.expected_au}
            for c, control in controls.items()
        ],
        "loaders": {},
    }  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="myxtts-bench-") as folder:
        for name in loaders:
            progress(name)
            result["loaders"][name] = _measure(
                name, cache_folder, config, step_ms, cold, Path(folder), controls, drained_batches
            )
    return result


def usable_loaders(cache: Cache) -> list[str]:
    """All loaders; for a cache without mel those that need none."""
    return [name for name in LOADERS if cache.mel is not None or _MODES.get(name) != "precompute"]


def _measure(
    name: str,
    cache_folder: Path,
    config: XTTSConfig,
    step_ms: Sequence[float],
    cold: bool,
    folder: Path,
    controls: Any,
    drained_batches: int | None,
) -> dict[str, Any]:
    with ExitStack() as stack:
        source = _prepare(name, open_cache(cache_folder), config, folder, stack)
        row: dict[str, Any] = {}
        if cold:
            row["still_in_memory"] = drop_pages(_files_of(name, cache_folder, folder))
        before, started = anonymous_bytes(), time.perf_counter()
        batches = source()
        first = next(batches)
        row["first_batch_s"] = time.perf_counter() - started
        row |= _drain(batches, first, drained_batches)
        row["anonymous_mb"] = (anonymous_bytes() - before) / 1e6
        row["au"] = {c: emulate(batches, c, _steps(max(c, row["batch_ms"]))) for c in step_ms}
        middle = row["au"][min(step_ms, key=lambda c: abs(c - 10.0))]
        row |= {"jitter": middle.jitter, "p99_over_median": middle.tail, "jitter_at_step_ms": middle.step_ms}
        row["au_of_control"] = {c: emulation.au / controls[c].resident_au for c, emulation in row["au"].items()}
        row["au"] = {c: emulation.au for c, emulation in row["au"].items()}
        reached = break_even_ms(batches, row["batch_ms"] / 4, max(row["batch_ms"] * 12, 2.0))
        row["break_even_ms"] = reached if np.isfinite(reached) else None  # JSON knows no infinity
        return row


def _drain(batches: Iterator[Any], batch: Any, wanted: int | None) -> dict[str, float]:
    """Take batches as fast as they come: rate, CPU and padding."""
    taken = utterances = frames = padded = 0
    wall, cpu = time.perf_counter(), time.process_time()
    while time.perf_counter() - wall < DRAIN_SECONDS if wanted is None else taken < wanted:
        rows, real, shape = _size(batch)
        taken, utterances, frames, padded = taken + 1, utterances + rows, frames + real, padded + shape
        batch = next(batches)
    seconds, cpu_seconds = time.perf_counter() - wall, time.process_time() - cpu
    return {
        "utterances_per_s": utterances / seconds,
        "x_real_time": frames * HOP_SAMPLES / SAMPLE_RATE / seconds,
        "cpu_us_per_utterance": cpu_seconds / utterances * 1e6,
        "batches": taken,
        "batch_ms": seconds / taken * 1e3,
        "useful_frame_share": frames / padded,
    }


def _size(batch: Any) -> tuple[int, int, int]:
    """(utterances, real frames, padded frames) of a batch of any loader."""
    real = np.asarray(batch["weight"]) > 0
    payload = batch["mel"] if "mel" in batch else batch["audio"]
    lengths = np.asarray(batch["frame_lengths"])
    return int(real.sum()), int(lengths[real].sum()), int(np.prod(payload.shape[:2]))


def _prepare(
    name: str, cache: Cache, config: XTTSConfig, folder: Path, stack: ExitStack
) -> Callable[[], Iterator[Any]]:
    """What starts the loader; the files it needs are made first."""
    if name in _MODES:
        settings = XTTSConfig(replace(config.data, preprocessing_mode=_MODES[name]), config.model, config.training)
        if name.startswith("limit"):
            return lambda: numpy_limit(Plan(cache, settings))
        return lambda: Feed(cache, settings).batches()
    listing = write_npy_files(cache, folder / "npy") if name == "npy" else write_wav_files(cache, folder / "wav")
    return lambda: FileFeed(name, listing, config).batches()


def write_wav_files(cache: Cache, folder: Path) -> Listing:
    """The utterances as the 16-bit wav files that a corpus has."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{n:08d}.wav" for n in range(len(cache))]
    for n, path in enumerate(paths):
        if not path.exists():
            soundfile.write(path, cache.samples(n), SAMPLE_RATE)
    return list_cache(cache, paths)


def numpy_limit(plan: Plan) -> Iterator[dict[str, Any]]:
    """The physical limit: one thread copies the rows of batches (and references) from the map into arrays it keeps."""
    name, length = plan.payload[0], plan.data.reference_frames
    tables = [cache.tracks[name] for cache in plan.caches]
    buckets = plan.order.buckets
    kept = [np.empty((bucket.batch, bucket.frames, *tables[0].shape[1:]), tables[0].dtype) for bucket in buckets]
    crops = [np.empty((bucket.batch, length, *tables[0].shape[1:]), tables[0].dtype) for bucket in buckets]
    order = [plan.order.batch(step) for step in range(plan.steps_per_epoch)]  # worked out ahead, so as not to count
    places = [plan.columns[plan.bases[batch.cache] + batch.utterances, :2] for batch in order]
    for batch, place in itertools.cycle(zip(order, places, strict=True)):
        out, table = kept[batch.bucket], tables[batch.cache]
        _copy_rows(out, table, place.tolist())
        if length:
            _copy_rows(crops[batch.bucket], table, [(first, min(n, length)) for first, n in place.tolist()])
        yield {"weight": batch.weight, "frame_lengths": place[:, 1], name: out}


def _copy_rows(out: Any, table: Any, places: Sequence[Any]) -> None:
    for row, (first, n_frames) in zip(out, places, strict=True):
        row[:n_frames] = table[first : first + n_frames]
        row[n_frames:] = table[0]


def _steps(ms: float) -> int:
    """Steps that take about EMULATE_SECONDS when each takes `ms`."""
    return int(np.clip(EMULATE_SECONDS * 1e3 / ms, 10, 1000))


def _files_of(name: str, cache_folder: Path, folder: Path) -> list[Path]:
    where = {"npy": folder / "npy", "native": folder / "wav", "python": folder / "wav"}.get(name, cache_folder)
    return [path for path in where.iterdir() if path.is_file()]


_LEGEND = """AU: emulated accelerator utilisation, the share of wall time that a device of that step time would compute.
The resident control shows what the emulation itself can reach, the throttled one must show 0.5."""


def as_table(result: dict[str, Any]) -> str:
    """What a person reads."""
    steps = [control["step_ms"] for control in result["controls"]]
    heads = "".join(f"{f'AU {c:g} ms':>10}" for c in steps)
    lines = [f"{'loader':<14}{'utt/s':>9}{'x real':>9}{'CPU us':>8}{'useful':>8}{'jitter':>8}{'p99/med':>8}"
             f"{'first s':>8}{'anon MB':>8}{'break-even ms':>14}{heads}"]  # fmt: skip
    for name, row in result["loaders"].items():
        au = "".join(f"{row['au'][c]:>10.3f}" for c in steps)
        lines.append(
            f"{name:<14}{row['utterances_per_s']:>9,.0f}{row['x_real_time']:>9,.0f}{row['cpu_us_per_utterance']:>8.0f}"
            f"{row['useful_frame_share']:>8.3f}{row['jitter']:>8.2f}{row['p99_over_median']:>8.2f}"
            f"{row['first_batch_s']:>8.2f}{row['anonymous_mb']:>8.0f}{_or_none(row['break_even_ms']):>14}{au}"
        )
    for title, key in (("resident", "resident_au"), ("throttled", "throttled_au")):
        values = "".join(f"{control[key]:>10.3f}" for control in result["controls"])
        lines.append(f"{'control: ' + title:<94}{values}")
    lines.append(_LEGEND)
    if result["cold"]:
        kept = max(row["still_in_memory"] for row in result["loaders"].values())
        lines.append(f"cold: file pages were dropped before each loader; up to {kept:.0%} of them stayed in memory")
    return "\n".join(lines)


def _or_none(value: float | None) -> str:
    return "not reached" if value is None else f"{value:.2f}"


def plot(result: dict[str, Any], path: Path) -> None:
    """AU over step time, one line per loader."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        from myxtts.errors import MissingExtra

        raise MissingExtra("matplotlib", "plot", "--plot") from None
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.subplots()
    for name, row in result["loaders"].items():
        axes.plot(list(row["au"]), list(row["au"].values()), marker="o", label=name)
    axes.set(
        xscale="log", xlabel="step time of the device, ms", ylabel="emulated accelerator utilisation", ylim=(0, 1.05)
    )
    axes.set_title(f"batch {result['batch_size']}, {Path(result['cache']).name}")
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right")
    figure.savefig(path, dpi=120)
