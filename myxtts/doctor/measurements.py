"""What the doctor knows about a pipeline and a step: plain numbers, written down and read again as JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from myxtts.doctor.structure import Structure


@dataclass
class Measurements:
    """Everything the doctor judges by. Times are milliseconds per batch."""

    batch: int  # utterances
    cores: int
    device_ms: float  # the step on a resident batch of a shape it knows
    device_cores: float  # CPU seconds per second meanwhile: 0 where another device computes
    loader_ms: float  # batches taken as fast as they come
    loader_cores: float  # CPU seconds per second meanwhile, worker processes included
    idle_cores: float  # meanwhile, of the whole machine: others may be at work too
    loop_ms: float  # the real thing
    wait_ms: float
    compute_ms: float
    intervals_ms: list[float] = field(default_factory=list)  # of the loader alone, in order
    first_batch_ms: float = 0.0
    compile_ms: float = 0.0  # by how much the very first step was slower
    traces: int = 0  # steps of the loop in which something was traced
    resident_traces: float = 0.0  # share of steps that trace anew although they have met their batch before
    trace_ms: float = 0.0  # of tracing in each of these
    few_shapes: bool = False  # batches come in a few shapes again and again: steps that met one first do not count
    new_shapes: int = 0  # batches in the loop whose shape the step had not seen
    new_shape_ms: float = 0.0  # mean time of those
    loop_steps: int = 0
    graph_ms: float | None = None  # the resident step compiled, where it runs eagerly and can be compiled
    double_ms: float | None = None  # the step on two resident batches in one
    useful_share: float | None = None  # of the largest padded tensor
    short_ms: float | None = None  # the step on a resident batch cut to half its length, where batches are padded
    major_faults_per_batch: float = 0.0
    disk_mb_per_batch: float = 0.0  # that came from the disk, not from memory, in the loader alone
    loop_disk_mb_per_batch: float = 0.0  # and later in the loop, when all of it has been read before
    read_mb_per_batch: float = 0.0  # by reading, from the disk or from memory
    read_calls_per_batch: float = 0.0
    python_calls_per_batch: float | None = None  # by the dataset's graph: a function may be in it and not be called
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
