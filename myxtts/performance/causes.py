"""Every possible cause of an idle device: when it applies, how that shows, and the loop time that its cure would leave.

A rule reads numbers and the structure of the graph, never a name. A cause that does not apply gives no cure; one whose
cure would bring nothing is left out by `diagnose.judge`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from myxtts.monitor import oscillation
from myxtts.performance.measurements import Measurements
from myxtts.performance.structure import PYTHON_OPS, READ_OPS, SPECTRUM_OPS

PACKED_US = 40.0  # CPU per utterance of the packed feed (benchmarks/feed.py: 30 us; the loop takes some too)
BUCKETED_SHARE = 0.93  # useful frames with 8 planned shapes
_SOME_FAULTS = 0.5  # major page faults per batch: an ordinary run has none after its first pass
_SOME_READING_MB = 0.02  # per batch: a loader that reads no file has less
_BUSY = 0.5  # of a core: below that a loader waits more than it works
_UNEVEN = 0.5  # std/mean of the time between batches
_LATE_SHARE = 0.25  # of a loader's time in batches that come too late, for unevenness to be what costs
_PACK = "pack the corpus once (myxtts pack) and feed it without Python"


@dataclass(frozen=True)
class Cure:
    """What to do, and what the loop would then take per batch of the present size."""

    cause: str
    what: str
    predicted_ms: float
    evidence: tuple[str, ...] = ()


def loop_after(
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
    anew = 0.0 if compiled or not compiles(found) else max(found.compute_ms - found.device_ms, 0.0)
    return max(apart, (found.device_cores * device + cpu) / found.cores) + anew


def _packed(found: Measurements) -> float:
    """The loop on a packed cache: the loader costs next to nothing and always runs ahead."""
    loader_ms = found.batch * PACKED_US / 1e3
    return loop_after(found, loader_ms=loader_ms, overlapped=True, loader_cpu_ms=loader_ms)


def compiles(found: Measurements) -> bool:
    """Steps in the loop were traced, or took far longer when their shape was new, and there is no end of new shapes."""
    slow = found.new_shapes > 0 and found.new_shape_ms > 4 * found.device_ms
    return found.traces > 0 or (slow and not found.few_shapes)


# ---- what can be wrong with the step --------------------------------------------------------------------------------


def _eager(found: Measurements) -> list[Cure]:
    """The step is faster as one graph: it is run operation by operation, or traced again with every call."""
    if found.graph_ms is None:
        return []
    evidence = f"the same step compiled once takes {found.graph_ms:.1f} ms instead of {found.device_ms:.1f} ms"
    if found.resident_traces > 0.5:
        predicted = loop_after(found, device_ms=found.graph_ms, compiled=True)
        why = "the step is traced anew even for a batch that it has met: Python values change from call to call"
        what = "pass numbers that change as tensors, and make the compiled function once"
        return [Cure("retracing", what, predicted, (why, evidence))]
    what = "compile the step with tf.function (training.enable_graph_mode)"
    return [Cure("eager_step", what, loop_after(found, device_ms=found.graph_ms), (evidence,))]


def _compiling(found: Measurements) -> list[Cure]:
    """Steps that met a new shape, or were traced for another reason, and took far longer than the others."""
    if not compiles(found) or found.resident_traces > 0.5:
        return []
    share = max(found.compute_ms - found.device_ms, 0.0) / found.loop_ms
    retraced = found.traces > 0
    count = found.traces if retraced else found.new_shapes
    evidence = [f"{count} of {found.loop_steps} steps were {'traced' if retraced else 'compiled'} anew, "
                f"which is {share:.0%} of the loop"]  # fmt: skip
    if found.new_shapes:
        evidence.append(
            f"{found.new_shapes} had a new shape and took {found.new_shape_ms:.0f} ms instead of {found.device_ms:.1f}"
        )
    what = "give batches a few static shapes (planned buckets: data.num_buckets) and compile them before the first step"
    if not found.new_shapes:
        what = "pass numbers that change as tensors, so that the step is traced once"
    cause = "retracing" if retraced else "recompilation"
    return [Cure(cause, what, loop_after(found, compiled=True), tuple(evidence))]


def _padding(found: Measurements) -> list[Cure]:
    useful = found.useful_share
    if useful is None or useful >= BUCKETED_SHARE - 0.08:
        return []
    evidence = [f"{useful:.0%} of the positions in a batch are real, planned buckets have {BUCKETED_SHARE:.0%}"]
    by_length = found.device_ms  # the part of a step's time that grows with the length: all of it, unless measured
    if found.short_ms is not None:
        by_length = min(max(2 * (found.device_ms - found.short_ms), 0.0), found.device_ms)
        evidence.append(f"on batches of half the length a step takes {found.short_ms:.1f} of {found.device_ms:.1f} ms")
    saved = by_length * (1 - useful / BUCKETED_SHARE)
    predicted = loop_after(found, device_ms=found.device_ms - saved)
    what = "batch utterances of similar length (planned buckets: data.num_buckets)"
    return [Cure("padding_waste", what, predicted, tuple(evidence))]


def _small_batch(found: Measurements) -> list[Cure]:
    if found.double_ms is None or found.double_ms > 1.6 * found.device_ms or compiles(found):
        return []
    per_batch = loop_after(found, device_ms=found.double_ms, loader_ms=2 * found.loader_ms) / 2
    evidence = f"a batch of twice the size takes {found.double_ms:.1f} ms, this one {found.device_ms:.1f} ms"
    return [Cure("tiny_batch", f"a batch of {2 * found.batch} (data.batch_size)", per_batch, (evidence,))]


# ---- what can be wrong between loader and step ----------------------------------------------------------------------


def _ahead(found: Measurements) -> list[Cure]:
    """Loader and step are not done at the same time, though both could: too little is made ahead, or nothing."""
    uneven = _uneven(found)
    if uneven or found.overlap > 0.5 or found.structure.prefetches:
        return uneven
    evidence = (
        f"loading and computing take turns: only {found.overlap:.0%} of the shorter is hidden behind the other",
        f"a batch is waited for {found.wait_ms:.1f} ms, the loader alone takes {found.loader_ms:.1f} ms",
    )
    what = "prefetch batches while the step runs (data.prefetch_buffer_size)"
    return [Cure("no_prefetch", what, loop_after(found, overlapped=True), evidence)]


def _uneven(found: Measurements) -> list[Cure]:
    """A loader that is fast enough on average but comes in waves, or stops now and then."""
    spread = float(np.std(found.intervals_ms) / np.mean(found.intervals_ms)) if found.intervals_ms else 0.0
    if spread < _UNEVEN or found.loader_ms > found.device_ms * 1.1:
        return []
    wave = oscillation(found.intervals_ms)
    late = [ms for ms in found.intervals_ms if ms > found.device_ms * (1 if wave else 3)]  # than a step can hide
    if sum(late) < _LATE_SHARE * sum(found.intervals_ms):
        return []
    depth = 2 * wave[0] if wave else int(np.ceil(2 * max(late) / found.device_ms))
    how = f"in waves of {wave[0]}" if wave else f"with {len(late)} stops of up to {max(late):.0f} ms"
    evidence = f"batches come {how} (std/mean {spread:.1f}), though fast enough on average"
    what = f"make more batches ahead (data.prefetch_buffer_size={depth})"
    return [Cure("oscillation", what, loop_after(found, overlapped=True), (evidence,))]


# ---- what can be wrong with the loader ------------------------------------------------------------------------------


def _loader(found: Measurements) -> list[Cure]:
    """The one reason why the loader is slow, found by exclusion; the first that fits."""
    for rule in (_memory, _disk, _python, _spectrum, _workers, _files):
        if cures := rule(found):
            return cures
    return [] if _ahead(found) else _host(found)


def _memory(found: Measurements) -> list[Cure]:
    """Mapped pages come from the disk again although they have been read before."""
    mapped = found.loop_disk_mb_per_batch - found.read_mb_per_batch
    if found.major_faults_per_batch < _SOME_FAULTS or mapped < _SOME_READING_MB:
        return []
    evidence = (
        f"{found.loop_disk_mb_per_batch:.1f} MB a batch are fetched from the disk again, by page faults",
        f"{found.memory_available_share:.0%} of the memory is free",
    )
    what = "free memory, or use a smaller cache (--mode audio), so that it stays in memory"
    return [Cure("memory_pressure", what, _packed(found), evidence)]


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


def _python(found: Measurements) -> list[Cure]:
    if not found.structure.is_dataset:
        workers = found.structure.worker_processes
        where = f"in {workers} worker processes" if workers else "in the loop's own process"
        evidence = f"batches are made by Python {where}, {found.loader_cores:.1f} cores busy"
        return [Cure("python_loader", _PACK, _packed(found), (evidence,))]
    functions, calls = found.structure.count(PYTHON_OPS), found.python_calls_per_batch
    if not functions or calls == 0:  # a fallback in a branch that is not taken costs nothing
        return []
    called = "" if calls is None else f", called {calls:.0f} times a batch"
    evidence = f"{functions} Python function(s) in the dataset's graph{called}, which hold the GIL"
    return [Cure("python_function", _PACK, _packed(found), (evidence,))]


def _spectrum(found: Measurements) -> list[Cure]:
    """Spectra are made on the host, and that is most of what the host does."""
    if not found.structure.count(SPECTRUM_OPS) or not _full(found):
        return []
    evidence = f"the dataset computes spectra on the host, {found.loader_cores:.1f} of {found.cores} cores busy"
    what = "pack mel frames (preprocessing_mode: precompute), or make them on the device (on_the_fly)"
    return [Cure("host_features", what, _packed(found), (evidence,))]


def _workers(found: Measurements) -> list[Cure]:
    idle, narrow = found.cores - found.loader_cores, found.structure.narrow(found.cores)
    if idle < 0.5 or found.loader_cores < _BUSY or not narrow:
        return []
    work = found.loader_cores * found.loader_ms
    evidence = f"{len(narrow)} stage(s) take at most {min(narrow)} element(s) at once, {idle:.1f} cores are idle"
    predicted = loop_after(found, loader_ms=work / found.cores, loader_cpu_ms=work)
    what = f"let map and interleave run in parallel (data.num_workers={2 * found.cores})"
    return [Cure("too_few_workers", what, predicted, (evidence,))]


def _files(found: Measurements) -> list[Cure]:
    if not found.structure.count(READ_OPS):
        return []
    evidence = f"the dataset opens files ({found.read_calls_per_batch:.0f} reads a batch)"
    return [Cure("per_file_reads", "pack the corpus into one mapped file (myxtts pack)", _packed(found), (evidence,))]


def _host(found: Measurements) -> list[Cure]:
    """Nothing else is wrong with it: it is a lot of work, done on all cores, or one that waits for something."""
    if found.loader_ms < 0.25 * found.device_ms:
        return []
    evidence = [f"{found.loader_cores:.1f} of {found.cores} cores are busy making batches, {found.idle_cores:.1f} idle"]
    if found.stages:
        slowest = max(found.stages, key=lambda name: found.stages[name])
        evidence.append(f"most of it in {slowest}: {found.stages[slowest]:.1f} ms of CPU a batch")
    what = "do this work once, before training (myxtts pack), or on the device"
    return [Cure("host_cores" if _full(found) else "slow_loader", what, _packed(found), tuple(evidence))]


def _full(found: Measurements) -> bool:
    """No core is left, be it that the loader has them or somebody else."""
    return found.loader_cores >= 0.75 * found.cores or found.idle_cores <= 0.25 * found.cores


RULES = (_eager, _compiling, _padding, _small_batch, _ahead, _loader)
ON_THE_STEP = ("eager_step", "retracing", "recompilation", "padding_waste", "tiny_batch")
