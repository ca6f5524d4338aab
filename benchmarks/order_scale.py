"""What the order costs as the corpus grows: time of the plan, time of any step, memory of both. No audio, no model.

    python benchmarks/order_scale.py            10^4, 10^5, 10^6 utterances
    python benchmarks/order_scale.py --huge     and 10^8, on the index alone; takes about 1.5 GB of memory
    python benchmarks/order_scale.py --cluster  10^8 utterances in 1,000 shards that 64 workers mirror; the same memory

Each size runs in a process of its own, so that what it keeps is what its process grew by.
"""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from myxtts.data.buckets import plan_buckets
from myxtts.data.order import Order, balance_weights
from myxtts.data.references import References
from myxtts.data.shard_order import ShardOrder

FRAMES_PER_SECOND = 22050 / 256
STEP_MS_BAR, PLAN_MB_BAR = 1.0, 200.0


def lengths(n: int, chunk: int = 1 << 22) -> tuple[np.ndarray, np.ndarray]:
    """Frames and tokens (uint16) of an LJSpeech-like corpus, made in pieces: clip(normal(6.57, 2.19), 1.1, 10.1) s."""
    random = np.random.default_rng(0)
    n_frames, n_tokens = np.empty(n, np.uint16), np.empty(n, np.uint16)
    for start in range(0, n, chunk):
        seconds = np.clip(random.normal(6.57, 2.19, min(chunk, n - start)), 1.1, 10.1)
        n_frames[start : start + chunk] = np.ceil(seconds * FRAMES_PER_SECOND)
        n_tokens[start : start + chunk] = seconds * 14 + 2
    return n_frames, n_tokens


def status_mb(field: str) -> float:
    """VmHWM (peak) or VmRSS (now) of this process."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) / 1024


def step_ms(order: Order, steps: int = 500) -> dict[str, float]:
    """Time of `batch(step)` for steps anywhere in 100 epochs."""
    random = np.random.default_rng(1)
    taken = []
    for step in random.integers(0, min(100 * order.steps_per_epoch, 2**32), steps).tolist():
        start = time.perf_counter()
        order.batch(step)
        taken.append((time.perf_counter() - start) * 1e3)
    return {"median": float(np.median(taken)), "p99": float(np.percentile(taken, 99))}


def measure(n: int, weighted: bool) -> dict[str, Any]:
    n_frames, n_tokens = lengths(n)
    gc.collect()
    before_mb = status_mb("VmRSS")
    start = time.perf_counter()
    table = plan_buckets(n_frames, n_tokens, batch_size=32, max_buckets=8, max_frames=1720)
    plan_s = time.perf_counter() - start
    weights = [balance_weights(np.arange(n) % 1000 % 37, 5)] if weighted else None
    start = time.perf_counter()
    order = Order(0, table, utterance_weights=weights)
    del weights
    order_s = time.perf_counter() - start
    references = References(0, [np.arange(n, dtype=np.int32) % 1000]) if weighted else None
    gc.collect()
    took = step_ms(order)
    assert references is None or references.pick([0], 0)[0].shape == (1,)  # in use until here, so that it counts
    return {
        "utterances": n,
        "weighted": weighted,
        "plan_s": plan_s,
        "order_s": order_s,
        "step_ms": took,
        "kept_mb": status_mb("VmRSS") - before_mb,
        "peak_mb": status_mb("VmHWM"),
        "useful_frame_share": table.useful_frame_share,
        "steps_per_epoch": order.steps_per_epoch,
    }


CLUSTER = {"utterances": 10**8, "shards": 1000, "workers": 64, "shuffle_shards": 64, "batch": 2048}
MEL_FRAME_BYTES, LINK_BYTES = 160, 50e6
TOKEN_BYTES, INDEX_BYTES = 4, 200  # of an utterance's tokens, each; of its line in the index, id and text included


def measure_cluster(utterances: int, shards: int, workers: int, shuffle_shards: int, batch: int) -> dict[str, Any]:
    """One epoch of all workers, window by window: what each would have to fetch that it did not just have."""
    n_frames, n_tokens = lengths(utterances)
    ends = np.arange(1, shards + 1) * utterances // shards
    shard_bytes = np.add.reduceat(n_frames, np.append(0, ends[:-1]), dtype=np.int64) * MEL_FRAME_BYTES
    index_bytes = utterances * INDEX_BYTES + int(n_tokens.sum(dtype=np.int64)) * TOKEN_BYTES
    gc.collect()
    before_mb, start = status_mb("VmRSS"), time.perf_counter()
    table = plan_buckets(n_frames, n_tokens, batch_size=batch, max_buckets=8, max_frames=1720)
    order = ShardOrder(0, table, [ends], shuffle_shards)
    planned = time.perf_counter()
    order.batch(0)
    first_batch_s = time.perf_counter() - start
    kept_mb = status_mb("VmRSS") - before_mb
    needs = [[order.shards_of(0, window, worker, workers)[0] for window in range(order.windows)]
             for worker in range(workers)]  # fmt: skip
    fetched = [_fetched(need, shard_bytes) for need in needs]
    held = [max(_held(need, shard_bytes)) for need in needs]
    first = [int(shard_bytes[need[0]].sum()) for need in needs]
    return {
        "utterances": utterances, "shards": shards, "workers": workers, "windows": order.windows,
        "steps_per_epoch": order.steps_per_epoch, "plan_s": planned - start, "first_batch_s": first_batch_s,
        "step_ms": step_ms(order, 100), "kept_mb": kept_mb, "peak_mb": status_mb("VmHWM"),
        "mel_gb": int(shard_bytes.sum()) / 1e9, "index_gb": index_bytes / 1e9,
        "fetched_gb": {"mean": float(np.mean(fetched)) / 1e9, "most": max(fetched) / 1e9},
        "mirror_gb": max(held) / 1e9, "first_window_gb": max(first) / 1e9,
        "first_window_s": max(first) / LINK_BYTES,
    }  # fmt: skip


def _fetched(need: list[np.ndarray], shard_bytes: np.ndarray) -> int:
    """Bytes of an epoch, where the shards of the window before are still there."""
    new = [np.setdiff1d(now, before) for before, now in zip([np.empty(0, np.int64), *need], need, strict=False)]
    return sum(int(shard_bytes[shards].sum()) for shards in new)


def _held(need: list[np.ndarray], shard_bytes: np.ndarray) -> list[int]:
    """Bytes of each window and the next one: what a mirror must be able to hold to be ahead."""
    return [
        int(shard_bytes[np.union1d(now, then)].sum()) for now, then in zip(need, [*need[1:], need[-1]], strict=True)
    ]


def print_cluster(cost: dict[str, Any]) -> None:
    lost = cost["first_window_gb"]
    print(
        f"{cost['utterances']:,} utterances, {cost['mel_gb']:,.0f} GB of mel in {cost['shards']:,} shards, "
        f"{cost['workers']} workers, {cost['windows']} windows, {cost['steps_per_epoch']:,} steps an epoch\n"
        f"plan              {cost['plan_s']:.1f} s and {cost['kept_mb']:,.0f} MB kept ({cost['peak_mb']:,.0f} MB at "
        "most, lengths included), the same on every worker\n"
        f"first batch       {cost['first_batch_s']:.1f} s after the lengths are there; any other step "
        f"{cost['step_ms']['median']:.2f} ms\n"
        f"index and tokens  {cost['index_gb']:,.0f} GB, which each worker has whole\n"
        f"an epoch          a worker fetches {cost['fetched_gb']['mean']:,.0f} GB of mel on average, "
        f"{cost['fetched_gb']['most']:,.0f} at most; alone it would fetch {cost['mel_gb']:,.0f}\n"
        f"its mirror        {cost['mirror_gb']:,.1f} GB hold this window and the next\n"
        f"a lost worker     its successor has the plan in {cost['plan_s']:.1f} s and fetches up to {lost:,.1f} GB, "
        f"{cost['first_window_s']:,.0f} s at 50 MB/s, before its first step; the others keep theirs"
    )


def in_own_process(n: int, weighted: bool) -> dict[str, Any]:
    command = [sys.executable, __file__, "--one", str(n)] + (["--weighted"] if weighted else [])
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--huge", action="store_true", help="also 10^8 utterances, equal weights")
    parser.add_argument("--cluster", action="store_true", help="10^8 utterances in shards, mirrored by 64 workers")
    parser.add_argument("--json", action="store_true", help="print the measurements as one JSON list")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--weighted", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.one, options.weighted)))
        return
    if options.cluster:
        measured = measure_cluster(**CLUSTER)
        print(json.dumps(measured)) if options.json else print_cluster(measured)
        return
    runs = [(n, weighted) for n in (10**4, 10**5, 10**6) for weighted in (False, True)]
    results = [in_own_process(*run) for run in runs + ([(10**8, False)] if options.huge else [])]
    if options.json:
        print(json.dumps(results))
        return
    print_table(results)


def print_table(results: list[dict[str, Any]]) -> None:
    heads = ("utterances", "weights", "plan s", "order s", "step ms", "p99 ms", "kept MB", "peak MB", "useful")
    print(" ".join(f"{head:>10}" for head in heads))
    for row in results:
        numbers = (row["plan_s"], row["order_s"], row["step_ms"]["median"], row["step_ms"]["p99"])
        kind = "balanced*" if row["weighted"] else "equal"
        print(
            f"{row['utterances']:>10} {kind:>10} " + " ".join(f"{number:>10.3f}" for number in numbers),
            f"{row['kept_mb']:>10.1f} {row['peak_mb']:>10.0f} {row['useful_frame_share']:>10.3f}",
        )
    print("* speakers balanced with temperature 5, and reference clips by speaker")
    print("kept: what plan, order and references add to the process; peak: the whole process, lengths included")
    million = [row for row in results if row["utterances"] == 10**6]
    held = all(row["step_ms"]["median"] < STEP_MS_BAR and row["kept_mb"] < PLAN_MB_BAR for row in million)
    print(f"bars at 10^6, a step < {STEP_MS_BAR:g} ms and < {PLAN_MB_BAR:g} MB kept: {'held' if held else 'MISSED'}")


if __name__ == "__main__":
    main()
