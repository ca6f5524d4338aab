"""Where the time of a batch and of a step goes: the loader alone, its stages, the model's step, and a trace of both.

    print(profile(config, trace=Path("trace")))

Unlike the doctor it judges nothing: it says how long what takes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from myxtts.bench.trace import part, traced
from myxtts.config.config import XTTSConfig
from myxtts.doctor.batch_shape import rows_of, shape_of, typical
from myxtts.doctor.configured import pipeline_of, real_step
from myxtts.doctor.counters import stage_times
from myxtts.doctor.resident import device_alone, run_step
from myxtts.errors import MyXTTSError

BATCHES = 50
GOOD_MS, SLOW_MS = 100.0, 500.0
LOADER_SECONDS = 20.0  # a loader that is slower than 50 batches in that time has shown what it is
_FEWEST_BATCHES = 3
_TRACED_STEPS = 10  # a trace of more is too large to be read
_KEPT_BATCHES = 8  # of which the one of median size is what the step is measured with

Progress = Callable[[str], None]


@dataclass
class Loading:
    """Milliseconds per batch, taken as fast as they come; the first, which starts everything, aside."""

    batches: int
    utterances_per_batch: int
    first_batch_ms: float
    mean_ms: float
    p50_ms: float
    p95_ms: float

    @property
    def speed(self) -> str:
        return speed_of(self.mean_ms)

    @property
    def utterances_per_s(self) -> float:
        return self.utterances_per_batch / self.mean_ms * 1e3


@dataclass
class StepTime:
    """The step on a batch that is there."""

    device: str
    step_ms: float
    compile_ms: float
    cores: float
    utterances_per_s: float


@dataclass
class Profile:
    """What took how long. Printing it gives one screen."""

    data: str
    loading: Loading
    pipeline: list[str]  # from the source to the batch
    stages: dict[str, float] = field(default_factory=dict)  # CPU-ms per batch
    step: StepTime | None = None
    no_step: str | None = None  # why there is none
    trace: dict[str, str] | None = None

    @property
    def shares(self) -> dict[str, float]:
        spent = sum(self.stages.values())
        return {name: ms / spent for name, ms in self.stages.items()} if spent else {}

    def to_dict(self) -> dict[str, Any]:
        loading = asdict(self.loading)
        loading |= {"class": self.loading.speed, "utterances_per_s": self.loading.utterances_per_s}
        return {**asdict(self), "loading": loading, "shares": self.shares}

    def __str__(self) -> str:
        return "\n".join([*_loading_lines(self), *_stage_lines(self), *_step_lines(self), *_trace_lines(self)])


def speed_of(batch_ms: float) -> str:
    """`good` below 100 ms a batch, `slow` above 500, else `moderate`."""
    return "good" if batch_ms < GOOD_MS else "moderate" if batch_ms <= SLOW_MS else "slow"


def profile(
    config: XTTSConfig,
    batches: int | None = None,
    trace: Path | None = None,
    progress: Progress = lambda what: None,
) -> Profile:
    """Measure the pipeline and the step that a config describes: 50 batches, or as many as 20 s allow, or `batches`."""
    progress("data")
    data, structure = pipeline_of(config)
    progress("loading")
    loading, seen, stages = _load(data, batches)
    progress("stages")
    kinds = [_named(stage.kind, stage.parallel_calls) for stage in reversed(structure.stages)]
    result = Profile(str(config.data.dataset_path), loading, kinds, stages or _mapped_stages(data))
    progress("step")
    run: Callable[[Any], Any] | None = None
    try:
        run = real_step(config)
        result.step = _step_time(run, typical(seen))
    except MyXTTSError as error:
        result.no_step = str(error)
    if trace is not None:
        progress("trace")
        result.trace = _trace(data, run, trace)
    return result


def _load(data: Any, wanted: int | None) -> tuple[Loading, list[Any], dict[str, float]]:
    """How long batches take, the first few of them, and the time in each stage where TensorFlow keeps count."""
    started = time.perf_counter()
    iterator = iter(data)
    seen = [next(iterator)]
    first = arrived = time.perf_counter()
    intervals: list[float] = []
    while _wants_more(len(intervals), arrived - first, wanted):
        batch = next(iterator)
        now = time.perf_counter()
        intervals.append((now - arrived) * 1e3)
        arrived = now
        if len(seen) < _KEPT_BATCHES:
            seen.append(batch)
    mean = float(np.mean(intervals))
    stages = stage_times(iterator, mean)
    _close(iterator)
    p50, p95 = np.percentile(intervals, (50, 95)).tolist()
    rows = rows_of(typical(seen))
    return Loading(len(intervals), rows, (first - started) * 1e3, mean, p50, p95), seen, stages


def _wants_more(batches: int, seconds: float, wanted: int | None) -> bool:
    if wanted is not None:
        return batches < wanted
    return batches < BATCHES and (seconds < LOADER_SECONDS or batches < _FEWEST_BATCHES)


def _close(iterator: Iterator[Any]) -> None:
    """A feed's reader has a thread, which ends with it."""
    if hasattr(iterator, "close"):
        iterator.close()


def _mapped_stages(data: Any) -> dict[str, float]:
    """Of a feed, which runs without TensorFlow's model of itself: that is switched on for a second pass."""
    feed = getattr(data, "feed", None)
    if feed is None:
        return {}
    options = feed.options()
    options.autotune.enabled = True  # every width in a feed is a number: there is nothing that it could change
    (before_options,) = feed.dataset()._inputs()  # options that differ from earlier ones are warned about
    iterator = iter(before_options.with_options(options))
    for _ in range(BATCHES):
        next(iterator)
    return stage_times(iterator, 0.0)


def _named(kind: str, parallel_calls: int | None) -> str:
    width = {None: "", -1: " (as many at once as TensorFlow chooses)"}
    return kind + width.get(parallel_calls, f" ({parallel_calls} at once)")


def _step_time(run: Callable[[Any], Any], batch: Any) -> StepTime:
    from myxtts.data.device import first_gpu

    alone = device_alone(run, batch)
    rate = rows_of(batch) / alone["device_ms"] * 1e3
    return StepTime(first_gpu() or "CPU", alone["device_ms"], alone["compile_ms"], alone["device_cores"], rate)


def _trace(data: Any, run: Callable[[Any], Any] | None, folder: Path) -> dict[str, str]:
    """Ten steps of loading and computing. Each shape was met before, or is compiled before the trace begins."""
    iterator = iter(data)
    batches = [next(iterator) for _ in range(2 if run is None else _TRACED_STEPS)]
    if run is not None:
        for batch in {shape_of(batch): batch for batch in batches}.values():
            run_step(run, batch)
    with traced(folder) as files:
        for number in range(_TRACED_STEPS):
            with part("data", number):
                batch = next(iterator)
            if run is not None:
                with part("compute", number):
                    run_step(run, batch)
    _close(iterator)
    return files


# ---- what the screen shows ------------------------------------------------------------------------------------------


def _loading_lines(result: Profile) -> list[str]:
    loading = result.loading
    return [
        "Data Loading Performance",
        f"  {result.data}, {loading.batches} batches of {loading.utterances_per_batch}",
        f"  per batch   mean {loading.mean_ms:.1f} ms, p50 {loading.p50_ms:.1f} ms, p95 {loading.p95_ms:.1f} ms"
        f"   ({loading.utterances_per_s:,.0f} utterances/s; the first came after {loading.first_batch_ms:.0f} ms)",
        f"  class       {loading.speed} (good: below {GOOD_MS:.0f} ms, slow: above {SLOW_MS:.0f} ms)",
    ]


def _stage_lines(result: Profile) -> list[str]:
    lines = ["", "Stages", f"  {' -> '.join(result.pipeline) or 'a Python iterable: its stages cannot be seen'}"]
    if not result.stages:
        return [*lines, "  TensorFlow keeps no count of the time in each"]
    lines.append(f"  {'stage':<28}{'ms a batch, on one core':>24}{'share':>8}")
    return lines + [f"  {name:<28}{ms:>24.3f}{result.shares[name]:>8.1%}" for name, ms in result.stages.items()]


def _step_lines(result: Profile) -> list[str]:
    if result.step is None:
        return ["", "Model step", f"  not measured: {result.no_step}"]
    step = result.step
    bound = "the loader" if result.loading.mean_ms > step.step_ms else "the step"
    return [
        "", "Model step",
        f"  {step.device}   {step.step_ms:.1f} ms a step on a batch already in memory, {step.utterances_per_s:,.0f} "
        f"utterances/s on {step.cores:.1f} cores; compiled in {step.compile_ms / 1e3:.1f} s",
        f"  {bound} takes longer: {result.loading.mean_ms:.1f} ms to load against {step.step_ms:.1f} ms to compute",
    ]  # fmt: skip


def _trace_lines(result: Profile) -> list[str]:
    if result.trace is None:
        return []
    folder = Path(result.trace["perfetto"]).parent
    return [
        "", "Trace",
        f"  {result.trace['perfetto']}: open https://ui.perfetto.dev and drop it there (it stays on your machine)",
        f"  {result.trace['tensorboard']}: pip install tensorboard xprof, then tensorboard --logdir {folder}",
    ]  # fmt: skip
