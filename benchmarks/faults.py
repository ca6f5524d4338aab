"""Does anything break when the packer is killed? Kills it again and again and compares with an undisturbed run.

    python benchmarks/faults.py [--kills 50] [--utterances 600] [--seed 0]

Each round packs to a new place and kills -9 the real command at a random moment between its start and its end, up to
three times, then lets it finish. Every byte of the result must be that of the undisturbed run.
"""

from __future__ import annotations

import argparse
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
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    random.seed(arguments.seed)
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        failures = kill_rounds(Path(folder), arguments.kills, arguments.utterances)
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


if __name__ == "__main__":
    main()
