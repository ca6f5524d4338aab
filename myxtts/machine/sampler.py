"""What this machine does while a program runs: cores, memory, disk, page faults, GPUs.

    with MachineSampler():           # writes to the monitor in use, once a second, for about 0.1 % of a core
        trainer.train(feed)

A reading that the system does not give (a permission, an old kernel, no GPU) is left out and said once.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import psutil

from myxtts.machine.description import Numbers, describe_machine
from myxtts.machine.nvml import Gpus
from myxtts.machine.process import own_cores
from myxtts.monitor import Monitor, current_monitor

log = logging.getLogger(__name__)

_KEPT_SAMPLES = 3_600  # an hour at one a second

Reader = Callable[[], tuple[Numbers, Numbers]]  # what is so now, and totals of which the rate counts


class MachineSampler:
    """Samples the machine in a thread that never disturbs the program: what fails is left out."""

    def __init__(self, monitor: Monitor | None = None, interval_seconds: float = 1.0, nvml: Any = None):
        """Writes to `monitor`, or else to the one that is current at the time. `nvml` stands in for pynvml."""
        if not interval_seconds > 0:
            raise ValueError(f"found interval_seconds = {interval_seconds}, expected more than 0")
        self.interval_seconds = interval_seconds
        self.samples: deque[Numbers] = deque(maxlen=_KEPT_SAMPLES)
        self.description: Numbers = {}  # of the machine; filled in by the thread
        self.dropped: dict[str, str] = {}  # group of readings -> why it is left out
        self.cost_share = 0.0  # of a core, by the thread's own clock
        self._monitor, self._nvml = monitor, nvml
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()

    def start(self) -> MachineSampler:
        """A second start of a running sampler does nothing."""
        if self._thread is None or not self._thread.is_alive():
            self._stop = threading.Event()
            self._thread = threading.Thread(target=self._run, args=(self._stop,), name="myxtts-machine", daemon=True)
            self._thread.start()
        return self

    def stop(self) -> None:
        """Ends the thread; waits for it for two intervals at most, because a driver may hang."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(2 * self.interval_seconds + 1.0)
            self._thread = None

    def latest(self) -> Numbers | None:
        return self.samples[-1] if self.samples else None

    def __enter__(self) -> MachineSampler:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _run(self, stop: threading.Event) -> None:
        gpus = None
        try:
            gpus = Gpus(self._nvml)
            self.description = describe_machine(gpus=gpus)
            self._sample_until(stop, gpus)
        except Exception as error:  # noqa: BLE001 - said; a measurement may not disturb what it measures
            log.warning("the machine is not sampled any more: %s: %s", type(error).__name__, error)
        finally:
            if gpus is not None:
                gpus.close()

    def _sample_until(self, stop: threading.Event, gpus: Gpus) -> None:
        readers = _readers() | {"gpus": lambda: (gpus.read(), {})}
        began, worked = time.monotonic(), time.thread_time()
        _, before = self._read(readers)
        last = due = began
        while not stop.wait(max(due + self.interval_seconds - time.monotonic(), 0.0)):
            now, (levels, totals) = time.monotonic(), self._read(readers)
            # After a pause (a laptop's sleep, a stopped process) the next one is due from now on, not from then.
            due = max(due + self.interval_seconds, now - self.interval_seconds)
            rates = {name: (value - before[name]) / (now - last) for name, value in totals.items() if name in before}
            self._write({"at": round(time.time(), 3)} | levels | _named(rates, self.description["cpus"]))
            before, last = totals, now
            self.cost_share = (time.thread_time() - worked) / (time.monotonic() - began)

    def _read(self, readers: dict[str, Reader]) -> tuple[Numbers, Numbers]:
        levels: Numbers = {}
        totals: Numbers = {}
        for name, read in list(readers.items()):
            try:
                now, since_start = read()
            except Exception as error:  # noqa: BLE001 - said once, and this reading ends
                del readers[name]
                self.dropped[name] = f"{type(error).__name__}: {error}"
                log.info("the machine's %s cannot be read (%s): left out", name, self.dropped[name])
                continue
            levels |= now
            totals |= since_start
        return levels, totals

    def _write(self, sample: Numbers) -> None:
        monitor = self._monitor or current_monitor()
        monitor.machine = self.description
        monitor.log_sample(sample)
        self.samples.append(sample)


# ---- readings -------------------------------------------------------------------------------------------------------


def _readers() -> dict[str, Reader]:
    process, cores = psutil.Process(), sorted(own_cores())
    psutil.cpu_percent(percpu=True)  # the first call has nothing to compare with
    return {
        "cores": lambda: (_core_use(cores), {}),
        "own memory": lambda: ({"own_memory_bytes": process.memory_info().rss}, {}),
        "memory": lambda: (_memory_use(), {}),
        "swap": _swap_use,
        "own disk traffic": lambda: ({}, _bytes("own", process.io_counters())),
        "disk traffic": lambda: ({}, _bytes("disk", psutil.disk_io_counters())),
        "page faults": lambda: ({}, _usage()),
    }


def _core_use(cores: list[int]) -> Numbers:
    percent = psutil.cpu_percent(percpu=True)
    own = [percent[core] for core in cores if core < len(percent)] or percent
    return {"cpu_percent": sum(own) / len(own), "busiest_core_percent": max(own), "core_percent": own}


def _memory_use() -> Numbers:
    memory = psutil.virtual_memory()
    return {"available_bytes": memory.available, "available_percent": 100.0 * memory.available / memory.total}


def _swap_use() -> tuple[Numbers, Numbers]:
    swap = psutil.swap_memory()
    return {"swap_used_bytes": swap.used}, {"swapped_in_bytes": swap.sin, "swapped_out_bytes": swap.sout}


def _bytes(name: str, counters: Any) -> Numbers:
    if counters is None:
        raise OSError("this system counts none")
    return {f"{name}_read_bytes": counters.read_bytes, f"{name}_write_bytes": counters.write_bytes}


def _usage() -> Numbers:
    """Of this process with all its threads: one system call, where psutil reads and parses three files."""
    import resource  # Windows has none

    used = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "own_cpu_seconds": used.ru_utime + used.ru_stime,
        "major_faults": used.ru_majflt,  # pages that came from the disk
        "minor_faults": used.ru_minflt,
        "voluntary_switches": used.ru_nvcsw,
        "involuntary_switches": used.ru_nivcsw,
    }


def _named(rates: Numbers, cpus: float) -> Numbers:
    """Units into the names: `own_read_bytes` has become `own_read_bytes_per_s`, seconds of CPU per second a share."""
    named = {f"{name}_per_s": round(rate, 3) for name, rate in rates.items()}
    own = named.pop("own_cpu_seconds_per_s", None)
    return named if own is None else named | {"own_cpu_percent": 100 * own, "own_cpu_share_percent": 100 * own / cpus}
