"""What a monitor recorded, judged: one table of thresholds, and cures that name settings which exist."""

import json
import re

import pytest

from myxtts.config.config import XTTSConfig
from myxtts.doctor.causes import CAUSES, VERDICTS
from myxtts.doctor.verdicts import analyse
from myxtts.monitor import Monitor
from myxtts.thresholds import STALLED


def recorded(steps, data_ms=0.0, compute_ms=10.0):
    monitor = Monitor()
    for step in range(steps):
        waited_ms = data_ms(step) if callable(data_ms) else data_ms
        monitor.log_step_timing(waited_ms / 1e3, compute_ms / 1e3, 8)
    return monitor


def advice(monitor):
    return " | ".join(monitor.get_bottleneck_analysis()["recommendations"])


@pytest.mark.parametrize(
    ("data_ms", "verdict"), [(0.1, "healthy"), (1.1, "healthy"), (1.2, "data"), (3.0, "data"), (90.0, "data")]
)
def test_the_verdict_follows_the_stall(data_ms, verdict):
    analysis = recorded(30, data_ms).get_bottleneck_analysis()
    assert analysis["verdict"] == verdict
    assert analysis["stall"] == pytest.approx(data_ms / (data_ms + 10))
    assert (verdict == "data") == (analysis["stall"] > STALLED)
    assert analysis["jitter_class"] == "stable"


def test_a_summary_that_was_logged_is_judged_as_the_monitor_itself():
    """A run's log keeps what was recorded, not what somebody thought of it then."""
    monitor = everything_wrong()
    logged = json.loads(json.dumps(monitor.to_records()["report"]))
    assert "analysis" not in logged
    assert analyse(logged) == monitor.get_bottleneck_analysis()


def test_nine_steps_are_too_few_and_ten_are_not():
    assert recorded(9, 50.0).get_bottleneck_analysis()["verdict"] == "unknown"
    assert "at least 10 steps" in advice(recorded(9, 50.0))
    assert recorded(10, 50.0).get_bottleneck_analysis()["verdict"] == "data"


def test_filling_the_buffers_is_no_stall():
    analysis = recorded(40, lambda step: 5000.0 if step < 2 else 0.1).get_bottleneck_analysis()
    assert analysis["verdict"] == "healthy"
    assert analysis["jitter_class"] == "stable"


def test_an_old_stall_is_forgotten_after_a_thousand_steps():
    analysis = recorded(2000, lambda step: 50.0 if step < 1000 else 0.1).get_bottleneck_analysis()
    assert analysis["verdict"] == "healthy"
    assert analysis["steps"] == 1000


def test_oscillation_names_its_period_and_the_buffer_that_would_hide_it():
    monitor = recorded(200, lambda step: 60.0 if step % 8 == 0 else 0.1)
    analysis = monitor.get_bottleneck_analysis()
    assert (analysis["jitter_class"], analysis["period_steps"]) == ("oscillating", 8)
    assert analysis["period_strength"] > 0.9
    assert "data.prefetch_buffer_size=16" in advice(monitor)


def test_jitter_between_stable_and_oscillating_varies():
    analysis = recorded(200, lambda step: 8.0 if step % 2 else 0.0).get_bottleneck_analysis()
    assert analysis["jitter"] == pytest.approx(4 / 14, rel=0.02)
    assert analysis["jitter_class"] == "varying"


def test_the_python_path_is_named_with_its_share():
    monitor = recorded(20, 30.0)
    monitor.count("python_path", 40)
    analysis = monitor.get_bottleneck_analysis()
    assert analysis["python_path"] == {"utterances": 40, "share": 0.25, "total_ms": 0.0}
    assert CAUSES["python_function"].cure in advice(monitor)
    assert "the last at step 20" in monitor.get_summary_report()


def test_files_read_one_by_one_are_to_be_packed_only_if_the_step_waits():
    for data_ms, packed in ((30.0, True), (0.0, False)):
        monitor = Monitor()
        monitor.count("loader.npy")
        for _ in range(20):
            monitor.log_step_timing(data_ms / 1e3, 0.010, 8)
        assert ("pack" in advice(monitor)) is packed


def test_compiling_before_the_first_step_is_right_and_after_it_is_not():
    monitor = Monitor()
    monitor.count("step.traces", 8)
    for _ in range(20):
        monitor.log_step_timing(0.0001, 0.010, 8)
    assert monitor.get_bottleneck_analysis()["traces_after_start"] == 0
    assert "nothing to mend" in advice(monitor)
    monitor.count("step.traces")
    monitor.count("step.compilations", 2)
    analysis = monitor.get_bottleneck_analysis()
    assert (analysis["verdict"], analysis["traces_after_start"]) == ("recompilation", 3)
    assert "3 shapes were compiled after the first step" in advice(monitor)


MACHINE = [
    ({"cpu_percent": 99.0}, 30.0, "data.preprocessing_mode"),
    ({"cpu_percent": 30.0, "own_cpu_share_percent": 98.0}, 30.0, "data.preprocessing_mode"),
    ({"major_faults_per_s": 5000.0}, 30.0, "fast disk"),
    ({"available_percent": 2.0}, 0.0, "memory was down to 2.0 %"),
    ({"swapped_in_bytes_per_s": 5e7, "available_percent": 40.0}, 0.0, "swaps"),
    ({"gpu0.utilisation_percent": 12.0}, 0.0, "data.batch_size=16"),
]


@pytest.mark.parametrize(("sample", "data_ms", "said"), MACHINE)
def test_what_the_machine_shows(sample, data_ms, said):
    monitor = recorded(20, data_ms)
    assert said not in advice(monitor)
    monitor.log_sample({"at": 1.0} | sample)
    assert said in advice(monitor)


def test_a_busy_machine_whose_step_does_not_wait_is_left_alone():
    monitor = recorded(20, 0.0)
    monitor.log_sample({"at": 1.0, "cpu_percent": 99.0, "major_faults_per_s": 5000.0, "gpu0.utilisation_percent": 97.0})
    assert "nothing to mend" in advice(monitor)


def everything_wrong():
    monitor = recorded(200, lambda step: 90.0 if step % 8 == 0 else 5.0)
    for name in ("python_path", "loader.native", "step.traces", "text.hits"):
        monitor.count(name)
    for span in range(30):
        with monitor.time_operation(f"span {span} with a long name " + "x" * 80):
            pass
    for columns, _, _ in MACHINE:
        monitor.log_sample({"at": 1.0, "busiest_core_percent": 99.0, "available_bytes": 1e9} | columns)
    return monitor


def test_every_setting_that_is_recommended_exists():
    config = XTTSConfig()
    texts = [advice(everything_wrong()), advice(recorded(20, 30.0))]
    for data_ms, compute_ms in ((0.0, lambda step: 90.0 if step % 8 == 0 else 5.0),):
        monitor = Monitor()
        for step in range(200):
            monitor.log_step_timing(data_ms / 1e3, compute_ms(step) / 1e3, 8)
        texts.append(advice(monitor))
    keys = {key for text in texts for key in re.findall(r"\b(data|training|model)\.(\w+)", text)}
    assert len(keys) >= 4
    for section, key in keys:
        assert hasattr(getattr(config, section), key), key
    assert all("'myxtts doctor --run RUN'" in text for text in texts)


def test_every_verdict_can_be_said_in_words():
    assert len(CAUSES) > 15
    for name, each in VERDICTS.items():
        assert name == each.name
        assert all((each.words, each.shows, each.cure))
        assert "_" not in each.words  # it stands in a sentence
    assert {cause.part for cause in CAUSES.values()} == {"loader", "hand-over", "step"}


def test_the_slowest_spans_come_first():
    monitor = Monitor()
    for name, ms in (("quick", 1.0), ("slow", 500.0), ("middling", 20.0)):
        monitor.spans[name] = type("Fixed", (), {"total_ms": ms, "to_dict": lambda self: {"total_ms": self.total_ms}})()
    assert [span["name"] for span in monitor.get_bottleneck_analysis()["slowest_spans"]] == [
        "slow",
        "middling",
        "quick",
    ]


def test_the_report_fits_a_screen_whatever_is_wrong():
    lines = everything_wrong().get_summary_report().splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 100
    assert lines[1].startswith("  verdict  data: the step waits")


def test_what_was_packed_now_is_no_miss_of_training():
    """Packing and training in one process, as a notebook does: "0 % hits" would blame a cache that does its work."""
    monitor = recorded(20)
    assert "  cache " not in monitor.get_summary_report()  # nothing was counted
    monitor.count("cache.misses", 200)
    assert "cache    200 made, none found" in monitor.get_summary_report()
    monitor.count("cache.hits", 600)
    assert "cache    efficiency 75.0%: 600 found, 200 made" in monitor.get_summary_report()


def test_the_report_says_why_there_is_no_gpu():
    monitor = recorded(20)
    monitor.machine = {"cpus": 2, "gpu": "none: no NVIDIA driver on this machine"}
    assert "none: no NVIDIA driver" in monitor.get_summary_report()
