"""When a cause applies, the evidence for it, and the loop time that its cure would leave: one rule each.

A rule reads numbers and the structure of the graph, never a name. A cause that does not apply gives no cure; one whose
cure would bring nothing is left out by `diagnosis.judge`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from myxtts.doctor.causes import CAUSES
from myxtts.doctor.measurements import Measurements
from myxtts.doctor.structure import PYTHON_OPS, READ_OPS, SPECTRUM_OPS
from myxtts.monitor.statistics import oscillation
from myxtts.thresholds import CORES_BUSY, OSCILLATING

PACKED_US = 40.0  # CPU per utterance of the packed feed (benchmarks/feed.py: 30 us; the loop takes some too)
BUCKETED_SHARE = 0.93  # useful frames with 8 planned shapes
_SOME_FAULTS = 0.5  # major page faults per batch: an ordinary run has none after its first pass
_SOME_READING_MB = 0.02  # per batch: a loader that reads no file has less
_BUSY = 0.5  # of a core: below that a loader waits more than it works
_LATE_SHARE = 0.25  # of a loader's time in batches that come too late, for unevenness to be what costs


@dataclass(frozen=True)
class Cure:
    """What to do, and what the loop would then take per batch of the present size."""

    cause: str
    what: str
    predicted_ms: float
    evidence: tuple[str, ...] = ()


def _cure(cause: str, predicted_ms: float, *evidence: str, n: int | None = None) -> list[Cure]:
    """What a rule gives that applies; `n` is the number in the words of the cure."""
    return [Cure(cause, CAUSES[cause].cure.format(n=n), predicted_ms, evidence)]


def loop_after(
    measured: Measurements,
    device_ms: float | None = None,
    loader_ms: float | None = None,
    overlapped: bool | None = None,
    compiled: bool = False,
    loader_cpu_ms: float | None = None,
) -> float:
    """The loop with one part changed: the slower of two that overlap, or their sum; never less than the cores can do.

    What new shapes cost stays, unless they are `compiled` before the first step.
    """
    device = measured.device_ms if device_ms is None else device_ms
    loader = measured.loader_ms if loader_ms is None else loader_ms
    overlap = measured.overlap if overlapped is None else float(overlapped)
    apart = max(device, loader) + (1 - overlap) * min(device, loader)
    cpu = measured.loader_cores * loader if loader_cpu_ms is None else loader_cpu_ms
    anew = 0.0 if compiled or not compiles(measured) else max(measured.compute_ms - measured.device_ms, 0.0)
    return max(apart, (measured.device_cores * device + cpu) / measured.cores) + anew


def _packed(measured: Measurements) -> float:
    """The loop on a packed cache: the loader costs next to nothing and always runs ahead."""
    loader_ms = measured.batch * PACKED_US / 1e3
    return loop_after(measured, loader_ms=loader_ms, overlapped=True, loader_cpu_ms=loader_ms)


def compiles(measured: Measurements) -> bool:
    """Steps in the loop were traced, or took far longer when their shape was new, and there is no end of new shapes."""
    slow = measured.new_shapes > 0 and measured.new_shape_ms > 4 * measured.device_ms
    return measured.traces > 0 or (slow and not measured.few_shapes)


# ---- what can be wrong with the step --------------------------------------------------------------------------------


def _eager(measured: Measurements) -> list[Cure]:
    """The step is faster as one graph: it is run operation by operation, or traced again with every call."""
    if measured.resident_traces > 0.5:
        return _retraced(measured)
    if measured.graph_ms is None:
        return []
    return _cure("eager_step", loop_after(measured, device_ms=measured.graph_ms), _as_a_graph(measured))


def _retraced(measured: Measurements) -> list[Cure]:
    why = "the step is retraced even for a batch that it has met: Python values change from call to call"
    if measured.graph_ms is not None:
        return _cure("retracing", loop_after(measured, measured.graph_ms, compiled=True), why, _as_a_graph(measured))
    without = max(measured.device_ms - measured.trace_ms, 0.0)  # none that is compiled once can be made of it
    evidence = f"tracing takes {measured.trace_ms:.1f} ms of each step of {measured.device_ms:.1f} ms"
    return _cure("retracing", loop_after(measured, without, compiled=True), why, evidence)


def _as_a_graph(measured: Measurements) -> str:
    return f"the same step compiled once takes {measured.graph_ms:.1f} ms instead of {measured.device_ms:.1f} ms"


def _compiling(measured: Measurements) -> list[Cure]:
    """Steps that met a new shape, or were traced for another reason, and took far longer than the others."""
    if not compiles(measured) or measured.resident_traces > 0.5:
        return []
    share = max(measured.compute_ms - measured.device_ms, 0.0) / measured.loop_ms
    retraced = measured.traces > 0
    count = measured.traces if retraced else measured.new_shapes
    evidence = [f"{count} of {measured.loop_steps} steps were {'retraced' if retraced else 'recompiled'}, "
                f"which is {share:.0%} of the loop"]  # fmt: skip
    if measured.new_shapes:
        evidence.append(
            f"{measured.new_shapes} had a new shape and took {measured.new_shape_ms:.0f} ms "
            f"instead of {measured.device_ms:.1f}"
        )
    return _cure("retracing" if retraced else "recompilation", loop_after(measured, compiled=True), *evidence)


def _padding(measured: Measurements) -> list[Cure]:
    useful = measured.useful_share
    if useful is None or useful >= BUCKETED_SHARE - 0.08:
        return []
    evidence = [f"{useful:.0%} of the positions in a batch are real, planned buckets have {BUCKETED_SHARE:.0%}"]
    by_length = measured.device_ms  # the part of a step's time that grows with the length: all of it, unless measured
    if measured.short_ms is not None:
        by_length = min(max(2 * (measured.device_ms - measured.short_ms), 0.0), measured.device_ms)
        times = f"{measured.short_ms:.1f} of {measured.device_ms:.1f} ms"
        evidence.append(f"on batches of half the length a step takes {times}")
    saved = by_length * (1 - useful / BUCKETED_SHARE)
    return _cure("padding_waste", loop_after(measured, device_ms=measured.device_ms - saved), *evidence)


def _small_batch(measured: Measurements) -> list[Cure]:
    if measured.double_ms is None or measured.double_ms > 1.6 * measured.device_ms or compiles(measured):
        return []
    per_batch = loop_after(measured, device_ms=measured.double_ms, loader_ms=2 * measured.loader_ms) / 2
    evidence = f"a batch of twice the size takes {measured.double_ms:.1f} ms, this one {measured.device_ms:.1f} ms"
    return _cure("tiny_batch", per_batch, evidence, n=2 * measured.batch)


# ---- what can be wrong between loader and step ----------------------------------------------------------------------


def _ahead(measured: Measurements) -> list[Cure]:
    """Loader and step are not done at the same time, though both could: too little is made ahead, or nothing."""
    uneven = _uneven(measured)
    if uneven or measured.overlap > 0.5 or measured.structure.prefetches:
        return uneven
    return _cure(
        "no_prefetch",
        loop_after(measured, overlapped=True),
        f"loading and computing take turns: only {measured.overlap:.0%} of the shorter is hidden behind the other",
        f"a batch is waited for {measured.wait_ms:.1f} ms, the loader alone takes {measured.loader_ms:.1f} ms",
    )


def _uneven(measured: Measurements) -> list[Cure]:
    """A loader that is fast enough on average but comes in waves, or stops now and then."""
    spread = float(np.std(measured.intervals_ms) / np.mean(measured.intervals_ms)) if measured.intervals_ms else 0.0
    if spread < OSCILLATING or measured.loader_ms > measured.device_ms * 1.1:
        return []
    wave = oscillation(measured.intervals_ms)
    late = [ms for ms in measured.intervals_ms if ms > measured.device_ms * (1 if wave else 3)]  # than a step can hide
    if sum(late) < _LATE_SHARE * sum(measured.intervals_ms):
        return []
    depth = 2 * wave[0] if wave else int(np.ceil(2 * max(late) / measured.device_ms))
    how = f"in waves of {wave[0]}" if wave else f"with {len(late)} stops of up to {max(late):.0f} ms"
    evidence = f"batches come {how} (std/mean {spread:.1f}), though fast enough on average"
    return _cure("oscillation", loop_after(measured, overlapped=True), evidence, n=depth)


# ---- what can be wrong with the loader ------------------------------------------------------------------------------


def _loader(measured: Measurements) -> list[Cure]:
    """The one reason why the loader is slow, found by exclusion; the first that fits."""
    for rule in (_memory, _disk, _python, _spectrum, _workers, _files):
        if cures := rule(measured):
            return cures
    return [] if _ahead(measured) else _host(measured)


def _memory(measured: Measurements) -> list[Cure]:
    """Mapped pages come from the disk again although they have been read before."""
    mapped = measured.loop_disk_mb_per_batch - measured.read_mb_per_batch
    if measured.major_faults_per_batch < _SOME_FAULTS or mapped < _SOME_READING_MB:
        return []
    return _cure(
        "memory_pressure",
        _packed(measured),
        f"{measured.loop_disk_mb_per_batch:.1f} MB a batch are fetched from the disk again, by page faults",
        f"{measured.memory_available_share:.0%} of the memory is free",
    )


def _disk(measured: Measurements) -> list[Cure]:
    """It reads files and mostly waits."""
    if measured.loader_cores >= _BUSY or measured.read_mb_per_batch + measured.disk_mb_per_batch < _SOME_READING_MB:
        return []
    rate = measured.disk_mb_per_batch / measured.loader_ms * 1e3
    return _cure(
        "slow_disk",
        _packed(measured),
        f"the loader works {measured.loader_cores:.0%} of a core and waits the rest of the time",
        f"{measured.read_calls_per_batch:.0f} reads a batch, {rate:.0f} MB/s from the disk",
    )


def _python(measured: Measurements) -> list[Cure]:
    if not measured.structure.is_dataset:
        workers = measured.structure.worker_processes
        where = f"in {workers} worker processes" if workers else "in the loop's own process"
        evidence = f"batches are made by Python {where}, {measured.loader_cores:.1f} cores busy"
        return _cure("python_loader", _packed(measured), evidence)
    functions, calls = measured.structure.count(PYTHON_OPS), measured.python_calls_per_batch
    if not functions or calls == 0:  # a fallback in a branch that is not taken costs nothing
        return []
    called = "" if calls is None else f", called {calls:.0f} times a batch"
    evidence = f"{functions} Python function(s) in the dataset's graph{called}, which hold the GIL"
    return _cure("python_function", _packed(measured), evidence)


def _spectrum(measured: Measurements) -> list[Cure]:
    """Spectra are made on the host, and that is most of what the host does."""
    if not measured.structure.count(SPECTRUM_OPS) or not _full(measured):
        return []
    evidence = f"the dataset computes spectra on the host, {measured.loader_cores:.1f} of {measured.cores} cores busy"
    return _cure("host_features", _packed(measured), evidence)


def _workers(measured: Measurements) -> list[Cure]:
    idle, narrow = measured.cores - measured.loader_cores, measured.structure.narrow(measured.cores)
    if idle < 0.5 or measured.loader_cores < _BUSY or not narrow:
        return []
    work = measured.loader_cores * measured.loader_ms
    evidence = f"{len(narrow)} stage(s) take at most {min(narrow)} element(s) at once, {idle:.1f} cores are idle"
    predicted = loop_after(measured, loader_ms=work / measured.cores, loader_cpu_ms=work)
    return _cure("too_few_workers", predicted, evidence, n=2 * measured.cores)


def _files(measured: Measurements) -> list[Cure]:
    if not measured.structure.count(READ_OPS):
        return []
    evidence = f"the dataset opens files ({measured.read_calls_per_batch:.0f} reads a batch)"
    return _cure("per_file_reads", _packed(measured), evidence)


def _host(measured: Measurements) -> list[Cure]:
    """Nothing else is wrong with it: it is a lot of work, done on all cores, or one that waits for something."""
    if measured.loader_ms < 0.25 * measured.device_ms:
        return []
    cores = f"{measured.loader_cores:.1f} of {measured.cores} cores"
    evidence = [f"{cores} are busy making batches, {measured.idle_cores:.1f} idle"]
    if measured.stages:
        slowest = max(measured.stages, key=lambda name: measured.stages[name])
        evidence.append(f"most of it in {slowest}: {measured.stages[slowest]:.1f} ms of CPU a batch")
    return _cure("host_cores" if _full(measured) else "slow_loader", _packed(measured), *evidence)


def _full(measured: Measurements) -> bool:
    """No core is left, be it that the loader has them or somebody else."""
    busy = CORES_BUSY * measured.cores
    return measured.loader_cores >= busy or measured.idle_cores <= measured.cores - busy


RULES = (_eager, _compiling, _padding, _small_batch, _ahead, _loader)
