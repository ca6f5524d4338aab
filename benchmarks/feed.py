"""Is the feed as fast as memory allows, and what does that do for an accelerator? All bars of the feed in one run.

    python benchmarks/feed.py [--repeats 5] [--folder DIR] [--json]

LJSpeech-like: 2,000 utterances, clip(normal(6.57, 2.19), 1.1, 10.1) s, batches of 32; a sparse cache with 4 GB of mel
for memory; an index of 1,000,000 utterances for start-up. Limit: one thread copies rows from the map into kept arrays.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
from measure import anonymous_bytes
from synthetic import write_corpus, write_index_only

from myxtts.bench.emulator import emulate, resident, run_controls
from myxtts.bench.loaders import numpy_limit, write_wav_files
from myxtts.cache.pack import pack
from myxtts.cache.reader import Cache
from myxtts.cache.settings import PackSettings
from myxtts.config.config import DataConfig, XTTSConfig
from myxtts.corpus.read import open_corpus
from myxtts.data.file_feed import FileFeed
from myxtts.data.listing import write_npy_files
from myxtts.data.pipeline import Feed
from myxtts.data.plan import Plan

BATCH = 32


def config(**data: Any) -> XTTSConfig:
    return XTTSConfig(data=DataConfig(batch_size=BATCH, text_tokens="characters", **data))


def rate(batches: Iterator[Any], n: int) -> tuple[float, float]:
    """(utterances/s, CPU us per utterance) over n batches."""
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(n):
        next(batches)
    return n * BATCH / (time.perf_counter() - wall), (time.process_time() - cpu) / (n * BATCH) * 1e6


def rates(cache: Cache, folder: Path, repeats: int) -> dict[str, float]:
    """Every loader, in turns, each alone and started anew; best of the repeats."""
    wavs, npys = write_wav_files(cache, folder / "wav"), write_npy_files(cache, folder / "npy")
    bare, audio = config(reference_frames=0), config(reference_frames=0, preprocessing_mode="on_the_fly")
    loaders = {
        "limit mel": (lambda: numpy_limit(Plan(cache, bare)), 63, 400),
        "feed mel": (lambda: Feed(cache, bare).batches(), 63, 600),
        "limit mel+ref": (lambda: numpy_limit(Plan(cache, config())), 63, 400),
        "feed mel+ref": (lambda: Feed(cache, config()).batches(), 63, 600),
        "iter(dataset)": (lambda: iter(Feed(cache, config()).dataset()), 63, 600),
        "limit audio": (lambda: numpy_limit(Plan(cache, audio)), 63, 200),
        "feed audio": (lambda: Feed(cache, audio).batches(), 63, 300),
        "npy in graph": (lambda: FileFeed("npy", npys, config()).batches(), 20, 60),
        "native": (lambda: FileFeed("native", wavs, config()).batches(), 20, 60),
        "numpy_function": (lambda: FileFeed("python", wavs, config()).batches(), 14, 14),
    }
    measured: dict[str, list[tuple[float, float]]] = {name: [] for name in loaders}
    for _ in range(repeats):
        for name, (start, warm_up, n) in loaders.items():
            batches = start()
            rate(batches, warm_up)  # fills and empties the prefetch buffers once
            measured[name].append(rate(batches, n))
            del batches
    print(f"{'':<16}{'utterances/s':>14}{'spread':>8}{'CPU us each':>13}")
    best = {}
    for name, values in measured.items():
        speeds, costs = zip(*values, strict=True)
        best[name] = (max(speeds), min(costs))
        print(f"{name:<16}{max(speeds):>14,.0f}{max(speeds) / min(speeds):>8.2f}{min(costs):>13.1f}")
    print(as_markdown(best))
    return {
        "default feed / limit for mel alone (bar 0.50)": best["feed mel+ref"][0] / best["limit mel"][0],
        "default feed CPU us per utterance (bar 30)": best["feed mel+ref"][1],
        "default feed / limit for mel and reference": best["feed mel+ref"][0] / best["limit mel+ref"][0],
        "feed without references / limit (bar 0.50)": best["feed mel"][0] / best["limit mel"][0],
        "feed without references CPU us (bar 30)": best["feed mel"][1],
        "feed audio / limit (bar 0.40)": best["feed audio"][0] / best["limit audio"][0],
        "native / numpy_function, CPU us (bar 0.33)": best["native"][1] / best["numpy_function"][1],
        "per CPU second against npy (bar 5)": best["npy in graph"][1] / best["feed mel+ref"][1],
        "per CPU second against numpy_function (bar 15)": best["numpy_function"][1] / best["feed mel+ref"][1],
    }


# What a loader is called in README and docs/feed.md, and what it hands to the device.
TABLE = {
    "feed mel+ref": ("packed mel and a reference clip", "float16 mel"),
    "feed audio": ("packed audio", "int16 samples; the step makes the mel"),
    "npy in graph": ("one `.npy` of mel per utterance, read in the graph", "float32 mel"),
    "native": ("native: a wav per utterance, decoded in the graph", "int16 samples; the step makes the mel"),
    "numpy_function": ("Python for every file", "float32 mel"),
}


def as_markdown(best: dict[str, tuple[float, float]]) -> str:
    """The table of README and docs/feed.md."""
    lines = ["| loader | utterances/s | CPU us per utterance | what reaches the device |", "|---|---|---|---|"]
    for name, (called, reaches) in TABLE.items():
        speed, cost = best[name]
        lines.append(f"| {called} | {speed:,.0f} | {cost:,.0f} | {reaches} |")
    return "\n".join(lines)


def utilisation(cache: Cache, repeats: int) -> dict[str, float]:
    """AU of the feed over that of a resident batch, best of the repeats; the throttled control; jitter."""
    batches = Feed(cache, config()).batches()
    result: dict[str, float] = {}
    for step_ms, bar in ((10.0, 0.98), (3.0, 0.90)):
        alone, fed = [], []
        for _ in range(repeats):
            alone.append(emulate(resident(None), step_ms, 200))
            fed.append(emulate(batches, step_ms, 200))
        best = max(run.au for run in fed) / max(run.au for run in alone)
        result[f"AU at {step_ms:g} ms / resident (bar {bar})"] = best
        result[f"inter-arrival std/mean at {step_ms:g} ms (bar 0.2)"] = min(run.jitter for run in fed)
    result["throttled control, off c/d (bar 0.03)"] = min(run_controls(10.0, 100).throttled_error for _ in range(3))
    return result


def padding(cache: Cache) -> dict[str, float]:
    frames = np.asarray(cache.columns["n_frames"])
    shuffled = np.random.default_rng(0).permutation(frames)[: len(frames) // BATCH * BATCH].reshape(-1, BATCH)
    return {
        "useful frames, 8 shapes (bar 0.92)": Plan(cache, config(num_buckets=8)).useful_frame_share,
        "useful frames, 12 shapes (bar 0.94)": Plan(cache, config(num_buckets=12)).useful_frame_share,
        "useful frames, random batches": float(shuffled.sum() / (shuffled.max(axis=1) * BATCH).sum()),
    }


def memory(folder: Path) -> dict[str, float]:
    """Three epochs over 4 GB of mel: a copy of the file would show as anonymous memory."""
    write_index_only(folder, 47_500)
    cache = Cache(folder)
    feed = Feed(cache, config())
    batches = iter(feed.dataset())
    for _ in range(50):
        next(batches)
    before = anonymous_bytes()
    for _ in range(3 * feed.steps_per_epoch):
        next(batches)
    grown = (anonymous_bytes() - before) / 1e6
    return {f"anonymous MB after 3 epochs of {cache.mel.nbytes / 1e9:.1f} GB (bar 100)": grown}


MILLION = """
import os, sys, time
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
import tensorflow, json
from myxtts.cache.reader import Cache
from myxtts.config.config import DataConfig, XTTSConfig
from myxtts.data.pipeline import Feed
resident = lambda: int(open("/proc/self/statm").read().split()[1]) * 4096 / 1e6
before, started = resident(), time.perf_counter()
feed = Feed(Cache(sys.argv[1]), XTTSConfig(data=DataConfig(batch_size=32, text_tokens="characters")))
kept = resident() - before
next(iter(feed.dataset(123_456)))
first = time.perf_counter() - started
steps = []
for step in range(0, 10**6, 5000):
    t = time.perf_counter(); feed.order.batch(step); steps.append((time.perf_counter() - t) * 1e3)
print(json.dumps({"plan of 1,000,000: resident MB (bar 200)": kept, "first batch s (bar 3)": first,
                  "any step's indices ms, median (bar 1)": sorted(steps)[len(steps) // 2]}))
"""


def million(folder: Path) -> dict[str, float]:
    """In fresh processes, because start-up is the point; best of three."""
    write_index_only(folder, 1_000_000)
    os.sync()
    command = [sys.executable, "-c", MILLION, folder]
    runs = [json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout) for _ in range(3)]
    return {name: min(run[name] for run in runs) for name in runs[0]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--folder", type=Path, help="where to work (default: a temporary folder in /var/tmp)")
    parser.add_argument("--json", action="store_true", help="also print the numbers as one JSON object, last")
    arguments = parser.parse_args()
    result: dict[str, float] = {}
    with tempfile.TemporaryDirectory(dir=arguments.folder or "/var/tmp") as name:
        folder = Path(name)
        write_corpus(folder / "corpus", 2000)
        pack(open_corpus(folder / "corpus"), folder / "x.cache", PackSettings.from_config(config().data))
        cache = Cache(folder / "x.cache")
        result |= rates(cache, folder, arguments.repeats) | utilisation(cache, arguments.repeats) | padding(cache)
        result |= memory(folder / "4gb.cache") | million(folder / "million.cache")
    for name, value in result.items():
        print(f"{name:<56}{value:>10.3f}")
    if arguments.json:
        print(json.dumps(result))


if __name__ == "__main__":
    main()
