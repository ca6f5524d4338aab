"""`data.frame_budget: auto`: as many frames as the memory holds, said, kept in the run, and the run of that number."""

import mmap
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import tensorflow as tf
from fake_nvml import FakeNvml
from small_data import small_config
from stand_in import StandInModel, build_stand_in

from myxtts.cache.reader import Cache
from myxtts.config.config import load
from myxtts.errors import ConfigError, TrainingError
from myxtts.machine import nvml
from myxtts.monitor import start_monitor
from myxtts.training import frame_budget
from myxtts.training.crew import Crew
from myxtts.training.device_memory import GpuMemory, HostMemory
from myxtts.training.frame_budget import find_budget
from myxtts.training.run_log import read_log
from myxtts.training.start import same_everywhere

FIXED, PER_FRAME = 100_000, 10_000


class Watched(StandInModel):
    """Remembers the shape of the last batch; of an eager step that is each one."""

    shape = (0, 0)

    def losses_of(self, batch, seed, step):
        Watched.shape = batch["mel"].shape[:2]
        return super().losses_of(batch, seed, step)


class MockMemory:
    """Where a step takes what a batch of its shape would."""

    share, name = 0.5, "mock memory"

    def __init__(self, free: int, per_row: int = 0):
        self._free, self._per_row = free, per_row

    def free_bytes(self) -> int:
        return self._free

    def taken_by(self, work) -> int:
        work()
        return self.of(*Watched.shape)

    def of(self, rows: int, frames: int) -> int:
        return FIXED + rows * (frames * PER_FRAME + self._per_row)


def budget_with(monkeypatch, cache: Path, memory: MockMemory, **data):
    monkeypatch.setattr(frame_budget, "memory_of", lambda crew: memory)
    config = small_config({"num_buckets": 3, "frame_budget": "auto", **data}, enable_eager_debug=True)
    return find_budget(config, Cache(cache), (), Crew(), lambda *given: build_stand_in(*given, kind=Watched))


def longest_of(cache: Path) -> int:
    return -(-int(Cache(cache).columns["n_frames"].max()) // 4) * 4


def test_the_budget_is_what_the_memory_holds(voice_cache, monkeypatch):
    longest = longest_of(voice_cache)
    memory = MockMemory(2 * MockMemory(0).of(3, longest) + 10)
    budget = budget_with(monkeypatch, voice_cache, memory)
    assert (budget.frames, budget.longest) == (3 * longest, longest)
    assert budget.needed_bytes == pytest.approx(memory.of(3, longest))
    assert budget.needed_bytes <= budget.allowed_bytes
    assert not budget.capped
    said = budget.describe(0.9)
    assert re.search(rf"auto is {3 * longest} padded frames a batch, 3 of the .* mock memory\. 90\.0% .* useful", said)
    assert re.search(r"[\d,]+ of them a second in the probe", said)


def test_what_a_row_takes_counts_most_where_rows_are_short(voice_cache, monkeypatch):
    """In the shortest shape a batch of the same frames has more rows, each with a reference clip."""
    longest = longest_of(voice_cache)
    row = longest * PER_FRAME // 5
    free = 2 * int(FIXED + 3.2 * (longest * PER_FRAME + row))  # for three of the longest, rows included
    budgets = [budget_with(monkeypatch, voice_cache, MockMemory(free, per_row)) for per_row in (0, row)]
    assert [budget.frames for budget in budgets] == [3 * longest, 2 * longest]


def test_a_small_corpus_is_not_taken_in_two_bites(voice_cache, monkeypatch):
    budget = budget_with(monkeypatch, voice_cache, MockMemory(10**12))
    assert budget.capped
    assert budget.frames <= int(Cache(voice_cache).columns["n_frames"].sum()) // 8
    assert "an epoch needs at least 8 batches" in budget.describe(0.9)


def test_memory_for_no_utterance_at_all_is_said(voice_cache, monkeypatch):
    with pytest.raises(TrainingError, match="one utterance of .* frames takes .* GB, and a step may use .* GB of the"):
        budget_with(monkeypatch, voice_cache, MockMemory(FIXED))


def test_the_probe_leaves_nothing_in_the_runs_monitor(voice_cache, monkeypatch):
    monitor = start_monitor()
    budget_with(monkeypatch, voice_cache, MockMemory(10**12))
    assert not monitor.counters


def test_several_workers_are_given_a_number():
    with pytest.raises(ConfigError, match="several workers need one number"):
        same_everywhere(load(overrides=["data.frame_budget=auto"]))


def test_what_a_piece_of_work_takes_of_the_host_is_seen():
    def take(megabytes: int) -> None:
        with mmap.mmap(-1, megabytes << 20) as fresh:  # pages from the kernel, whatever malloc has kept
            for _ in range(megabytes):
                fresh.write(bytes(1 << 20))

    memory = HostMemory()
    sizes = [memory.taken_by(lambda n=n: take(n)) for n in (1, 100, 2)]
    assert 80 << 20 < sizes[1] - sizes[0] < 120 << 20
    assert sizes[2] >= sizes[1]  # the most so far
    assert memory.free_bytes() > 0


def test_of_several_gpus_the_one_that_takes_most_and_the_one_with_least_count(monkeypatch):
    asked = {"GPU:0": iter([100, 700]), "GPU:1": iter([100, 900])}
    monkeypatch.setattr(
        tf.config.experimental,
        "get_memory_info",
        lambda device: dict.fromkeys(("current", "peak"), next(asked[device])),
    )
    monkeypatch.setattr(tf.config.experimental, "reset_memory_stats", lambda device: None)
    memory = GpuMemory(["/device:GPU:0", "/device:GPU:1"])
    assert memory.taken_by(lambda: None) == 800
    monkeypatch.setattr(nvml, "_package", lambda: FakeNvml(2))
    assert memory.free_bytes() == (24 << 30) - 2_000_000_000
    monkeypatch.setattr(nvml, "_package", lambda: FakeNvml(1, fails=["nvmlDeviceGetMemoryInfo"]))
    with pytest.raises(TrainingError, match="set data.frame_budget to a number"):
        memory.free_bytes()


class OneIsFull(FakeNvml):
    """The first GPU is somebody else's."""

    def nvmlDeviceGetMemoryInfo(self, handle):
        return SimpleNamespace(total=24 << 30, used=24 << 30 if handle == "handle 0" else 1 << 30)


@pytest.mark.parametrize(("visible", "free"), [("1", 23 << 30), ("1,0", 23 << 30), ("0", 0), ("GPU-5ebe9d48", 0)])
def test_a_gpu_that_does_not_train_does_not_count(monkeypatch, visible, free):
    monkeypatch.setattr(nvml, "_package", lambda: OneIsFull(2))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert GpuMemory(["/device:GPU:0"]).free_bytes() == free


# ---- by the command ------------------------------------------------------------------------------------------------


def train(cache: Path, run: Path, steps: int, budget: str) -> str:
    """What it says."""
    settings = {"data.num_buckets": 3, "data.batch_size": 8, "data.reference_frames": 32, "training.sample_steps": 0,
                "data.auto_tune_performance": "false", "training.precision": "float32", "data.frame_budget": budget,
                "training.deterministic": "true", "training.start_from": "scratch"}  # fmt: skip
    words = ["train", "--data", cache, "--run", run, "--steps", steps]
    words += [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    tests = Path(__file__).parents[1]
    paths = [str(tests), str(tests / "training"), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "TF_CPP_MIN_LOG_LEVEL": "3"}
    command = [sys.executable, tests / "training" / "stand_in_run.py", *words]
    done = subprocess.run([*map(str, command)], env=environment, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stderr


def losses(run: Path) -> dict[int, float]:
    return {line["step"]: line["loss"] for line in read_log(run) if line["kind"] == "step"}


@pytest.mark.slow
def test_a_run_keeps_what_was_found_and_is_the_run_of_that_number(voice_cache, tmp_path):
    said = train(voice_cache, tmp_path / "auto", 5, "auto")
    number = int(re.search(r"data\.frame_budget: auto is (\d+) padded frames a batch", said)[1])
    assert load(tmp_path / "auto" / "config.yaml").data.frame_budget == number
    assert "padded frames a batch" not in train(voice_cache, tmp_path / "auto", 9, "auto")  # nor is it sought again
    train(voice_cache, tmp_path / "given", 9, str(number))
    assert losses(tmp_path / "auto") == losses(tmp_path / "given")
    assert len(losses(tmp_path / "auto")) == 9
