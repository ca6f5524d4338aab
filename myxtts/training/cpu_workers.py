"""Workers without GPUs that have several logical devices each: then a run's devices can be spread over its workers in
any way. TensorFlow's own strategy has one CPU device in a worker, whatever it is told."""

from __future__ import annotations

from typing import Any

import tensorflow as tf
from tensorflow.python.distribute.collective_all_reduce_strategy import CollectiveAllReduceExtended


class CpuWorkers(tf.distribute.MultiWorkerMirroredStrategy):
    """The same strategy on `count` logical devices, which must have been made."""

    def __init__(self, resolver: tf.distribute.cluster_resolver.ClusterResolver, count: int):
        tf.distribute.Strategy.__init__(self, _OnCpus(self, resolver, count))


class _OnCpus(CollectiveAllReduceExtended):
    def __init__(self, strategy: CpuWorkers, resolver: Any, count: int):
        self._count = count
        super().__init__(strategy, resolver, tf.distribute.experimental.CommunicationOptions())

    def _initialize_local_devices(self, cluster_resolver: Any, worker_device: str) -> tuple[tuple[str, ...], str]:
        return tuple(f"{worker_device}/device:CPU:{number}" for number in range(self._count)), "CPU"
