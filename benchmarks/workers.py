"""Several workers on this machine: do they learn the same, what does their exchange cost, and what does a kill cost?

    python benchmarks/workers.py [--steps 50] [--workers 1 2 4] [--kills 20] [--launcher-kills 5] [--stops] [--full]
    python benchmarks/workers.py --full --devices 4 --kills 0 --launcher-kills 0

First the same run by 1, 2 and 4 workers of one thread each: the step time of each, the share of the exchange, and how
far their losses are apart, beside how far those of one worker with two threads are. With `--devices` as many devices in
all are spread over them (`training.deterministic`), and every loss must be the same. Then a run of two workers
(`training.deterministic`) whose workers are killed -9 at random moments, which the launcher starts again, and whose
launcher is killed too: every loss must be that of an undisturbed run, and nobody may still be there 60 s after a kill.
The model is the real one, made small; `--full` takes `tiny`.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import psutil
from synthetic import write_corpus

from myxtts.doctor.ranks import ranks_of
from myxtts.training.run_log import read_log

TESTS = Path(__file__).parents[1] / "tests"
SETTINGS = {
    "data.text_tokens": "characters", "data.num_buckets": 1, "data.batch_size": 16, "data.reference_frames": 64,
    "data.max_mel_frames": 400, "data.auto_tune_performance": "false", "training.precision": "float32",
    "training.sample_steps": 0, "training.start_from": "scratch",
}  # fmt: skip
KILLED = {"training.deterministic": "true", "training.validation_steps": 20, "data.batch_size": 8}
NO_VALIDATION = {"training.validation_steps": 10**6}
THREADS = ("OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS")
HANG_SECONDS = 60.0
MOST_STEPS = 20  # until the next kill; starting again takes far longer
BAR_TIME, BAR_LOSS = 1.25, 1e-4


def command(cache: Path, run: Path, steps: int, workers: int, full: bool, restarts: int, **more: object) -> list[str]:
    settings = SETTINGS | more
    words = ["train", "--data", cache, "--run", run, "--steps", steps]
    words += [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    before = ["launch", "--processes", workers, "--restarts", restarts, "--"] if workers > 1 else []
    script = ["-m", "myxtts"] if full else [TESTS / "training" / "small_run.py"]
    return [str(word) for word in [sys.executable, *script, *before, *words]]


def start(words: list[str], log: Path, threads: int = 1) -> subprocess.Popen:
    paths = [str(Path(__file__).parents[1]), str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {
        **os.environ,
        **dict.fromkeys(THREADS, str(threads)),
        "PYTHONPATH": os.pathsep.join(paths),
        "TF_CPP_MIN_LOG_LEVEL": "3",
    }
    with open(log, "ab") as file:
        return subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=file, env=environment)


def finish(words: list[str], log: Path, threads: int = 1) -> None:
    if start(words, log, threads).wait():
        sys.exit(f"{' '.join(words)}\n{log.read_text(errors='replace')[-2000:]}")


def history(run: Path) -> list[dict]:
    return [line for line in read_log(run) if line["kind"] == "step"] if (run / "log.jsonl").is_file() else []


def losses(run: Path) -> np.ndarray:
    return np.array([line["loss"] for line in history(run)])


# ---- the same run by several ----------------------------------------------------------------------------------------


def compare(folder: Path, cache: Path, steps: int, counts: list[int], full: bool, devices: int) -> int:
    times, curves, failures, bar = {}, {}, 0, 0.0 if devices else BAR_LOSS
    for count in counts:
        run = folder / f"by{count}"
        more = NO_VALIDATION | spread(devices, count)
        finish(command(cache, run, steps, count, full, 0, **more), folder / "log.txt")
        later = history(run)[steps // 5 :]
        times[count], curves[count] = np.median([line["data_ms"] + line["compute_ms"] for line in later]), losses(run)
        ranks, first = ranks_of(later), counts[0]
        share = "" if ranks is None else f", exchange {ranks.exchange_ms:.1f} ms ({ranks.exchange_share:.1%})"
        apart = float(np.max(np.abs(curves[count] / curves[first] - 1.0)))
        print(f"{count} workers: step {times[count]:.1f} ms, {times[count] / times[first]:.2f}x of {first}{share}; "
              f"losses of {steps} steps within {apart:.1e} (bar {bar:.0e})", flush=True)  # fmt: skip
        failures += apart > bar
    if devices:
        return failures
    apart = rounding(folder, cache, steps, full, curves[counts[0]])
    print(f"1 worker with two threads, which round differently: losses within {apart:.1e}")
    if {1, 2} <= set(counts):
        print(f"2 workers against 1: {times[2] / times[1]:.2f}x (bar {BAR_TIME})")
    return failures


def spread(devices: int, workers: int) -> dict[str, object]:
    if devices % workers:
        raise SystemExit(f"{devices} devices cannot be spread over {workers} workers evenly: choose other --workers")
    return {"training.deterministic": "true", "training.devices": devices // workers} if devices else {}


def rounding(folder: Path, cache: Path, steps: int, full: bool, losses_before: np.ndarray) -> float:
    """How far the losses of one worker move if nothing changes but the order of its sums: no number of workers can
    agree better. A large model multiplies it, since its alignments and its discriminator answer to the last bit."""
    run = folder / "rounding"
    words = command(cache, run, steps, 1, full, 0, **NO_VALIDATION)
    finish(words, folder / "log.txt", threads=2)
    return float(np.max(np.abs(losses(run) / losses_before - 1.0)))


# ---- kills ----------------------------------------------------------------------------------------------------------


def kill_rounds(folder: Path, cache: Path, kills: int, launcher_kills: int, full: bool, chance: random.Random) -> int:
    steps = 2 * MOST_STEPS * (kills + launcher_kills)
    straight, run, log = folder / "straight", folder / "killed", folder / "log.txt"
    finish(command(cache, straight, steps, 2, full, 0, **KILLED), log)
    print(f"undisturbed: {steps} steps by 2 workers", flush=True)
    words = command(cache, run, steps, 2, full, 10**6, **KILLED)
    plan = ["worker"] * kills + ["launcher"] * launcher_kills
    chance.shuffle(plan)
    longest, lost, process = 0.0, [], start(words, log)
    for number, victim in enumerate(plan, 1):
        reached = wait_for_steps(run, process, chance.randint(1, MOST_STEPS))
        workers = psutil.Process(process.pid).children()
        (chance.choice(workers) if victim == "worker" else process).send_signal(signal.SIGKILL)
        seconds = wait_for_end(workers)
        longest, lost = max(longest, seconds), [*lost, reached - last_checkpoint(run)]
        if victim == "launcher":
            process.wait()
            process = start(words, log)
        print(f"kill {number}: a {victim} at step {reached}; all ended after {seconds:.1f} s; {lost[-1]} steps lost",
              flush=True)  # fmt: skip
    process.wait()
    same = np.array_equal(losses(run), losses(straight))
    most = max(lost, default=0)
    print(f"{len(plan)} kills: losses {'identical' if same else 'DIFFERENT'}, longest end {longest:.1f} s (bar "
          f"{HANG_SECONDS:.0f}), at most {most} steps lost (bar {KILLED['training.validation_steps']})")  # fmt: skip
    return (not same) + (longest > HANG_SECONDS) + (most > KILLED["training.validation_steps"])


def stop_rounds(folder: Path, cache: Path, full: bool) -> int:
    """A worker that is stopped for 30 s, and then for ever: the run goes on, then the other one ends in time."""
    run, log, failures = folder / "stopped", folder / "log.txt", 0
    process = start(command(cache, run, 10**6, 2, full, 0, **KILLED), log)
    wait_for_steps(run, process, 20)
    chief, other = sorted(psutil.Process(process.pid).children(), key=lambda worker: worker.pid)
    other.suspend()
    time.sleep(30)
    other.resume()
    before = len(history(run))
    went_on = wait_for_steps(run, process, 20) >= before + 20
    print(f"stopped for 30 s: {'the run went on' if went_on else 'THE RUN ENDED'}", flush=True)
    if went_on:
        other.suspend()
        seconds = wait_for_end([chief])
        print(f"stopped for ever: the other one ended after {seconds:.1f} s (bar {HANG_SECONDS:.0f})", flush=True)
        failures += seconds > HANG_SECONDS
    process.wait()
    return failures + (not went_on)


def wait_for_steps(run: Path, process: subprocess.Popen, more: int) -> int:
    """Until so many further steps are logged; the step then."""
    before = len(history(run))
    while (now := len(history(run))) < before + more and process.poll() is None:
        time.sleep(0.2)  # the whole log is read each time: at 0.05 that took a tenth of a core
    return now


def wait_for_end(workers: list[psutil.Process]) -> float:
    began = time.monotonic()
    psutil.wait_procs(workers, timeout=2 * HANG_SECONDS)
    return time.monotonic() - began


def last_checkpoint(run: Path) -> int:
    steps = [int(path.name[5:]) for path in (run / "checkpoints").glob("step-*")]
    return max(steps, default=0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 2, 4])
    parser.add_argument("--devices", type=int, default=0, help="of all workers together: then every bit is compared")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--launcher-kills", type=int, default=5)
    parser.add_argument("--stops", action="store_true", help="stop a worker for 30 s and for ever, too")
    parser.add_argument("--full", action="store_true", help="the model of the default size, not a small one")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    failures, chance = 0, random.Random(arguments.seed)
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        folder, cache = Path(name), Path(name) / "speech.cache"
        write_corpus(folder / "speech", 96)
        pack = [sys.executable, "-m", "myxtts", "pack", folder / "speech", "-o", cache]
        subprocess.run([*pack, "--set", "data.text_tokens=characters"], check=True, capture_output=True)
        if arguments.workers:
            given = arguments.steps, arguments.workers, arguments.full, arguments.devices
            failures += compare(folder, cache, *given)
        if arguments.kills or arguments.launcher_kills:
            given = arguments.kills, arguments.launcher_kills, arguments.full, chance
            failures += kill_rounds(folder, cache, *given)
        if arguments.stops:
            failures += stop_rounds(folder, cache, arguments.full)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
