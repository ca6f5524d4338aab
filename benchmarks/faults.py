"""Does anything break when the packer or the trainer is killed? Kills them and compares with an undisturbed run.

    python benchmarks/faults.py [--kills 50] [--utterances 600] [--training-kills 20] [--training-steps 300] [--seed 0]

Each round packs to a new place and kills -9 the real command at a random moment between its start and its end, up to
three times, then lets it finish. Every byte of the result must be that of the undisturbed run.
Then a training run (the real command and model, the model made small, `training.deterministic`) is killed -9 at random
moments, each time started again: what is visible must be whole, no life may lose more than one checkpoint interval,
and in the end every loss and weight must be that of a run that nobody killed. `--kills 0` does this part alone.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from synthetic import write_corpus

from myxtts.cache.publish import building_folder
from myxtts.training.checkpoint import load
from myxtts.training.run_log import read_log

PACK = [sys.executable, "-m", "myxtts", "pack"]


def run(corpus: Path, cache: Path) -> float:
    started = time.perf_counter()
    subprocess.run([*PACK, corpus, "-o", cache], check=True, capture_output=True)
    return time.perf_counter() - started


def kill_once(corpus: Path, cache: Path, after_seconds: float) -> bool:
    """True if the packer was still running when it was killed."""
    process = subprocess.Popen([*PACK, corpus, "-o", cache], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(after_seconds)
    running = process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait()
    return running


def same(first: Path, second: Path) -> bool:
    names = {path.name for path in first.iterdir()}
    if names != {path.name for path in second.iterdir()}:
        return False
    return all((first / name).read_bytes() == (second / name).read_bytes() for name in names)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--utterances", type=int, default=600)
    parser.add_argument("--training-kills", type=int, default=20)
    parser.add_argument("--training-steps", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    random.seed(arguments.seed)
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        failures = kill_rounds(Path(folder), arguments.kills, arguments.utterances) if arguments.kills else 0
        if arguments.training_kills:
            failures += kill_training(Path(folder), arguments.training_kills, arguments.training_steps)
    sys.exit(1 if failures else 0)


def kill_rounds(folder: Path, kills: int, utterances: int) -> int:
    corpus, whole, cache = folder / "corpus", folder / "whole.cache", folder / "killed.cache"
    write_corpus(corpus, utterances)
    seconds = run(corpus, whole)
    print(f"an undisturbed run takes {seconds:.2f} s")
    done = committed = identical = rounds = 0
    while done < kills:
        rounds += 1
        for _ in range(random.randint(1, 3)):
            done += kill_once(corpus, cache, random.uniform(0.0, seconds))
            journal = building_folder(cache) / "journal"
            committed += journal.exists() and len(journal.read_bytes().splitlines()) > 1
        run(corpus, cache)
        identical += same(whole, cache)
        shutil.rmtree(cache)
        print(
            f"round {rounds}: {done} kills, {committed} after a commit, {identical} of {rounds} results identical",
            flush=True,
        )
    return rounds - identical


# ---- training -------------------------------------------------------------------------------------------------------

TESTS = Path(__file__).parents[1] / "tests"
CHECKPOINT_STEPS = 20  # each is also a validation; by the clock it is saved more often
SETTINGS = {
    "data.text_tokens": "characters", "data.num_buckets": 1, "data.batch_size": 8, "data.reference_frames": 64,
    "data.max_mel_frames": 500,
    "training.precision": "float32", "training.deterministic": "true", "training.sample_steps": 0,
    "training.validation_steps": CHECKPOINT_STEPS, "training.checkpoint_minutes": 0.01,
}  # fmt: skip
_COMPARED = ("loss", "mel", "prior", "duration", "grad_norm", "learning_rate")


def start_training(run: Path, cache: Path, steps: int) -> subprocess.Popen:
    words = [word for name, value in SETTINGS.items() for word in ("--set", f"{name}={value}")]
    command = [sys.executable, TESTS / "training" / "small_run.py", "train", "--train-data", cache, "--run", run]
    paths = os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])
    with open(run.with_suffix(".err"), "ab") as errors:
        return subprocess.Popen([*command, "--steps", str(steps), *words], stdout=subprocess.DEVNULL, stderr=errors,
                                env={**os.environ, "PYTHONPATH": paths})  # fmt: skip


def history(run: Path) -> dict[int, tuple[float, ...]]:
    if not (run / "log.jsonl").is_file():
        return {}
    return {line["step"]: tuple(line[name] for name in _COMPARED) for line in read_log(run) if line["kind"] == "step"}


def life(run: Path, cache: Path, steps: int, goal: int, chance: random.Random) -> bool:
    """Train until some moment after step `goal` was logged; without one to any moment of starting up or just after.
    True if it was still running when it was killed."""
    process = start_training(run, cache, steps)
    if goal:
        while process.poll() is None and max(history(run), default=0) < goal:
            time.sleep(0.02)
        time.sleep(chance.uniform(0.0, 0.3))
    else:
        time.sleep(chance.uniform(0.5, 8.0))
    running = process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait()
    return running


def inspect(run: Path) -> tuple[int, int]:
    """(steps that the kill cost, broken files). Every visible checkpoint is read byte by byte; the links must lead to
    one; the log must be whole lines but for its last."""
    checkpoints, broken = run / "checkpoints", 0
    for path in [*checkpoints.glob("step-*"), *(checkpoints / link for link in ("last", "best"))]:
        if path.is_symlink() or path.is_dir():
            try:
                load(path)
            except Exception as error:  # noqa: BLE001 - whatever it is, it is what this file looks for
                print(f"  BROKEN: {path}: {error}")
                broken += 1
    text = (run / "log.jsonl").read_bytes() if (run / "log.jsonl").is_file() else b""
    for line in text.split(b"\n")[:-1]:
        try:
            json.loads(line)
        except ValueError:
            broken += 1
    saved = load(checkpoints / "last").step if (checkpoints / "last").is_symlink() else 0
    return max(max(history(run), default=0) - saved, 0), broken


def kill_training(folder: Path, kills: int, steps: int) -> int:
    corpus, cache, straight, run = (folder / name for name in ("speech", "speech.cache", "straight", "killed"))
    write_corpus(corpus, 60)
    pack = [*PACK, corpus, "-o", cache, "--set", "data.text_tokens=characters"]
    subprocess.run(pack, check=True, capture_output=True)
    started = time.perf_counter()
    if start_training(straight, cache, steps).wait():
        sys.exit(straight.with_suffix(".err").read_text()[-2000:])
    print(f"training: an undisturbed run of {steps} steps takes {time.perf_counter() - started:.1f} s", flush=True)
    chance, lost, broken, done, midway = random.Random(random.random()), [], 0, 0, 0
    while done < kills:
        ahead = max(history(run), default=0)
        room = steps - ahead - CHECKPOINT_STEPS
        goal = 0 if chance.random() < 0.2 or room <= 1 else ahead + chance.randint(1, max(room // (kills - done), 1))
        if not life(run, cache, steps, goal, chance):
            print("  ended before it was killed; more --training-steps would prevent that")
            break
        done, midway = done + 1, midway + bool(goal)
        cost, outcome = inspect(run)
        lost, broken = [*lost, cost], broken + outcome
        reached = max(history(run), default=0)
        print(f"kill {done}: at step {reached}, {cost} steps to do again, {broken} broken files", flush=True)
    failed = start_training(run, cache, steps).wait()
    same = (
        not failed and history(run) == history(straight) and len(history(run)) == steps and same_weights(run, straight)
    )
    most = max(lost, default=0)
    print(
        f"training: {done} kills, {midway} of them while stepping, at most {most} steps lost (bar {CHECKPOINT_STEPS})"
    )
    print(f"{broken} broken files, losses and weights {'identical' if same else 'DIFFERENT'}")
    return broken + (most > CHECKPOINT_STEPS) + (not same) + (done < kills)


def same_weights(one: Path, other: Path) -> bool:
    first, second = (load(run / "checkpoints" / "last").tensors for run in (one, other))
    return all((first[stem][name] == value).all() for stem in second for name, value in second[stem].items())


if __name__ == "__main__":
    main()
