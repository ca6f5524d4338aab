"""The monitor as every room uses it: nothing is lost, from any thread, and what comes out is plain JSON."""

import json
import subprocess
import sys
import threading

import pytest

from myxtts.monitor import Monitor, current_monitor, start_monitor
from myxtts.monitor.record import _KEPT_STEPS


def test_it_imports_no_tensorflow_and_nothing_that_looks_at_the_machine():
    forbidden = {"tensorflow", "psutil", "pynvml"}
    code = f"import sys, myxtts.monitor as m; m.Monitor().summary(); sys.exit(bool({forbidden} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_one_is_current_until_another_is_started():
    first = start_monitor()
    assert current_monitor() is first
    second = start_monitor()
    assert current_monitor() is second
    assert second is not first


def test_a_span_is_counted_even_if_its_work_fails():
    monitor = Monitor()
    with monitor.time_operation("pack"):
        pass
    with pytest.raises(ZeroDivisionError), monitor.time_operation("pack"):
        1 / 0  # noqa: B018
    span = monitor.summary()["spans"]["pack"]
    assert span["count"] == 2
    assert 0 <= span["max_ms"] <= span["total_ms"]
    assert span["mean_ms"] == span["total_ms"] / 2


def test_only_one_thread_is_the_first_to_count():
    monitor, firsts = Monitor(), []

    def work():
        for _ in range(500):
            if monitor.count("python_path") == 1:
                firsts.append(threading.current_thread().name)
            monitor.log_step_timing(0.001, 0.003, 2)
            with monitor.time_operation("step"):
                pass

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(firsts) == 1
    assert monitor.counters["python_path"] == monitor.logged_steps == monitor.spans["step"].count == 2000
    assert monitor.stall() == pytest.approx(0.25)


def test_counts_know_whether_steps_had_begun_and_when_they_were_seen():
    monitor = Monitor()
    monitor.count("step.traces", 8)
    assert monitor.late["step.traces"] == 0
    for _ in range(3):
        monitor.log_step_timing(0.001, 0.001, 1)
    monitor.count("step.traces")
    monitor.count("python_path")
    assert dict(monitor.late) == {"step.traces": 1, "python_path": 1}
    traces, python = monitor.seen["step.traces"], monitor.seen["python_path"]
    assert (traces.first_step, traces.last_step) == (0, 3)
    assert (python.first_step, python.last_step) == (3, 3)
    assert 0 <= traces.first_seconds <= traces.last_seconds


def test_stall_is_of_all_steps_although_only_the_last_are_kept():
    monitor = Monitor()
    for _ in range(1000):
        monitor.log_step_timing(0.003, 0.001, 1)
    for _ in range(_KEPT_STEPS):
        monitor.log_step_timing(0.0, 0.001, 1)
    assert len(monitor.steps) == _KEPT_STEPS
    assert monitor.summary()["steps"] == _KEPT_STEPS + 1000
    assert monitor.stall() == pytest.approx(2997 / (2997 + _KEPT_STEPS + 999))
    assert monitor.get_bottleneck_analysis()["stall"] == 0.0  # of now, when nothing waits


def test_the_first_batch_which_every_run_waits_for_is_no_stall():
    """As the report counts it: a run is told one number wherever it is told."""
    monitor = Monitor()
    monitor.log_step_timing(0.9, 0.1, 1)
    assert monitor.stall() == 0.0
    for _ in range(9):
        monitor.log_step_timing(0.01, 0.09, 1)
    assert monitor.stall() == pytest.approx(0.1)


def test_before_the_first_step_there_is_nothing_to_divide_by():
    monitor = Monitor()
    summary = monitor.summary()
    assert summary["stall"] == 0.0
    assert summary["timings"] is None
    assert monitor.get_bottleneck_analysis()["verdict"] == "unknown"
    assert "unknown" in monitor.get_summary_report()


def test_the_summary_is_plain_json():
    monitor = Monitor()
    for step in range(100):
        monitor.log_step_timing(0.040 if step % 8 == 0 else 0.001, 0.005, 32)
        monitor.count("python_path")
    with monitor.time_operation("validate"):
        pass
    monitor.log_sample({"at": 1.0, "cpu_percent": 50.0, "core_percent": [40.0, 60.0]})
    summary = monitor.summary()
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    assert summary["timings"]["all"]["steps"] == 100
    assert summary["timings"]["window"]["steps"] == 95  # without the warm-up
    assert summary["timings"]["window"]["oscillation"]["period_steps"] == 8
    assert summary["machine"]["columns"]["cpu_percent"] == {"mean": 50.0, "min": 50.0, "max": 50.0}
    # The trainer writes these beside the summary's own keys.
    assert not {"kind", "step", "time", "traces_after_start"} & set(summary)


def test_records_hold_each_machine_sample_once():
    monitor = Monitor()
    assert set(monitor.to_records()) == {"report"}
    for at in range(30):
        monitor.log_sample({"at": float(at), "cpu_percent": float(at % 2)})
    assert monitor.to_records()["machine"]["at"] == [float(at) for at in range(30)]
    assert set(monitor.to_records()) == {"report"}
    for at in range(5000):  # more than are kept, more than a line takes
        monitor.log_sample({"at": float(at), "cpu_percent": float(at % 2)})
    columns = monitor.take_samples()
    assert len(columns["at"]) == len(columns["cpu_percent"]) == 60
    assert columns["at"] == sorted(columns["at"])
    assert columns["at"][0] == pytest.approx(1400 + 29.5)  # the oldest kept are 1400..1459
    assert set(columns["cpu_percent"]) == {0.5}
    assert monitor.take_samples() == {}
