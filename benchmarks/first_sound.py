"""How soon is a long text heard? The first piece of it on one core, with the base voice or another model.

    python benchmarks/first_sound.py [--model RUN] [--repeats 5]

Loading traces the graphs, so that the first text does not wait for it. Beside it: the same without that.
"""

from __future__ import annotations

import os

os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # before TensorFlow counts the cores

import argparse  # noqa: E402
import time  # noqa: E402

from myxtts.inference.speaker import Speaker  # noqa: E402
from myxtts.inference.speakers import find_speaker, load_speaker  # noqa: E402

TEXT = "This is where a longer text begins. " + "It has many more sentences, and nobody waits for the last. " * 12


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="base")
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    started = time.perf_counter()
    voice = load_speaker(find_speaker(arguments.model))
    print(f"loaded in {time.perf_counter() - started:.1f} s")
    cold, *warm = (_first_sound(voice) for _ in range(1 + arguments.repeats))
    print(f"first text of a process {cold:.3f} s, later ones {min(warm):.3f} to {max(warm):.3f} s (bar 0.3)")


def _first_sound(voice: Speaker) -> float:
    started = time.perf_counter()
    next(iter(voice.sound(TEXT)))
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
