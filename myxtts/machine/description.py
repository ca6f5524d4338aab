"""What this machine is: processor, memory, GPUs, versions, the disk under a path. Plain JSON, None where unknown."""

from __future__ import annotations

import functools
import importlib.metadata
import logging
import os
import platform
from pathlib import Path
from typing import Any

import psutil

from myxtts.machine.cgroups import cgroup_limits
from myxtts.machine.nvml import Gpus
from myxtts.machine.process import usable_cores

log = logging.getLogger(__name__)

Numbers = dict[str, Any]


def describe_machine(path: Path | str = ".", gpus: Gpus | None = None) -> Numbers:
    """As plain JSON: the processor, how much of it and of the memory this process may use, GPUs, versions, and the disk
    that `path` is on. `gpu` is a sentence, `gpus` the list; None is what is not known."""
    opened = Gpus() if gpus is None else gpus
    quota, limit = cgroup_limits()
    allowed, memory = usable_cores(), psutil.virtual_memory().total
    cards = opened.describe()
    machine = {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "cpus": allowed if quota is None else min(allowed, quota),
        "memory_bytes": memory if limit is None else min(memory, limit),
        "gpu": opened.reason or f"{len(cards)} x {cards[0]['name']}",
        "gpus": cards,
        "driver": opened.driver(),
        "tensorflow": _version("tensorflow") or _version("tensorflow-cpu"),
        "python": platform.python_version(),
        "disk": describe_disk(path),
    }
    if opened.reason:
        _say_no_gpu(opened.reason)
    if gpus is None:
        opened.close()
    return machine


@functools.cache
def _say_no_gpu(reason: str) -> None:
    log.info("GPU: %s", reason)


def _cpu_model() -> str | None:
    try:
        lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
    except OSError:
        return platform.processor() or None
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), None)


def _version(package: str) -> str | None:
    """Of an installed package, without importing it."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def describe_disk(path: Path | str) -> Numbers:
    """The file system that a path is on: its type, device, and whether the disk turns (None: not known)."""
    place = Path(path).resolve()
    disk: Numbers = {"path": str(place), "filesystem": None, "device": None, "rotational": None}
    try:
        mounts = [part for part in psutil.disk_partitions(all=True) if place.is_relative_to(part.mountpoint)]
        if mounts:
            mount = max(reversed(mounts), key=lambda part: len(part.mountpoint))  # the last of equals covers the others
            disk |= {"filesystem": mount.fstype, "device": mount.device, "rotational": _turns(mount.device)}
    except (OSError, psutil.Error) as error:
        log.info("the disk of %s cannot be described: %s", place, error)
    return disk


def _turns(device: str) -> bool | None:
    try:
        number = os.stat(device).st_rdev if device.startswith("/dev/") else 0
    except OSError:
        return None
    block = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    for place in (block, block.resolve().parent):  # a partition's disk is the folder above
        if (place / "queue/rotational").is_file():
            return (place / "queue/rotational").read_text().strip() == "1"
    return None
