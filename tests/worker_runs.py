"""Workers in processes of their own, by the real commands, with a stand-in for the model."""

import os
import sys
from pathlib import Path

from myxtts.training.run_log import read_log

SCRIPT = Path(__file__).parent / "training" / "stand_in_run.py"
SETTINGS = {
    "data.num_buckets": 1, "data.batch_size": 8, "data.reference_frames": 32, "data.auto_tune_performance": "false",
    "training.precision": "float32", "training.deterministic": "true", "training.sample_steps": 0,
    "training.validation_steps": 50, "training.start_from": "scratch",
}  # fmt: skip


def command(cache: Path | str, run: Path, steps: int, *before: str) -> list[str]:
    words = ["train", "--data", str(cache), "--run", str(run), "--steps", str(steps)]
    given = [word for name, value in SETTINGS.items() for word in ("--set", f"{name}={value}")]
    return [sys.executable, str(SCRIPT), *before, *words, *given]


def environment() -> dict[str, str]:
    tests = Path(__file__).parent
    paths = [str(tests), str(tests / "training"), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "TF_CPP_MIN_LOG_LEVEL": "3"}


def losses(run: Path) -> dict[int, float]:
    return {line["step"]: line["loss"] for line in read_log(run) if line["kind"] == "step"}


def worker(launcher: int, rank: int) -> int:
    """The process of a worker, by what the launcher told it."""
    for child in Path(f"/proc/{launcher}/task/{launcher}/children").read_text().split():
        given = Path(f"/proc/{child}/environ").read_bytes()
        if f'"index": {rank}}}'.encode() in given:
            return int(child)
    raise AssertionError(f"no worker {rank}")
