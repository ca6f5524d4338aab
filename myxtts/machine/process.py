"""What this process has used so far: processor time, page faults, reads, memory of its own."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import psutil
from numpy.typing import NDArray

from myxtts.machine.cgroups import cgroup_free_bytes


def own_cores() -> set[int]:
    """The numbers of the cores that this process may run on."""
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set(range(os.cpu_count() or 1))


def usable_cores() -> int:
    return len(own_cores())


def idle_seconds() -> float:
    """For how long the cores that this process may use have been idle since the start, summed over them."""
    times, own = psutil.cpu_times(percpu=True), own_cores()
    return float(sum(core.idle + getattr(core, "iowait", 0.0) for n, core in enumerate(times) if n in own))


def usage() -> NDArray[np.float64]:
    """(CPU seconds, major page faults, bytes from disk, read calls, bytes read) so far, with child processes.

    Those of children that have ended are in their parent's: a DataLoader's workers end with every epoch.
    """
    cpu = faults = disk = calls = chars = 0.0
    own = psutil.Process()
    for process in [own, *own.children(recursive=True)]:
        try:
            io = process.io_counters()
            cpu += sum(process.cpu_times()[:4])
            faults += _major_faults(process.pid)
            disk, calls, chars = disk + io.read_bytes, calls + io.read_count, chars + io.read_chars
        except (psutil.Error, OSError):
            continue  # a worker that has just ended
    return np.array([cpu, faults, disk, calls, chars], np.float64)


def _major_faults(pid: int) -> int:
    """Its own and those of its ended children: fields 12 and 13 of /proc/PID/stat, the name before may hold spaces."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[9]) + int(fields[10])


def memory_available_share() -> float:
    memory = psutil.virtual_memory()
    return float(memory.available / memory.total)


def free_memory_bytes() -> int:
    """What this process may still take of the machine's memory, or of its container's."""
    free, allowed = int(psutil.virtual_memory().available), cgroup_free_bytes()
    return free if allowed is None else min(free, allowed)


def resident_bytes() -> int:
    return _status_bytes("VmRSS")


def peak_resident_bytes() -> int:
    """The most that was resident since the start, or since `forget_peak`."""
    return _status_bytes("VmHWM")


def forget_peak() -> None:
    """An OSError where the kernel does not let us (it has been possible since Linux 4.0)."""
    Path("/proc/self/clear_refs").write_text("5")


def _status_bytes(name: str) -> int:
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(f"{name}:"))


def anonymous_bytes() -> int:
    """Memory of this process that no file stands behind: where a copied cache would show."""
    with open("/proc/self/smaps_rollup") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("Anonymous:"))
