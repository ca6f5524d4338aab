"""Does the tuner find in 30 s what an exhaustive sweep finds, and is it never slower than what it was given?

    python benchmarks/tuner.py [--only NAME,NAME] [--seconds 30] [--json]

Three pipelines of the gallery (benchmarks/gallery.py) with their knobs turned out. Every combination of values is
measured; then the given settings, the tuner's and the sweep's best are measured again in turns, which is what counts.
Bars: the tuner reaches 90 % of the sweep's best, and what it was given.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import tensorflow as tf
from gallery import BATCH, FRAMES, MELS, UTTERANCES, Pipeline, burn, clips, hold, plain, write_files

from myxtts.tuner.search import search
from myxtts.tuner.throughput import measure_loop
from myxtts.tuner.trials import Knobs

SWEEP_SLICE_SECONDS = 0.7
BAR, NOISE = 0.90, 0.03
TURNS = 5


@dataclass(frozen=True)
class Knobbed:
    """A pipeline, the settings that somebody gave it, and what may be set."""

    build: Callable[[Path, Knobs], Pipeline]
    given: Knobs
    space: dict[str, list[int]]


def ahead(data: Any, batches: int) -> Any:
    return plain(data.prefetch(batches) if batches else data)


def too_few_workers(folder: Path, knobs: Knobs) -> Pipeline:
    """2 ms of one core for each utterance, a step of 10 ms."""
    data = tf.data.Dataset.from_tensor_slices(clips()).repeat().map(burn, num_parallel_calls=knobs["workers"])
    return ahead(data.batch(BATCH), knobs["prefetch"]), hold(10)


def oscillating(folder: Path, knobs: Knobs) -> Pipeline:
    """A shard of 16 batches is opened at once, which takes as long as eight steps."""
    from tensorflow.python.data.experimental.ops import testing

    table = tf.constant(clips())

    def shard(number: Any) -> Any:
        opened = tf.data.Dataset.range(1).apply(testing.sleep(80_000))
        return opened.flat_map(lambda _: tf.data.Dataset.range(UTTERANCES).batch(BATCH))

    data = tf.data.Dataset.range(1000).repeat().flat_map(shard)
    gathered = data.map(lambda at: tf.gather(table, at), num_parallel_calls=knobs["workers"])
    return ahead(gathered, knobs["prefetch"]), hold(10)


def files(folder: Path, knobs: Knobs) -> Pipeline:
    """Forty files for each utterance; a step of 3 ms and a tenth for each utterance."""
    names = np.array(write_files(folder)).reshape(64, -1)

    def load(paths: Any) -> Any:
        parts = tf.map_fn(tf.io.read_file, paths, fn_output_signature=tf.string)
        return tf.reshape(tf.io.decode_raw(tf.strings.reduce_join(parts), tf.float32), [FRAMES, MELS])

    data = tf.data.Dataset.from_tensor_slices(names).repeat().map(load, num_parallel_calls=knobs["workers"])
    return ahead(data.batch(knobs["batch"]), knobs["prefetch"]), hold(3 + 0.1 * knobs["batch"])


CASES = {
    "too few workers": Knobbed(
        too_few_workers, {"workers": 1, "prefetch": 0}, {"workers": [1, 2, 4, 8], "prefetch": [0, 1, 4, 16]}
    ),
    "oscillating producer": Knobbed(
        oscillating, {"workers": 1, "prefetch": 1}, {"workers": [1, 2, 4], "prefetch": [0, 1, 2, 4, 8, 16, 32]}
    ),
    "a file for every piece": Knobbed(
        files,
        {"workers": 1, "prefetch": 0, "batch": 4},
        {"workers": [1, 2, 4], "prefetch": [0, 2, 8], "batch": [4, 8, 16, 32]},
    ),
}


def run(case: Knobbed, folder: Path, seconds: float) -> dict[str, Any]:
    def build(knobs: Knobs) -> Pipeline:
        return case.build(folder, knobs)

    measure = measure_loop(build, SWEEP_SLICE_SECONDS)
    case.build(folder, case.given)  # its files are written before the clock starts
    began = time.monotonic()
    result = search(case.space, case.given, measure_loop(build), seconds, feed_knobs=("workers", "prefetch"))
    took = time.monotonic() - began
    combinations = [dict(zip(case.space, values, strict=True)) for values in itertools.product(*case.space.values())]
    swept = sorted(combinations, key=lambda knobs: -measure(knobs).rate)
    best = max(swept[:3], key=lambda knobs: statistics.median(measure(knobs).rate for _ in range(3)))
    settings = {"given": case.given, "tuned": result.settings, "best": best}
    rates: dict[str, list[float]] = {name: [] for name in settings}
    for _ in range(TURNS):
        for name, knobs in settings.items():
            rates[name].append(measure(knobs).rate)
    middle = {name: statistics.median(values) for name, values in rates.items()}
    return {
        "settings": settings,
        "utterances_per_second": middle,
        "of_best": middle["tuned"] / middle["best"],
        "of_given": middle["tuned"] / middle["given"],
        "seconds": took,
        "trials": sum(len(row.rates) for row in result.rows),
        "combinations": len(combinations),
        "table": str(result),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="cases whose name contains one of these, separated by commas")
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--table", action="store_true", help="print what was tried")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    wanted = [part.strip() for part in arguments.only.split(",")] if arguments.only else [""]
    rows = {}
    print(
        f"{'case':<24}{'given':>8}{'tuned':>8}{'best':>8}{'of best':>9}{'of given':>9}{'took':>7}{'trials':>8}{'of':>5}"
    )
    for name, case in CASES.items():
        if not any(part in name for part in wanted):
            continue
        with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
            row = rows[name] = run(case, Path(folder), arguments.seconds)
        rates = "".join(f"{row['utterances_per_second'][which]:>8,.0f}" for which in ("given", "tuned", "best"))
        shares = f"{row['of_best']:>9.2f}{row['of_given']:>9.2f}{row['seconds']:>6.1f}s"
        print(f"{name:<24}{rates}{shares}{row['trials']:>8}{row['combinations']:>5}", flush=True)
        if arguments.table:
            print(row["table"], flush=True)
    reached = sum(row["of_best"] >= BAR and row["seconds"] <= arguments.seconds for row in rows.values())
    slower = sum(row["of_given"] < 1 - NOISE for row in rows.values())
    bar = f"{BAR:.0%} of the sweep's best in {arguments.seconds:g} s"
    print(f"{reached} of {len(rows)} reach {bar}; {slower} slower than given")
    if arguments.json:
        print(json.dumps(rows))
    sys.exit(0 if reached == len(rows) and not slower else 1)


if __name__ == "__main__":
    main()
