"""What the device that trains has of free memory, how much of that a step may take, and what a piece of work takes."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from myxtts.data.device import first_gpu
from myxtts.errors import TrainingError
from myxtts.machine.nvml import Gpus
from myxtts.machine.process import forget_peak, free_memory_bytes, peak_resident_bytes, resident_bytes
from myxtts.training.crew import Crew

_INSTEAD = "set data.frame_budget to a number, or to null for batches of data.batch_size utterances"


class HostMemory:
    """The machine's own memory, or its container's. A quarter of what is free may be taken: the mapped cache needs its
    pages too, others work on the machine, and Linux does not refuse memory but kills."""

    share = 0.25
    name = "memory of this machine"

    def __init__(self) -> None:
        try:
            forget_peak()
        except OSError as error:
            raise TrainingError(f"the kernel does not report peak memory use ({error.strerror}): {_INSTEAD}") from None
        self._before = resident_bytes()

    def free_bytes(self) -> int:
        return free_memory_bytes()

    def taken_by(self, work: Callable[[], Any]) -> int:
        """The most that was resident since this was made, beyond what was then: what a step has freed stays with the
        process and is used by the next one, so only a larger one shows. Too much rather than too little."""
        work()
        return max(peak_resident_bytes() - self._before, 0)


class GpuMemory:
    """Of several GPUs the one with the least free memory counts. A fifth is left: for batches that are staged ahead,
    for what falls between two blocks of TensorFlow's allocator, and for cuDNN, which tries kernels with more."""

    share = 0.8
    name = "memory of the GPU"

    def __init__(self, devices: Sequence[str]):
        self._devices = [_short(device) for device in devices]

    def free_bytes(self) -> int:
        gpus = Gpus()
        try:
            if free := gpus.free_bytes():
                return min(_of_those(self._devices, free))
            why = gpus.reason or "its driver does not say"
            raise TrainingError(f"the GPU's free memory is unknown ({why}): {_INSTEAD}")
        finally:
            gpus.close()

    def taken_by(self, work: Callable[[], Any]) -> int:
        ask = tf.config.experimental.get_memory_info
        before = [ask(device)["current"] for device in self._devices]
        for device in self._devices:
            tf.config.experimental.reset_memory_stats(device)
        work()
        return max(ask(device)["peak"] - own for device, own in zip(self._devices, before, strict=True))


def memory_of(crew: Crew) -> HostMemory | GpuMemory:
    """Of the devices that train."""
    own = [device for device in [first_gpu()] if device] if crew.replicas is None else crew.replicas.devices
    gpus = [device for device in own if "GPU" in device]
    return GpuMemory(gpus) if gpus else HostMemory()


def _of_those(devices: Sequence[str], free: list[int]) -> list[int]:
    """What these GPUs have, among all that NVML sees, which knows nothing of CUDA_VISIBLE_DEVICES; where the two cannot
    be matched, what any has."""
    visible = [name.strip() for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name.strip()]
    numbers = [int(device.rpartition(":")[2]) for device in devices]
    places = [visible[number] if number < len(visible) else str(number) for number in numbers] if visible else numbers
    if all(str(place).isdigit() and int(place) < len(free) for place in places):
        return [free[int(place)] for place in places]
    return free


def _short(device: str) -> str:
    place = tf.DeviceSpec.from_string(device)
    return f"{place.device_type}:{place.device_index}"
