"""The documented names do what the design says, and one thread serves however many calls."""

import threading

import pytest

from myxtts import monitor as room
from myxtts.utils import performance


@pytest.fixture(autouse=True)
def _stopped():
    yield
    performance._sampler.stop()
    room.start_monitor()


def samplers():
    return [thread for thread in threading.enumerate() if thread.name == "myxtts-machine"]


def test_the_monitor_has_its_documented_methods():
    for name in ("time_operation", "log_step_timing", "get_bottleneck_analysis", "get_summary_report"):
        assert callable(getattr(performance.PerformanceMonitor, name))
    assert performance.PerformanceMonitor is room.Monitor


def test_starting_twice_leaves_one_thread_and_an_empty_monitor():
    first = performance.start_performance_monitoring()
    first.count("python_path")
    second = performance.start_performance_monitoring()
    assert performance.get_performance_monitor() is second is room.current_monitor()
    assert second.counters == {}
    assert len(samplers()) == 1


def test_it_can_be_started_again_after_the_thread_has_ended():
    performance.start_performance_monitoring()
    performance._sampler.stop()
    assert samplers() == []
    performance.start_performance_monitoring()
    assert len(samplers()) == 1


def test_the_report_is_printed(capsys):
    monitor = performance.start_performance_monitoring()
    for _ in range(20):
        with monitor.time_operation("step"):
            pass
        monitor.log_step_timing(0.030, 0.010, 8)  # positional, in seconds
    performance.print_performance_report()
    printed = capsys.readouterr().out
    assert "data: the step waits 75.0% of its time" in printed
    assert "200 utterances/s" in printed  # 8 in 40 ms


def test_importing_it_starts_nothing_and_needs_no_tensorflow():
    import subprocess
    import sys

    code = (
        "import sys, threading, myxtts.utils.performance; "
        "sys.exit('tensorflow' in sys.modules or threading.active_count() > 1)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
