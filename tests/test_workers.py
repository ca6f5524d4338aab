"""Workers in processes of their own, by the real commands: one that is killed costs nothing but its interval."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from myxtts.training.run_log import read_log

SCRIPT = Path(__file__).parent / "training" / "stand_in_run.py"
SETTINGS = {
    "data.num_buckets": 1, "data.batch_size": 8, "data.reference_frames": 32, "data.auto_tune_performance": "false",
    "training.precision": "float32", "training.deterministic": "true", "training.sample_steps": 0,
    "training.validation_steps": 50, "training.start_from": "scratch",
}  # fmt: skip


def command(cache: Path, run: Path, steps: int, *before: str) -> list[str]:
    words = ["train", "--data", str(cache), "--run", str(run), "--steps", str(steps)]
    given = [word for name, value in SETTINGS.items() for word in ("--set", f"{name}={value}")]
    return [sys.executable, str(SCRIPT), *before, *words, *given]


def environment() -> dict[str, str]:
    tests = Path(__file__).parent
    paths = [str(tests), str(tests / "training"), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "TF_CPP_MIN_LOG_LEVEL": "3"}


def losses(run: Path) -> dict[int, float]:
    return {line["step"]: line["loss"] for line in read_log(run) if line["kind"] == "step"}


@pytest.mark.slow
def test_a_killed_worker_is_started_again_and_the_run_is_the_undisturbed_one(packed_voice, tmp_path):
    steps = 300
    launch = command(packed_voice, tmp_path / "killed", steps, "launch", "--processes", "2", "--json", "--")
    process = subprocess.Popen(launch, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        log = tmp_path / "killed" / "log.jsonl"
        while process.poll() is None and not (log.exists() and '"kind":"step","step":60,' in log.read_text()):
            time.sleep(0.01)
        os.kill(worker(process.pid, 1), signal.SIGKILL)
        out, said = process.communicate(timeout=600)
    finally:
        process.kill()
    assert process.returncode == 0, said[-3000:]
    answer = json.loads(out)
    assert [sorted(codes) for codes in answer["attempts"]] == [[-9, 75], [0, 0]]
    assert re.search(r"worker 1 on \S+ is lost after step \d+: its connection was closed", said)
    alone = subprocess.run(
        command(packed_voice, tmp_path / "alone", steps), env=environment(), capture_output=True, text=True
    )
    assert alone.returncode == 0, alone.stderr[-2000:]
    ours, theirs = losses(tmp_path / "killed"), losses(tmp_path / "alone")
    assert ours.keys() == theirs.keys() == set(range(1, steps + 1))
    assert ours == pytest.approx(theirs, rel=1e-4)


def worker(launcher: int, rank: int) -> int:
    """The process of a worker, by what the launcher told it."""
    for child in Path(f"/proc/{launcher}/task/{launcher}/children").read_text().split():
        environment = Path(f"/proc/{child}/environ").read_bytes()
        if f'"index": {rank}}}'.encode() in environment:
            return int(child)
    raise AssertionError(f"no worker {rank}")
