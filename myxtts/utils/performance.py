"""The monitor under its documented names.

    start_performance_monitoring()
    for batch in batches:
        ...
        get_performance_monitor().log_step_timing(data_seconds, compute_seconds, batch_size)
    print_performance_report()

`log_step_timing(data, compute, batch)` takes what the step waited for its batch and what it then computed, both in
seconds as `time.perf_counter` gives them, and how many utterances it had. An `XTTSTrainer` starts a monitor of its own
(`trainer.performance_monitor`); the machine is sampled into whichever is in use.
"""

from __future__ import annotations

import threading

from myxtts.machine.sampler import MachineSampler
from myxtts.monitor import Monitor as PerformanceMonitor
from myxtts.monitor import current_monitor as get_performance_monitor
from myxtts.monitor import start_monitor

__all__ = [
    "PerformanceMonitor",
    "get_performance_monitor",
    "print_performance_report",
    "start_performance_monitoring",
]

_sampler = MachineSampler()
_lock = threading.Lock()


def start_performance_monitoring() -> PerformanceMonitor:
    """Begin afresh with an empty monitor; the machine is sampled once a second, by one thread however often called."""
    with _lock:
        monitor = start_monitor()
        _sampler.start()
    return monitor


def print_performance_report() -> None:
    print(get_performance_monitor().get_summary_report(), flush=True)  # noqa: T201 - it is what its name says
