"""What a pipeline is made of, read from its graph: Python functions, file reads, spectrograms, parallelism, prefetch.

A `tf.data.Dataset` is walked object by object and every function it calls is walked operation by operation, nested ones
too. Nothing is run and nothing is serialised: a captured file of gigabytes costs no memory here.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from myxtts.data.gate import GATE

PYTHON_OPS = frozenset({"PyFunc", "PyFuncStateless", "EagerPyFunc"})
READ_OPS = frozenset({"ReadFile", "WholeFileReaderV2"})  # a whole file for one element; not shards of records
SPECTRUM_OPS = frozenset({"RFFT", "FFT", "AudioSpectrogram", "Mfcc"})
IDLE_OPS = frozenset({"Placeholder", "Identity", "NoOp", "Const", "StatefulPartitionedCall", "PartitionedCall"})
_SERIAL = ("Map", "Interleave", "FlatMap", "Filter", "Scan", "GroupByWindow", "TakeWhile")


@dataclass
class Stage:
    """One transformation of a pipeline, its functions' operations counted, nested ones included."""

    kind: str  # as TensorFlow calls it: ParallelMap, Batch, Prefetch, ...
    parallel_calls: int | None = None  # None: serial; -1: TensorFlow chooses
    ops: dict[str, int] = field(default_factory=dict)

    def count(self, wanted: frozenset[str]) -> int:
        return sum(times for op, times in self.ops.items() if op in wanted)

    def at_once(self, cores: int) -> int | None:
        """Elements that its function works on at the same time; None where it has none that does anything."""
        if not set(self.ops) - IDLE_OPS:
            return None
        if self.parallel_calls is None:
            return 1 if self.kind in _SERIAL else None
        return cores if self.parallel_calls < 0 else self.parallel_calls


@dataclass
class Structure:
    """A pipeline from its end, where batches come out, to its source."""

    stages: list[Stage] = field(default_factory=list)
    worker_processes: int | None = None  # of a loader that says so (PyTorch's DataLoader)
    is_dataset: bool = True

    def count(self, wanted: frozenset[str]) -> int:
        return sum(stage.count(wanted) for stage in self.stages)

    @property
    def prefetches(self) -> bool:
        """Whether batches are made while a step runs: a prefetch after the last stage that works."""
        if not self.is_dataset:
            return bool(self.worker_processes)
        return any(stage.kind == "Prefetch" for stage in self.stages[: self._first_working() + 1])

    def _first_working(self) -> int:
        idle = ("Prefetch", "Options", "Take", "Repeat", "Skip", "Model")
        return next((n for n, stage in enumerate(self.stages) if stage.kind not in idle), 0)

    def narrow(self, cores: int) -> list[int]:
        """How many elements at once each stage works on that could use more cores than it may."""
        widths = [stage.at_once(cores) for stage in self.stages]
        return [width for width in widths if width is not None and width < cores]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Structure:
        return cls(**{**values, "stages": [Stage(**stage) for stage in values["stages"]]})


def structure_of(data: Any) -> Structure:
    """Of a dataset (or its iterator) by its graph; of any other iterable what it says about worker processes."""
    import tensorflow as tf

    data = getattr(data, "_dataset", data)  # TensorFlow's iterators keep what they iterate over
    if isinstance(data, tf.data.Dataset):
        return Structure([_stage(dataset) for dataset in _upstream(data)])
    workers = getattr(data, "num_workers", None)
    return Structure([], workers if isinstance(workers, int) else None, is_dataset=False)


def _upstream(dataset: Any) -> Iterator[Any]:
    """The dataset, then what it reads from, and so on; and the datasets that its functions hold."""
    waiting, seen = [dataset], set()
    while waiting:
        current = waiting.pop(0)
        if id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        waiting += [*current._inputs(), *_held(current)]


def _held(dataset: Any) -> list[Any]:
    """Datasets from outside that its functions read. TensorFlow keeps their handles; here is whose they are."""
    import tensorflow as tf

    captured = [tensor for function in dataset._functions() for tensor in function.function.captured_inputs]
    handles = {id(tensor) for tensor in captured if tensor.dtype == tf.variant}
    if not handles:
        return []
    owners = [each for each in gc.get_objects() if isinstance(each, tf.data.Dataset)]
    return [owner for owner in owners if id(owner._variant_tensor) in handles]


def _stage(dataset: Any) -> Stage:
    kind = type(dataset).__name__.removeprefix("_").removesuffix("V2").removesuffix("Dataset")
    ops: Counter[str] = Counter()
    for function in dataset._functions():
        if GATE not in str(function.function.name):  # waits for a shard, once in 64 steps
            ops += operations_of(function.function.name, set())
    calls = getattr(dataset, "_num_parallel_calls", None)
    return Stage(kind, None if calls is None else int(calls), dict(ops))


def operations_of(name: str | bytes, seen: set[str]) -> Counter[str]:
    """How often each operation occurs in a function and in those it calls."""
    from tensorflow.python.eager import context

    name = name.decode() if isinstance(name, bytes) else name
    if name in seen:
        return Counter()
    seen.add(name)
    counts: Counter[str] = Counter()
    for node in context.context().get_function_def(name).node_def:
        counts[node.op] += 1
        for value in node.attr.values():
            called = [value.func.name] if value.func.name else [function.name for function in value.list.func]
            for other in called:
                counts += operations_of(other, seen)
    return counts
