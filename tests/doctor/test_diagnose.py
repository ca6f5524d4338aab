"""The pure part of the doctor: recorded measurements of the gallery must give their cause, and the rules must be sane.

`gallery.json` is recorded by `python benchmarks/gallery.py --record tests/doctor/gallery.json`.
"""

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from myxtts.doctor.diagnosis import judge
from myxtts.doctor.measurements import Measurements
from myxtts.doctor.rules import loop_after
from myxtts.doctor.structure import Stage, Structure
from myxtts.thresholds import WORTH_IT

GALLERY = {row["case"]: row for row in json.loads(Path(__file__).with_name("gallery.json").read_text())}
CAUSES = {name: row["cause"] for name, row in GALLERY.items()}
TIMES = ("device_ms", "loader_ms", "loop_ms", "wait_ms", "compute_ms", "new_shape_ms", "graph_ms", "double_ms",
         "short_ms", "first_batch_ms")  # fmt: skip


def recorded(case):
    return Measurements.from_dict(GALLERY[case]["measured"])


every_case = pytest.mark.parametrize("case", GALLERY)
healthy_case = pytest.mark.parametrize("case", [case for case, cause in CAUSES.items() if cause == "healthy"])


# ---- the recorded gallery -------------------------------------------------------------------------------------------


def test_the_gallery_is_large_enough():
    assert sum(cause != "healthy" for cause in CAUSES.values()) >= 14
    assert sum(cause == "healthy" for cause in CAUSES.values()) >= 2
    assert len(set(CAUSES.values())) >= 13


@every_case
def test_each_recording_gives_its_cause(case):
    diagnosis = judge(recorded(case))
    assert diagnosis.verdict == CAUSES[case]
    assert diagnosis.healthy is (CAUSES[case] == "healthy")
    assert diagnosis.evidence


@every_case
def test_shares_sum_to_one(case):
    shares = judge(recorded(case)).shares
    assert sum(shares.values()) == pytest.approx(1.0, abs=1e-9)
    assert min(shares.values()) >= 0


@every_case
def test_every_cure_is_worth_it_and_the_best_comes_first(case):
    diagnosis = judge(recorded(case))
    gains = [diagnosis.predicted(cure)["gain"] for cure in diagnosis.cures]
    assert gains == sorted(gains, reverse=True)
    assert all(gain >= WORTH_IT for gain in gains)
    assert all(0 < diagnosis.predicted(cure)["utilisation"] <= 1 for cure in diagnosis.cures)
    assert bool(gains) is not diagnosis.healthy


@every_case
def test_what_is_printed_and_what_is_json_agree(case):
    diagnosis = judge(recorded(case))
    as_json = json.loads(json.dumps(diagnosis.to_dict()))
    assert as_json["verdict"] == diagnosis.verdict
    gains = [diagnosis.predicted(cure)["gain"] for cure in diagnosis.cures]
    assert [cure["gain"] for cure in as_json["cures"]] == gains
    assert judge(Measurements.from_dict(as_json["measured"])).to_dict() == diagnosis.to_dict()
    printed = str(diagnosis).splitlines()
    assert printed[0].startswith(f"verdict: {diagnosis.verdict.replace('_', ' ')} (")
    assert sum(line.startswith("  cure ") for line in printed) == len(diagnosis.cures)


@every_case
def test_labels_decide_nothing(case):
    """The names of stages in TensorFlow's model are shuffled and then replaced: the verdict stays."""
    measurements = recorded(case)
    names = list(measurements.stages)
    for seed in range(3):
        mixed = random.Random(seed).sample(names, len(names))
        shuffled = replace(measurements, stages=dict(zip(mixed, measurements.stages.values(), strict=True)))
        assert judge(shuffled).verdict == CAUSES[case]
    numbered = replace(measurements, stages={str(n): ms for n, ms in enumerate(measurements.stages.values())})
    assert judge(numbered).verdict == CAUSES[case]
    assert judge(replace(measurements, stages={})).verdict == CAUSES[case]


def test_functions_of_a_graph_are_not_judged_by_their_names():
    """Stages whose operations carry somebody's names, as nested functions do, change nothing."""
    named = 0
    for case, cause in CAUSES.items():
        measurements = recorded(case)
        stages = [
            replace(stage, ops=stage.ops | {"__inference_numpy_py_func_read_file_7": 3}) if stage.ops else stage
            for stage in measurements.structure.stages
        ]
        named += stages != measurements.structure.stages
        assert judge(replace(measurements, structure=replace(measurements.structure, stages=stages))).verdict == cause
    assert named >= 10  # of the gallery's pipelines: the others are Python iterables


@healthy_case
@given(scale=st.floats(0.25, 4.0))
@settings(max_examples=30)
def test_healthy_stays_healthy_when_all_times_scale_together(case, scale):
    measurements = recorded(case)
    scaled = {name: getattr(measurements, name) * scale for name in TIMES if getattr(measurements, name) is not None}
    intervals = [ms * scale for ms in measurements.intervals_ms]
    assert judge(replace(measurements, **scaled, intervals_ms=intervals)).healthy


# ---- made-up measurements -------------------------------------------------------------------------------------------

WORK = {"Mul": 3, "AddV2": 1}
PREFETCHED = Structure([Stage("Prefetch"), Stage("Batch"), Stage("Map", None, WORK), Stage("Range")])
PYTHON = Structure([Stage("Prefetch"), Stage("Batch"), Stage("Map", None, {"PyFunc": 1}), Stage("Range")])
ITERABLE = Structure([], None, is_dataset=False)
WIDE = Structure([Stage("Prefetch"), Stage("Batch"), Stage("ParallelMap", -1, WORK), Stage("Range")])
READING = Structure([Stage("Prefetch"), Stage("Batch"), Stage("ParallelMap", -1, {"ReadFile": 1}), Stage("Range")])
SERIAL = Structure([Stage("Batch"), Stage("Map", None, WORK), Stage("Range")])


def measured(device_ms, loader_ms, structure, overlap=1.0, **others):
    """A loop as these parts would give it."""
    loop_ms = max(device_ms, loader_ms) + (1 - overlap) * min(device_ms, loader_ms)
    values = {"batch": 16, "cores": 2, "device_cores": 0.0, "loader_cores": 1.0, "idle_cores": 1.0} | others
    return Measurements(device_ms=device_ms, loader_ms=loader_ms, loop_ms=loop_ms, compute_ms=device_ms,
                        wait_ms=loop_ms - device_ms, structure=structure, **values)  # fmt: skip


milliseconds = st.floats(0.5, 500.0)
structures = st.sampled_from([PREFETCHED, PYTHON, ITERABLE, WIDE, READING, SERIAL])
cores_busy = st.floats(0.0, 2.0)


@given(milliseconds, milliseconds, structures, st.floats(0.0, 1.0), cores_busy)
def test_any_numbers_give_a_verdict(device_ms, loader_ms, structure, overlap, busy):
    diagnosis = judge(measured(device_ms, loader_ms, structure, overlap, loader_cores=busy, idle_cores=2.0 - busy))
    assert diagnosis.verdict
    assert sum(diagnosis.shares.values()) == pytest.approx(1.0)
    assert all(diagnosis.predicted(cure)["gain"] >= WORTH_IT for cure in diagnosis.cures)
    assert str(diagnosis)


@given(milliseconds, milliseconds, structures, cores_busy, st.floats(1.0, 20.0))
def test_a_faster_device_never_makes_a_starved_loop_healthy(device_ms, loader_ms, structure, busy, faster):
    others = {"loader_cores": busy, "idle_cores": 2.0 - busy}
    slow = judge(measured(device_ms, loader_ms, structure, **others))
    fast = judge(measured(device_ms / faster, loader_ms, structure, **others))
    assert slow.healthy or not fast.healthy


@given(milliseconds, milliseconds, structures, cores_busy, st.floats(1.0, 20.0))
def test_a_faster_loader_never_predicts_more_from_packing(device_ms, loader_ms, structure, busy, faster):
    def gain(each_ms):
        diagnosis = judge(measured(device_ms, each_ms, structure, loader_cores=busy, idle_cores=2.0 - busy))
        return max((diagnosis.predicted(cure)["gain"] for cure in diagnosis.cures), default=1.0)

    assert gain(loader_ms / faster) <= max(gain(loader_ms), WORTH_IT) + 1e-6


@given(milliseconds, milliseconds, structures, st.floats(0.0, 1.0))
def test_no_cure_makes_the_loop_faster_than_its_device(device_ms, loader_ms, structure, overlap):
    diagnosis = judge(measured(device_ms, loader_ms, structure, overlap))
    assert all(cure.predicted_ms >= device_ms * 0.999 for cure in diagnosis.cures)


@given(milliseconds, milliseconds, st.floats(0.0, 1.0))
def test_the_loop_that_nothing_changes_is_the_loop(device_ms, loader_ms, overlap):
    measurements = measured(device_ms, loader_ms, PREFETCHED, overlap)
    assert loop_after(measurements) == pytest.approx(measurements.loop_ms, rel=1e-6)


@pytest.mark.parametrize(
    ("measurements", "verdict"),
    [
        (measured(10, 40, PYTHON), "python_function"),
        (measured(10, 40, PYTHON, python_calls_per_batch=16.0), "python_function"),
        (measured(10, 40, PYTHON, python_calls_per_batch=0.0, loader_cores=1.9, idle_cores=0.1), "host_cores"),
        (measured(10, 40, ITERABLE, overlap=0.0), "python_loader"),
        (measured(10, 5, ITERABLE, overlap=0.0), "no_prefetch"),
        (measured(10, 5, SERIAL, overlap=0.0), "no_prefetch"),
        (measured(10, 5, SERIAL, overlap=1.0), "healthy"),
        (measured(10, 40, PREFETCHED), "too_few_workers"),
        (measured(10, 40, WIDE, loader_cores=1.9, idle_cores=0.1), "host_cores"),
        (measured(10, 40, WIDE, loader_cores=0.9, idle_cores=0.1), "host_cores"),  # others have the second core
        (measured(10, 40, WIDE, loader_cores=0.1, idle_cores=1.9), "slow_loader"),
        (measured(10, 40, READING, loader_cores=1.9, idle_cores=0.1), "per_file_reads"),
        (measured(10, 40, READING, loader_cores=0.2, idle_cores=1.8, read_mb_per_batch=1.0), "slow_disk"),
        (measured(10, 40, READING, loop_disk_mb_per_batch=4.0, major_faults_per_batch=9.0), "memory_pressure"),
        (measured(10, 1, PREFETCHED), "healthy"),
    ],
)  # fmt: skip
def test_what_numbers_mean(measurements, verdict):
    assert judge(measurements).verdict == verdict


def test_two_workers_are_too_few_for_sixteen_cores():
    two = replace(WIDE, stages=[Stage("Prefetch"), Stage("ParallelMap", 2, WORK), Stage("Range")])
    diagnosis = judge(measured(10, 80, two, cores=16, loader_cores=2.0, idle_cores=14.0))
    assert diagnosis.verdict == "too_few_workers"
    assert diagnosis.predicted(diagnosis.cures[0])["gain"] == pytest.approx(8.0)


def test_a_wait_that_nothing_explains_is_not_healthy():
    diagnosis = judge(replace(measured(10, 2, PREFETCHED), loop_ms=16.0, wait_ms=6.0))
    assert (diagnosis.verdict, diagnosis.cures, diagnosis.healthy) == ("unexplained", [], False)


def test_a_loader_that_is_fast_enough_but_uneven():
    uneven = measured(10, 6, ITERABLE, overlap=0.1)
    waves = judge(replace(uneven, intervals_ms=([1.0] * 15 + [80.0]) * 20))
    stops = random.Random(3).sample([1.0] * 300 + [80.0] * 10, 310)
    now_and_then = judge(replace(uneven, intervals_ms=stops))
    assert waves.verdict == now_and_then.verdict == "oscillation"
    assert "in waves of 16" in waves.evidence[0]
    assert "10 stops of up to 80 ms" in now_and_then.evidence[0]


@pytest.mark.parametrize("spread", [0.05, 0.3, 0.6])
@pytest.mark.parametrize("loader_ms", [8.0, 10.0, 40.0])
def test_an_iterable_that_is_slow_in_every_batch_is_not_called_oscillation(spread, loader_ms):
    drawn = random.Random(7)
    intervals = [loader_ms * drawn.lognormvariate(-spread * spread / 2, spread) for _ in range(300)]
    slow = replace(measured(10, loader_ms, ITERABLE, overlap=0.0), intervals_ms=intervals)
    assert judge(slow).verdict in ("python_loader", "no_prefetch")


def test_padding_costs_only_what_the_length_costs():
    padded = measured(20, 1, PREFETCHED, useful_share=0.6)
    in_proportion = judge(replace(padded, short_ms=10.0))
    assert in_proportion.verdict == judge(padded).verdict == "padding_waste"
    assert in_proportion.predicted(in_proportion.cures[0])["gain"] == pytest.approx(0.93 / 0.6)
    assert judge(replace(padded, short_ms=20.0)).healthy  # as an emulated accelerator: it does not look at the batch


def test_shapes_that_come_again_are_not_compiled_for_ever():
    met = {"new_shapes": 7, "new_shape_ms": 900.0, "loop_steps": 60}
    assert judge(measured(20, 1, PREFETCHED, few_shapes=True, **met)).healthy
    endless = replace(measured(20, 1, PREFETCHED, **met), compute_ms=120.0, loop_ms=120.5, wait_ms=0.5)
    assert judge(endless).verdict == "recompilation"
    assert judge(replace(endless, traces=7)).verdict == "retracing"


def test_a_step_traced_with_every_call_is_not_called_eager():
    slow = measured(100, 1, PREFETCHED, graph_ms=5.0)
    assert judge(slow).verdict == "eager_step"
    assert judge(replace(slow, resident_traces=1.0, traces=50)).verdict == "retracing"


def test_a_step_that_no_graph_can_be_made_of_is_not_called_healthy_while_it_is_retraced():
    retraced = judge(measured(10, 1, PREFETCHED, resident_traces=1.0, traces=50, trace_ms=8.0))
    assert (retraced.verdict, retraced.limiting) == ("retracing", "the step")
    assert "tracing takes 8.0 ms of each step of 10.0 ms" in retraced.evidence
    assert retraced.predicted(retraced.cures[0])["gain"] == pytest.approx(5.0)


def test_a_function_around_a_compiled_step_is_not_taken_for_an_eager_one():
    retraced = {"compute_ms": 60.0, "loop_ms": 60.0, "traces": 50, "new_shapes": 50, "new_shape_ms": 110.0}
    assert judge(replace(measured(10, 1, PREFETCHED, graph_ms=9.5), **retraced)).verdict == "retracing"


def test_packing_is_predicted_to_leave_the_device():
    diagnosis = judge(measured(10, 100, PYTHON, python_calls_per_batch=32.0))
    assert diagnosis.utilisation == pytest.approx(0.1)
    assert diagnosis.predicted(diagnosis.cures[0])["gain"] == pytest.approx(10.0, rel=0.1)


def test_a_slow_start_is_told():
    quick = measured(10, 1, PREFETCHED)
    assert "the first batch came after 7 s" in str(judge(replace(quick, first_batch_ms=7000.0)))
    assert "first batch" not in str(judge(quick))
