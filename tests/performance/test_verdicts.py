"""The pure part of the doctor: hand-made measurements in, the cause and what its cure would bring out."""

import pytest

from myxtts.performance.diagnose import judge
from myxtts.performance.measurements import Measurements
from myxtts.performance.structure import Stage, Structure

CLEAN = [Stage("Prefetch"), Stage("ParallelMap", 2, {"GatherV2": 1}), Stage("Range")]


def measured(**changes):
    """A loader of 1 ms behind a device of 10 ms, all of it overlapped."""
    numbers = {"batch": 32, "cores": 2, "device_ms": 10.0, "device_cores": 0.0, "loader_ms": 1.0, "loader_cores": 1.0,
               "idle_cores": 1.0, "loop_ms": 10.1, "wait_ms": 0.1, "compute_ms": 10.0, "loop_steps": 100,
               "structure": Structure(list(CLEAN))}  # fmt: skip
    return Measurements(**{**numbers, **changes})


def slow(structure, **changes):
    """A loader that takes 100 ms a batch."""
    numbers = {"loader_ms": 100.0, "loop_ms": 100.0, "wait_ms": 90.0, "structure": structure}
    return measured(**{**numbers, **changes})


PYTHON = Structure([Stage("Prefetch"), Stage("Batch"), Stage("ParallelMap", 2, {"PyFunc": 1}), Stage("Range")])
SERIAL = Structure([Stage("Prefetch"), Stage("Batch"), Stage("Map", None, {"SortV2": 1}), Stage("Range")])
FILES = Structure([Stage("Prefetch"), Stage("Batch"), Stage("ParallelMap", 2, {"ReadFile": 1}), Stage("Range")])
NO_PREFETCH = Structure([Stage("Batch"), Stage("ParallelMap", 2, {"SortV2": 1}), Stage("Range")])

CASES = {
    "healthy": measured(),
    "python_function": slow(PYTHON, python_calls_per_batch=32.0),
    "too_few_workers": slow(SERIAL),
    "slow_disk": slow(FILES, loader_cores=0.1, read_mb_per_batch=2.0, read_calls_per_batch=32),
    "no_prefetch": measured(loader_ms=10.0, loader_cores=1.9, idle_cores=0.0, loop_ms=20.0, wait_ms=10.0,
                            structure=NO_PREFETCH),
    "eager_step": measured(device_cores=1.0, graph_ms=2.0),
    "retracing": measured(loop_ms=60.0, compute_ms=60.0, traces=50, new_shapes=50, new_shape_ms=110.0),
}  # fmt: skip


@pytest.mark.parametrize("cause", CASES)
def test_the_cause_is_named(cause):
    assert judge(CASES[cause]).verdict == cause


@pytest.mark.parametrize("found", CASES.values(), ids=CASES)
def test_shares_sum_to_one_and_cures_are_worth_it(found):
    verdict = judge(found)
    assert sum(verdict.shares.values()) == pytest.approx(1.0, abs=0.01)
    gains = [verdict.predicted(cure)["gain"] for cure in verdict.cures]
    assert gains == sorted(gains, reverse=True)
    assert all(gain >= 1.1 for gain in gains)
    assert verdict.healthy == (not gains)


@pytest.mark.parametrize("cause", CASES)
def test_measurements_survive_json(cause):
    again = Measurements.from_dict(CASES[cause].to_dict())
    assert judge(again).to_dict() == judge(CASES[cause]).to_dict()


def test_packing_is_predicted_to_leave_the_device():
    verdict = judge(CASES["python_function"])
    assert verdict.predicted(verdict.cures[0])["gain"] == pytest.approx(10.0, rel=0.1)
    assert verdict.utilisation == pytest.approx(0.1)


def test_a_function_around_a_compiled_step_is_not_taken_for_an_eager_one():
    retraced = measured(loop_ms=60.0, compute_ms=60.0, traces=50, new_shapes=50, new_shape_ms=110.0, graph_ms=9.5)
    assert judge(retraced).verdict == "retracing"
