"""Measures a pipeline and a step as data-stall analysis does: the step on a batch that is there, the loader alone, and
both together. What comes out is plain numbers; `diagnose.py` says what they mean.
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myxtts.errors import DiagnosisError
from myxtts.performance.structure import Structure, structure_of

LOADER_SECONDS, LOOP_SECONDS, DEVICE_SECONDS = 5.0, 6.0, 1.5
_MOST_BATCHES = 400
_FEWEST_BATCHES = 4
_WARM_UP_SECONDS, _WARM_UP_BATCHES = 1.5, 24  # until prefetched batches are used up and every worker is at work
_KEPT_INTERVALS = 400

Step = Callable[[Any], Any]
Progress = Callable[[str], None]


@dataclass
class Measurements:
    """Everything the doctor judges by. Times are milliseconds per batch."""

    batch: int  # utterances
    cores: int
    device_ms: float  # the step on a resident batch of a shape it knows
    device_cores: float  # CPU seconds per second meanwhile: 0 where another device computes
    loader_ms: float  # batches taken as fast as they come
    loader_cores: float  # CPU seconds per second meanwhile, worker processes included
    loop_ms: float  # the real thing
    wait_ms: float
    compute_ms: float
    intervals_ms: list[float] = field(default_factory=list)  # of the loader alone, in order
    first_batch_ms: float = 0.0
    traces: int = 0  # of the compiled step, in the loop
    new_shapes: int = 0  # batches in the loop whose shape the step had not seen
    new_shape_ms: float = 0.0  # mean time of those
    loop_steps: int = 0
    graph_ms: float | None = None  # the resident step compiled, where it runs eagerly and can be compiled
    double_ms: float | None = None  # the step on two resident batches in one
    useful_share: float | None = None  # of the largest padded tensor
    major_faults_per_batch: float = 0.0
    disk_mb_per_batch: float = 0.0  # that came from the disk, not from memory, in the loader alone
    loop_disk_mb_per_batch: float = 0.0  # and later in the loop, when all of it has been read before
    read_mb_per_batch: float = 0.0  # by reading, from the disk or from memory
    read_calls_per_batch: float = 0.0
    memory_available_share: float = 1.0
    stages: dict[str, float] = field(default_factory=dict)  # CPU-ms per batch inside the dataset
    structure: Structure = field(default_factory=Structure)

    @property
    def overlap(self) -> float:
        """How much of the shorter of loading and computing is hidden behind the other: 0 none, 1 all."""
        shorter = min(self.loader_ms, self.compute_ms)
        hidden = self.loader_ms + self.compute_ms - self.loop_ms
        return min(max(hidden / shorter, 0.0), 1.0) if shorter > 0 else 1.0

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Measurements:
        return cls(**{**values, "structure": Structure.from_dict(values["structure"])})


def observe(
    data: Iterable[Any],
    step: Step,
    progress: Progress = lambda what: None,
    structure: Structure | None = None,
) -> Measurements:
    """About 15 seconds of measuring. `data` is a dataset or any iterable of batches; `step` takes one batch.

    `structure` is that of the dataset behind an iterable, where somebody knows it.
    """
    source = _Source(data)
    progress("loader")
    alone = _loader_alone(source)
    progress("device")
    resident = alone.pop("resident")
    before, started = _usage(), time.perf_counter()
    device_ms = _resident_ms(step, resident)
    device_cores = float((_usage() - before)[0] / (time.perf_counter() - started))
    progress("loop")
    together = _loop(source, step)
    progress("step")
    found = Measurements(
        batch=_rows(resident),
        cores=usable_cores(),
        device_ms=device_ms,
        device_cores=device_cores,
        **alone,
        **together,
        structure=structure or structure_of(data),
    )
    compiled = hasattr(step, "experimental_get_tracing_count")
    if not compiled:
        found.graph_ms = _graph_ms(step, resident)
    # Of an emulated accelerator twice the batch costs nothing, which says nothing.
    if (compiled or found.graph_ms) and found.loader_ms < device_ms < 500:
        found.double_ms = _double_ms(step, resident)
    found.useful_share = useful_share(source.seen)
    found.memory_available_share = _memory_available_share()
    return found


class _Source:
    """Batches without end, from whatever was given; begun anew when it ends."""

    def __init__(self, data: Iterable[Any]):
        self._data = data
        self._once = data if isinstance(data, Iterator) else None
        self.seen: list[Any] = []  # the first few batches, for what can be read from them
        self.iterator: Any = None

    def batches(self) -> Iterator[Any]:
        taken = 0
        while True:
            self.iterator = self._once or iter(self._data)
            before = taken
            for batch in self._errors_named(self.iterator):
                taken += 1
                if len(self.seen) < 8:
                    self.seen.append(batch)
                yield batch
            if taken == before or self._once is not None:
                raise DiagnosisError(
                    f"the data ended after {taken} batches, expected at least {_FEWEST_BATCHES} each time it is "
                    "iterated: give a dataset that repeats, or something that can be iterated again"
                )

    def _errors_named(self, iterator: Iterator[Any]) -> Iterator[Any]:
        try:
            yield from iterator
        except (MemoryError, DiagnosisError):
            raise
        except Exception as error:
            raise DiagnosisError(f"the data raised {type(error).__name__}: {str(error)[:300]}") from error


def _loader_alone(source: _Source) -> dict[str, Any]:
    """The loader as fast as it can. The first batch and what was prefetched do not count."""
    batches, started = source.batches(), time.perf_counter()
    resident = next(batches)
    first_ms = (time.perf_counter() - started) * 1e3
    for _ in range(_WARM_UP_BATCHES):
        next(batches)
        if time.perf_counter() - started > _WARM_UP_SECONDS:
            break
    before, arrivals = _usage(), [time.perf_counter()]
    while len(arrivals) <= _MOST_BATCHES and (
        arrivals[-1] - arrivals[0] < LOADER_SECONDS or len(arrivals) <= _FEWEST_BATCHES
    ):
        next(batches)
        arrivals.append(time.perf_counter())
    spent = _usage() - before
    stages = _stages(source.iterator)
    batches.close()  # type: ignore[attr-defined]
    intervals = np.diff(arrivals) * 1e3
    count, seconds = len(intervals), arrivals[-1] - arrivals[0]
    return {
        "resident": resident,
        "first_batch_ms": first_ms,
        "loader_ms": float(intervals.mean()),
        "intervals_ms": [round(float(value), 3) for value in intervals[-_KEPT_INTERVALS:]],
        "loader_cores": float(spent[0] / seconds),
        "major_faults_per_batch": float(spent[1] / count),
        "disk_mb_per_batch": float(spent[2] / count / 1e6),
        "read_calls_per_batch": float(spent[3] / count),
        "read_mb_per_batch": float(spent[4] / count / 1e6),
        "stages": stages,
    }


def _resident_ms(step: Step, batch: Any) -> float:
    """Median of the step on one batch, after two calls that compile and warm up."""
    for _ in range(2):
        _run(step, batch)
    times: list[float] = []
    began = time.perf_counter()
    while time.perf_counter() - began < DEVICE_SECONDS or len(times) < 3:
        started = time.perf_counter()
        _run(step, batch)
        times.append((time.perf_counter() - started) * 1e3)
    return float(np.median(times))


def _loop(source: _Source, step: Step) -> dict[str, Any]:
    """The real loop: how long each batch was waited for and how long its step took."""
    batches = source.batches()
    known = {_shape(source.seen[0])}
    _run(step, next(batches))
    waits: list[float] = []
    computes: list[float] = []
    new: list[float] = []
    traced = _traces(step)
    before, began = _usage(), time.perf_counter()
    while len(waits) < _MOST_BATCHES and (time.perf_counter() - began < LOOP_SECONDS or len(waits) < _FEWEST_BATCHES):
        asked = time.perf_counter()
        batch = next(batches)
        came = time.perf_counter()
        _run(step, batch)
        done = time.perf_counter()
        waits.append((came - asked) * 1e3)
        computes.append((done - came) * 1e3)
        shape = _shape(batch)
        if shape not in known:
            known.add(shape)
            new.append(computes[-1])
    spent = _usage() - before
    batches.close()  # type: ignore[attr-defined]
    return {
        "loop_disk_mb_per_batch": float(spent[2] / len(waits) / 1e6),
        "loop_ms": float(np.mean(waits) + np.mean(computes)),
        "wait_ms": float(np.mean(waits)),
        "compute_ms": float(np.mean(computes)),
        "traces": _traces(step) - traced,
        "new_shapes": len(new),
        "new_shape_ms": float(np.mean(new)) if new else 0.0,
        "loop_steps": len(waits),
    }


def _run(step: Step, batch: Any) -> None:
    """One step until its result is ready."""
    import tensorflow as tf

    try:
        result = step(batch)
        for part in tf.nest.flatten(result)[:1]:
            if hasattr(part, "numpy"):
                part.numpy()
    except Exception as error:
        raise DiagnosisError(f"the step raised {type(error).__name__}: {str(error)[:300]}") from error


def _traces(step: Step) -> int:
    count = getattr(step, "experimental_get_tracing_count", None)
    return int(count()) if count is not None else 0


def _graph_ms(step: Step, batch: Any) -> float | None:
    """The step as a compiled function, if it is none yet and is made of TensorFlow operations."""
    import tensorflow as tf

    compiled = tf.function(step)
    try:
        graph = compiled.get_concrete_function(batch).graph
        working = [op for op in graph.get_operations() if op.type not in ("Placeholder", "Identity", "NoOp", "Const")]
        return _resident_ms(compiled, batch) if len(working) >= _OPERATIONS_OF_A_STEP else None
    except (DiagnosisError, TypeError, ValueError, AttributeError, NotImplementedError, tf.errors.OpError):
        return None  # it cannot be traced as it is: then this cure is not offered


_OPERATIONS_OF_A_STEP = 12  # fewer: a sleep, or another framework; nothing that a graph could make faster


def _double_ms(step: Step, batch: Any) -> float | None:
    import tensorflow as tf

    rows = _rows(batch)

    def twice(part: Any) -> Any:
        shape: Any = getattr(part, "shape", ())
        if len(shape) == 0 or shape[0] != rows:
            return part
        return tf.concat([part, part], 0) if tf.is_tensor(part) else np.concatenate([part, part])

    try:
        return _resident_ms(step, tf.nest.map_structure(twice, batch))
    except (DiagnosisError, TypeError, ValueError):
        return None  # a step with a fixed batch size: then there is nothing to say about a larger one


def _tensors(batch: Any) -> list[Any]:
    import tensorflow as tf

    return [part for part in tf.nest.flatten(batch) if hasattr(part, "shape")]


def _rows(batch: Any) -> int:
    """Utterances of a batch: the first dimension of its largest tensor."""
    sizes = [(int(np.prod(part.shape)), int(part.shape[0])) for part in _tensors(batch) if len(part.shape)]
    return max(sizes)[1] if sizes else 1


def _shape(batch: Any) -> tuple[Any, ...]:
    return tuple(tuple(part.shape) for part in _tensors(batch))


def useful_share(batches: list[Any]) -> float | None:
    """Real / all positions along the second axis of the largest tensor: what repeats at a row's end is padding."""
    real = padded = 0
    for batch in batches:
        wide = [part for part in _tensors(batch) if len(part.shape) >= 2 and part.shape[1] > 1]
        if not wide:
            continue
        largest = np.asarray(max(wide, key=lambda part: int(np.prod(part.shape))))
        flat = largest.reshape(*largest.shape[:2], -1)
        differs = (flat != flat[:, -1:]).any(axis=2)
        lengths = np.where(differs.any(axis=1), flat.shape[1] - differs[:, ::-1].argmax(axis=1), 0)
        # A row that is not padded ends in one position of its own, which looks like padding of length one.
        real += int(np.minimum(lengths + 1, flat.shape[1]).sum())
        padded += flat.shape[0] * flat.shape[1]
    return real / padded if padded else None


def _stages(iterator: Any) -> dict[str, float]:
    """CPU-ms per batch of each kind of stage, from TensorFlow's own model of a dataset; empty for anything else."""
    import tensorflow as tf

    try:
        model = tf.data.experimental.get_model_proto(iterator)
    except (TypeError, AttributeError, ValueError, tf.errors.OpError):
        return {}  # not a dataset's iterator, or one without a model
    batches = max((node.num_elements for node in model.nodes.values() if node.name == "Root"), default=0)
    spent: dict[str, float] = {}
    for node in model.nodes.values():
        if node.name != "Root" and batches:
            spent[node.name] = spent.get(node.name, 0.0) + node.processing_time / 1e6 / batches
    return {name: round(ms, 4) for name, ms in sorted(spent.items(), key=lambda item: -item[1])}


def usable_cores() -> int:
    return len(os.sched_getaffinity(0))


def _usage() -> NDArray[np.float64]:
    """(CPU seconds, major page faults, bytes from disk, read calls, bytes read) so far, with child processes."""
    import psutil

    cpu = disk = calls = chars = 0.0
    own = psutil.Process()
    for process in [own, *own.children(recursive=True)]:
        try:
            times, io = process.cpu_times(), process.io_counters()
            cpu += times.user + times.system
            disk, calls, chars = disk + io.read_bytes, calls + io.read_count, chars + io.read_chars
        except psutil.Error:
            continue  # a worker that has just ended
    faults = resource.getrusage(resource.RUSAGE_SELF).ru_majflt
    return np.array([cpu, faults, disk, calls, chars], np.float64)


def _memory_available_share() -> float:
    import psutil

    memory = psutil.virtual_memory()
    return float(memory.available / memory.total)
