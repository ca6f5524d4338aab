"""From measurements to a verdict: what limits the loop, how we know, what each cure would bring. Pure, and no guesses:
every rule reads a number or the structure of the graph, never a name.

    print(diagnose(dataset, step))      # any tf.data.Dataset, Python iterable or PyTorch DataLoader; any step function

Every possible cause names the loop time that its cure would leave. The verdict is the cause whose cure brings most.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from myxtts.monitor import oscillation
from myxtts.performance.observe import Measurements, Progress, observe
from myxtts.performance.structure import PYTHON_OPS, READ_OPS, SPECTRUM_OPS, Structure

WORTH_IT = 1.10  # a predicted gain below ten per cent is within the noise of a shared machine
PACKED_US = 40.0  # CPU per utterance of the packed feed (benchmarks/feed.py: 30 us; the loop takes some too)
BUCKETED_SHARE = 0.93  # useful frames with 8 planned shapes
_SOME_FAULTS = 0.5  # major page faults per batch: an ordinary run has none after its first pass
_SOME_READING_MB = 0.02  # per batch: a loader that reads no file has less
_BUSY = 0.5  # of a core: below that a loader waits more than it works


@dataclass(frozen=True)
class Cure:
    """What to do, and what the loop would then take per batch of the present size."""

    cause: str
    what: str
    predicted_ms: float
    evidence: tuple[str, ...] = ()


@dataclass
class Diagnosis:
    """The verdict and everything it rests on. Printing it gives one screen."""

    verdict: str
    limiting: str
    evidence: list[str]
    cures: list[Cure]
    shares: dict[str, float]
    utterances_per_second: float
    utilisation: float
    measured: Measurements = field(repr=False)

    @property
    def healthy(self) -> bool:
        return self.verdict == "healthy"

    def predicted(self, cure: Cure) -> dict[str, float]:
        return {
            "utterances_per_second": self.measured.batch / cure.predicted_ms * 1e3,
            "gain": self.measured.loop_ms / cure.predicted_ms,
            "utilisation": min(self.measured.device_ms / cure.predicted_ms, 1.0),
        }

    def to_dict(self) -> dict[str, Any]:
        cures = [asdict(cure) | self.predicted(cure) for cure in self.cures]
        return {
            "verdict": self.verdict,
            "limiting": self.limiting,
            "healthy": self.healthy,
            "evidence": self.evidence,
            "cures": cures,
            "shares": self.shares,
            "utterances_per_second": self.utterances_per_second,
            "utilisation": self.utilisation,
            "measured": self.measured.to_dict(),
        }

    def __str__(self) -> str:
        found = self.measured
        lines = [
            f"verdict: {self.verdict.replace('_', ' ')} ({self.limiting})",
            f"  now      {self.utterances_per_second:,.0f} utterances/s, device used {self.utilisation:.0%}, "
            f"{found.loop_ms:.1f} ms a step = {found.wait_ms:.1f} waiting + {found.compute_ms:.1f} computing",
            f"  alone    device {found.device_ms:.1f} ms, loader {found.loader_ms:.1f} ms on {found.loader_cores:.1f} "
            f"of {found.cores} cores",
            "  shares   " + ", ".join(f"{name} {share:.0%}" for name, share in self.shares.items() if share >= 0.005),
            *(f"  because  {line}" for line in self.evidence),
        ]
        for number, cure in enumerate(self.cures, 1):
            then = self.predicted(cure)
            lines.append(
                f"  cure {number}   {cure.what}: {then['utterances_per_second']:,.0f} utterances/s "
                f"({then['gain']:.1f}x), device used {then['utilisation']:.0%}"
            )
        return "\n".join(lines)


def diagnose(
    data: Iterable[Any],
    step: Callable[[Any], Any],
    progress: Progress = lambda what: None,
    structure: Structure | None = None,
) -> Diagnosis:
    """Measure for about 15 seconds, then judge. The step is really called: give it a model that may be trained."""
    return judge(observe(data, step, progress, structure))


def judge(found: Measurements) -> Diagnosis:
    """The pure part: measurements in, verdict out."""
    # Rules say what is left of a loop that the same arithmetic gives for now: what it does not know stays in proportion
    unknown = found.loop_ms / _after(found)
    cures = [replace(cure, predicted_ms=cure.predicted_ms * unknown) for rule in _RULES for cure in rule(found)]
    cures = sorted((c for c in cures if found.loop_ms / c.predicted_ms >= WORTH_IT), key=lambda c: c.predicted_ms)
    worst = cures[0] if cures else None
    evidence = list(worst.evidence) if worst else _health(found)
    return Diagnosis(
        verdict=worst.cause if worst else "healthy",
        limiting=_limiting(found, worst),
        evidence=evidence,
        cures=cures,
        shares=shares_of(found),
        utterances_per_second=found.batch / found.loop_ms * 1e3,
        utilisation=min(found.device_ms / found.loop_ms, 1.0),
        measured=found,
    )


def _after(
    found: Measurements,
    device_ms: float | None = None,
    loader_ms: float | None = None,
    overlapped: bool | None = None,
    compiled: bool = False,
    loader_cpu_ms: float | None = None,
) -> float:
    """The loop with one part changed: the slower of two that overlap, or their sum; never less than the cores can do.

    What new shapes cost stays, unless they are `compiled` before the first step.
    """
    device = found.device_ms if device_ms is None else device_ms
    loader = found.loader_ms if loader_ms is None else loader_ms
    overlap = found.overlap if overlapped is None else float(overlapped)
    apart = max(device, loader) + (1 - overlap) * min(device, loader)
    cpu = found.loader_cores * loader if loader_cpu_ms is None else loader_cpu_ms
    anew = 0.0 if compiled or not _compiles(found) else max(found.compute_ms - found.device_ms, 0.0)
    return max(apart, (found.device_cores * device + cpu) / found.cores) + anew


def _compiles(found: Measurements) -> bool:
    """Steps in the loop were traced, or took far longer when their shape was new."""
    return found.traces > 0 or (found.new_shapes > 0 and found.new_shape_ms > 4 * found.device_ms)


# ---- what can be wrong with the step --------------------------------------------------------------------------------


def _eager(found: Measurements) -> list[Cure]:
    if found.graph_ms is None:
        return []
    evidence = f"the same step compiled takes {found.graph_ms:.1f} ms instead of {found.device_ms:.1f} ms"
    what = "compile the step with tf.function (training.enable_graph_mode)"
    return [Cure("eager_step", what, _after(found, device_ms=found.graph_ms), (evidence,))]


def _compiling(found: Measurements) -> list[Cure]:
    """Steps that met a new shape, or were traced for another reason, and took far longer than the others."""
    if not _compiles(found):
        return []
    share = max(found.compute_ms - found.device_ms, 0.0) / found.loop_ms
    retraced = found.traces > 0
    count = found.traces if retraced else found.new_shapes
    evidence = (
        f"{count} of {found.loop_steps} steps were {'traced' if retraced else 'compiled'} anew",
        f"{found.new_shapes} had a new shape and took {found.new_shape_ms:.0f} ms instead of {found.device_ms:.1f} ms",
        f"that is {share:.0%} of the loop",
    )
    what = "give batches a few static shapes (planned buckets: data.num_buckets) and compile them before the first step"
    return [Cure("retracing" if retraced else "recompilation", what, _after(found, compiled=True), evidence)]


def _padding(found: Measurements) -> list[Cure]:
    useful = found.useful_share
    if useful is None or useful >= BUCKETED_SHARE - 0.08:
        return []
    shrink = useful / BUCKETED_SHARE
    evidence = f"{useful:.0%} of the positions in a batch are real, planned buckets have {BUCKETED_SHARE:.0%}"
    predicted = _after(found, device_ms=found.device_ms * shrink)
    return [Cure("padding_waste", "batch utterances of similar length (planned buckets)", predicted, (evidence,))]


def _small_batch(found: Measurements) -> list[Cure]:
    if found.double_ms is None or found.double_ms > 1.6 * found.device_ms:
        return []
    per_batch = _after(found, device_ms=found.double_ms, loader_ms=2 * found.loader_ms) / 2
    evidence = f"a batch of twice the size takes {found.double_ms:.1f} ms, this one {found.device_ms:.1f} ms"
    return [Cure("tiny_batch", f"a batch of {2 * found.batch} (data.batch_size)", per_batch, (evidence,))]


# ---- what can be wrong with the loader ------------------------------------------------------------------------------


def _no_prefetch(found: Measurements) -> list[Cure]:
    if found.overlap > 0.5 or found.structure.prefetches:
        return []
    evidence = (
        f"loading and computing take turns: only {found.overlap:.0%} of the shorter is hidden behind the other",
        f"a batch is waited for {found.wait_ms:.1f} ms, the loader alone takes {found.loader_ms:.1f} ms",
    )
    what = "prefetch batches while the step runs (data.prefetch_buffer_size)"
    return [Cure("no_prefetch", what, _after(found, overlapped=True), evidence)]


def _uneven(found: Measurements) -> list[Cure]:
    """A loader that is fast enough on average but comes in waves."""
    wave = oscillation(found.intervals_ms)
    spread = float(np.std(found.intervals_ms) / np.mean(found.intervals_ms)) if found.intervals_ms else 0.0
    if wave is None or spread < 0.5 or found.loader_ms > found.device_ms * 1.1:
        return []
    evidence = f"batches come in waves of {wave[0]} (std/mean {spread:.1f}), though fast enough on average"
    what = f"make more batches ahead (data.prefetch_buffer_size={2 * wave[0]})"
    return [Cure("oscillation", what, _after(found, overlapped=True), (evidence,))]


def _loader(found: Measurements) -> list[Cure]:
    """The one reason why the loader is slow, found by exclusion; the first that fits."""
    for rule in (_memory, _disk, _python, _spectrum, _workers, _files):
        cures = rule(found)
        if cures:
            return cures
    return []


def _packed(found: Measurements) -> float:
    """The loop on a packed cache: the loader costs next to nothing and always runs ahead."""
    loader_ms = found.batch * PACKED_US / 1e3
    return _after(found, loader_ms=loader_ms, overlapped=True, loader_cpu_ms=loader_ms)


def _memory(found: Measurements) -> list[Cure]:
    """Mapped pages come from the disk again although they have been read before."""
    mapped = found.loop_disk_mb_per_batch - found.read_mb_per_batch
    if found.major_faults_per_batch < _SOME_FAULTS or mapped < _SOME_READING_MB:
        return []
    evidence = (
        f"{found.loop_disk_mb_per_batch:.1f} MB a batch are fetched from the disk again, by page faults",
        f"{found.memory_available_share:.0%} of the memory is free",
    )
    predicted = _packed(found)
    return [Cure("memory_pressure", "free memory, or use a smaller cache (--mode audio), so that it stays in memory",
                 predicted, evidence)]  # fmt: skip


def _python(found: Measurements) -> list[Cure]:
    functions = found.structure.count(PYTHON_OPS)
    if found.structure.is_dataset and not functions:
        return []
    if found.structure.is_dataset:
        evidence = f"{functions} Python function(s) in the dataset's graph, which hold the GIL"
        return [Cure("python_function", "pack the corpus once (myxtts pack) and feed it without Python",
                     _packed(found), (evidence,))]  # fmt: skip
    workers = found.structure.worker_processes
    where = f"in {workers} worker processes" if workers else "in the loop's own thread"
    evidence = f"batches are made by Python {where}, {found.loader_cores:.1f} cores busy"
    return [Cure("python_loader", "pack the corpus once (myxtts pack) and feed it without Python", _packed(found),
                 (evidence,))]  # fmt: skip


def _disk(found: Measurements) -> list[Cure]:
    """It reads files and mostly waits."""
    if found.loader_cores >= _BUSY or found.read_mb_per_batch + found.disk_mb_per_batch < _SOME_READING_MB:
        return []
    rate = found.disk_mb_per_batch / found.loader_ms * 1e3
    evidence = (
        f"the loader works {found.loader_cores:.0%} of a core and waits the rest of the time",
        f"{found.read_calls_per_batch:.0f} reads a batch, {rate:.0f} MB/s from the disk",
    )
    what = "pack the corpus into one file on a fast disk (myxtts pack -o) and map it"
    return [Cure("slow_disk", what, _packed(found), evidence)]


def _spectrum(found: Measurements) -> list[Cure]:
    """Spectra are made on the host, and that is most of what the host does."""
    if not found.structure.count(SPECTRUM_OPS) or found.loader_cores < 0.75 * found.cores:
        return []
    evidence = f"the dataset computes spectra on the host, {found.loader_cores:.1f} of {found.cores} cores busy"
    return [Cure("host_features", "pack mel frames (preprocessing_mode: precompute), or make them on the device "
                 "(on_the_fly)", _packed(found), (evidence,))]  # fmt: skip


def _workers(found: Measurements) -> list[Cure]:
    idle = found.cores - found.loader_cores
    if idle < 0.5 or found.loader_cores < _BUSY or not found.structure.serial_maps:
        return []
    work = found.loader_cores * found.loader_ms
    evidence = f"{found.structure.serial_maps} stage(s) take one element after the other, {idle:.1f} cores are idle"
    predicted = _after(found, loader_ms=work / found.cores, loader_cpu_ms=work)
    return [Cure("too_few_workers", f"let map and interleave run in parallel (data.num_workers={2 * found.cores})",
                 predicted, (evidence,))]  # fmt: skip


def _files(found: Measurements) -> list[Cure]:
    if not found.structure.count(READ_OPS):
        return []
    evidence = f"the dataset opens files ({found.read_calls_per_batch:.0f} reads a batch)"
    return [Cure("per_file_reads", "pack the corpus into one mapped file (myxtts pack)", _packed(found), (evidence,))]


_RULES = (_eager, _compiling, _padding, _small_batch, _no_prefetch, _uneven, _loader)


# ---- what the screen shows ------------------------------------------------------------------------------------------


def _limiting(found: Measurements, worst: Cure | None) -> str:
    if worst is None:
        return "the device" if found.device_ms >= found.loader_ms else "the loader, by less than a cure would bring"
    on_step = worst.cause in ("eager_step", "retracing", "recompilation", "padding_waste", "tiny_batch")
    return "the step" if on_step else "the loader"


def _health(found: Measurements) -> list[str]:
    share = found.device_ms / found.loop_ms
    return [f"the device works {share:.0%} of the time, and no cure would bring {WORTH_IT - 1:.0%}"]


def shares_of(found: Measurements) -> dict[str, float]:
    """Where a step's time goes, summing to 1: useful computing, padding, compiling, waiting for each loader stage."""
    useful = found.useful_share if found.useful_share is not None else 1.0
    steady = min(found.device_ms, found.compute_ms)
    shares = {"computing": steady * useful, "padding": steady * (1 - useful), "compiling": found.compute_ms - steady}
    spent = sum(found.stages.values())
    stages = {f"waiting for {name}": ms / spent for name, ms in found.stages.items()} if spent else {"waiting": 1.0}
    shares |= {name: found.wait_ms * share for name, share in stages.items()}
    total = sum(shares.values())
    return {name: round(value / total, 4) for name, value in sorted(shares.items(), key=lambda item: -item[1])}
