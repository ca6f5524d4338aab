"""Several devices that train one model, in this process or in several: each takes its part of every global batch.

What a step computes of its parts is added up so that it is what one device computes of the whole: each loss term is
weighed by what it is a mean over (frames, tokens, utterances), then losses and gradients are summed over all replicas.
Only the order of summation differs, which is float error.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import tensorflow as tf
from tensorflow.compiler.xla.tsl.protobuf import coordination_config_pb2
from tensorflow.python.eager import context

from myxtts.errors import ConfigError, TrainingError
from myxtts.models import replica
from myxtts.models.replica import (
    moment_after,
    note_wait,
    replica_number,
    sum_of_replicas,
    take_waits,
)
from myxtts.training.cluster import Cluster
from myxtts.training.cpu_workers import CpuWorkers
from myxtts.training.optimiser import put

log = logging.getLogger(__name__)

_TF_PATIENCE_MS, _TF_SHUTDOWN_MS = 24 * 3600 * 1000, 10_000
_NOTICE = ("stop", "seconds")


@dataclass(frozen=True)
class Notice:
    """What a worker tells the others with a step: whether it wants to stop, how long the run has lasted by its clock
    (the chief's counts), how long it waited for its batch."""

    stop: bool = False
    seconds: float = 0.0
    data_ms: float = 0.0


class Replicas:
    """Devices behind a strategy. `run`, `first_of` and what is called in between belong into a compiled function."""

    def __init__(self, strategy: tf.distribute.Strategy, devices: Sequence[str], cluster: Cluster | None = None):
        """`devices`: those of this process; every worker has as many."""
        self.strategy, self.devices, self.cluster = strategy, list(devices), cluster
        self.count = int(strategy.num_replicas_in_sync)
        rank = 0 if cluster is None else cluster.rank
        self.first, self.chief = rank * len(self.devices), rank == 0

    def scope(self) -> AbstractContextManager[Any]:
        return self.strategy.scope()

    def describe(self) -> str:
        if self.cluster is None:
            return f"training on {self.count} devices: {', '.join(self.devices)}"
        return f"training with {self.cluster.size} workers on {self.count} devices; this is worker {self.cluster.rank}"

    # ---- around a step ----

    def distribute(self, parts: Sequence[Mapping[str, Any]]) -> Any:
        """The parts of a batch, one for each device of this process, for `run`."""
        return self.strategy.experimental_distribute_values_from_function(
            lambda context: parts[int(context.replica_id_in_sync_group) - self.first]
        )

    def on_each(self, make: Callable[[], Any]) -> list[Any]:
        """What is made on each device of this process. A step is got ready for where its batch lies, too: with all
        parts on one device the first real step of a small model took 37 s more."""
        made = []
        for device in self.devices:
            with tf.device(device):
                made.append(make())
        return made

    def tell(self, notice: Notice) -> tuple[Any, Any]:
        """For `run`, at the very moment at which the step begins."""
        seconds = notice.seconds if self.chief else 0.0
        began = time.time() if replica.clock_runs else 0.0
        return tf.constant([float(notice.stop), seconds, notice.data_ms]), tf.constant(began, tf.float64)

    def run(self, work: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        return self.strategy.run(work, args=arguments)

    def first_of(self, values: Any) -> Any:
        return self.strategy.experimental_local_results(values)[0]

    # ---- inside a step, on each replica ----

    def sum(self, value: Any) -> Any:
        """Of tensors that have a device, which an argument of a function has not, and which TensorFlow asks for."""
        return sum_of_replicas(tf.nest.map_structure(tf.identity, value))

    def weigh(self, losses: dict[str, Any], outputs: Mapping[str, Any], batch: Mapping[str, Any]) -> dict[str, Any]:
        """Loss terms of which the sum over replicas is the term of the whole batch."""
        utterances, weights = tf.reduce_sum(batch["weight"]), outputs.get("weights", {})
        own = tf.stack([tf.stop_gradient(weights.get(name, utterances)) for name in losses])
        total = self.sum(own)
        note_wait(moment_after([total]) - moment_after(list(losses.values())))  # if any: it needs no forward pass
        shares = tf.unstack(own / tf.maximum(total, 1.0))
        return {name: loss * share for (name, loss), share in zip(losses.items(), shares, strict=True)}

    def add_up(
        self, losses: dict[str, Any], outputs: Mapping[str, Any], gradients: Sequence[Any], notice: tuple[Any, Any]
    ) -> tuple[dict[str, Any], dict[str, Any], list[Any], dict[str, Any]]:
        """Losses, outputs and gradients of the whole batch, and what the workers told: all in one exchange."""
        number = replica_number(tf.distribute.get_replica_context())
        outputs = {name: value for name, value in outputs.items() if name != "weights" and value.shape.rank == 0}
        own_ms = tf.cast((moment_after(gradients) - notice[1] - take_waits()) * 1e3, tf.float32)
        once = 1.0 if number == self.first else 0.0  # of the devices of a worker one speaks for it
        slot = tf.one_hot(number, self.count)
        rank = [notice[0][:2] * once, notice[0][2] * slot, own_ms * slot]
        small = tf.concat([[*losses.values(), *outputs.values()], *rank], axis=0)
        *gradients, small = sum_of_replicas([*gradients, small])
        values = iter(tf.unstack(small))
        losses = {name: next(values) for name in losses}
        outputs = {name: next(values) for name in outputs}
        return losses, outputs, list(gradients), dict(zip(self._notice_names(), values, strict=True))

    def _notice_names(self) -> list[str]:
        return [*_NOTICE, *(f"{kind}/{n}" for kind in ("rank_data_ms", "rank_compute_ms") for n in range(self.count))]

    # ---- now and then ----

    def share(self, variables: Sequence[Any]) -> None:
        """Every worker's variables become the chief's."""
        if self.cluster is None:
            return

        def take() -> None:
            first = replica_number(tf.distribute.get_replica_context()) == 0
            for kind in sorted({variable.dtype for variable in variables}, key=str):
                same = [variable for variable in variables if variable.dtype == kind]
                own = [tf.convert_to_tensor(variable) for variable in same]
                given = self.sum(own if first else [tf.zeros_like(value) for value in own])
                for variable, value in zip(same, given, strict=True):
                    put(variable, value)

        tf.function(lambda: self.run(take, ()), autograph=False)()

    def agree(self, numbers: Sequence[float]) -> list[float]:
        """The chief's numbers, on every worker; none goes on before all have asked."""
        if self.cluster is None:
            return list(numbers)
        own = tf.constant([float(number) if self.chief else 0.0 for number in numbers], tf.float64)

        def take(value: Any) -> Any:
            first = replica_number(tf.distribute.get_replica_context()) == 0
            return self.sum(value if first else tf.zeros_like(value))

        agreed = tf.function(lambda value: self.first_of(self.run(take, (value,))), autograph=False)(own)
        return [float(number) for number in agreed.numpy()]


def replicas_for(wanted: int | str, cluster: Cluster | None) -> Replicas | None:
    """None for one device in one process, which needs no strategy. Call it before TensorFlow computes anything."""
    logging.getLogger("tensorflow").setLevel(logging.WARNING)  # which tells of every exchange that it compiles
    gpus = _chosen(wanted)
    if cluster is not None:
        return _with_workers(cluster, wanted, gpus)
    devices = gpus or _logical_cpus(wanted)
    if len(devices) < 2:
        return None
    return Replicas(tf.distribute.MirroredStrategy(devices), devices)


def _with_workers(cluster: Cluster, wanted: int | str, gpus: list[str]) -> Replicas:
    cpus = [] if gpus else _logical_cpus(wanted)
    spec = tf.train.ClusterSpec({"worker": list(cluster.addresses)})
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
        spec, task_type="worker", task_id=cluster.rank, num_accelerators={"GPU": len(gpus)}, rpc_layer="grpc"
    )
    _let_our_heartbeat_judge(cluster)
    try:
        several = tf.distribute.MultiWorkerMirroredStrategy
        strategy = CpuWorkers(resolver, len(cpus)) if cpus else several(cluster_resolver=resolver)
    except RuntimeError as error:
        raise TrainingError(f"TensorFlow had begun before the workers met ({error}): a bug, please report it") from None
    return Replicas(strategy, strategy.extended.worker_devices, cluster)


def _let_our_heartbeat_judge(cluster: Cluster) -> None:
    """TensorFlow gives up a worker that was silent for 10 s, without naming it, and what was stopped for half a minute
    could not go on. Its own way to say so is what the strategy would call otherwise."""
    job = coordination_config_pb2.CoordinatedJob(name="worker", num_tasks=cluster.size)
    context.context().configure_coordination_service(
        service_type="standalone", service_leader="/job:worker/replica:0/task:0", coordinated_jobs=[job],
        heartbeat_timeout_in_ms=_TF_PATIENCE_MS, shutdown_barrier_timeout_in_ms=_TF_SHUTDOWN_MS,
    )  # fmt: skip


def _chosen(wanted: int | str) -> list[str]:
    """The GPUs that are to be used, of which alone TensorFlow is told; an error where one of them is not there."""
    cards = tf.config.list_physical_devices("GPU")
    if not cards:
        return []
    numbers = range(len(cards)) if wanted == "all" else _numbers(wanted)
    missing = [n for n in numbers if n >= len(cards)]
    if missing:
        raise ConfigError(f"training.devices is {wanted}, and there are {len(cards)} GPUs, counted from 0: name others")
    tf.config.set_visible_devices([cards[n] for n in numbers], "GPU")
    return [f"/device:GPU:{n}" for n, _ in enumerate(numbers)]


def _numbers(wanted: int | str) -> list[int]:
    if isinstance(wanted, int):
        return list(range(wanted))
    parts = [part.strip() for part in wanted.split(",")]
    if not all(part.isdecimal() for part in parts) or len(set(parts)) < len(parts):
        raise ConfigError(f"training.devices is '{wanted}', expected all, how many, or their numbers such as 0,2")
    return [int(part) for part in parts]


def _logical_cpus(wanted: int | str) -> list[str]:
    """Without a GPU as many logical devices as were asked for: to try it out, since they share the cores."""
    count = 1 if wanted == "all" else len(_numbers(wanted))
    if count == 1:
        return []
    (cpu,) = tf.config.list_physical_devices("CPU")
    try:
        tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * count)
    except RuntimeError:
        raise TrainingError("TensorFlow had begun before the devices were chosen: choose them first") from None
    log.warning("no GPU: %d logical devices share the CPU, which is to try it out and not faster", count)
    return [f"/device:CPU:{n}" for n in range(count)]
