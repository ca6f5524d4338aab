"""Caches in shards: does packing grow with processes, and does a mirror keep an accelerator fed?

    python benchmarks/shards.py --pack        one and two processes of a local Dask cluster, in turns
    python benchmarks/shards.py --mirror      a server of 50 MB/s, a step of 20 ms, against the disk

Limits: for packing, the CPU seconds of one process shared by two; for the mirror, the same feed on the same disk.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import re
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import psutil
from synthetic import write_corpus

from myxtts.bench.emulator import emulate
from myxtts.cache.cluster import dask_executor
from myxtts.cache.open import open_cache, open_or_pack
from myxtts.cache.settings import PackSettings
from myxtts.cache.shards import pack_shards
from myxtts.config.config import DataConfig, XTTSConfig
from myxtts.corpus.read import open_corpus

RATIO_BAR, USE_BAR = 1.7, 0.95
LINK_BYTES, STEP_MS, BATCH = 50e6, 20.0, 32
SETTINGS = PackSettings.from_config(DataConfig(text_tokens="characters"))


def measure_pack(folder: Path, utterances: int, repeats: int) -> dict[str, Any]:
    """Of a cluster that is up: its start takes seconds, a corpus that is worth one hours."""
    write_corpus(folder / "voice", utterances)
    corpus = open_corpus(folder / "voice")
    sum(1 for row in corpus.rows() if row.audio.read_bytes())  # the files are in memory
    timings: dict[int, list[tuple[float, float]]] = {1: [], 2: []}
    with dask_executor("local:1") as (one, _), dask_executor("local:2") as (two, _):
        for turn, (processes, executor) in itertools.product(range(repeats), ((1, one), (2, two))):
            cache = folder / f"{processes}-{turn}.cache"
            wall, cpu = time.perf_counter(), workers_cpu()
            pack_shards(corpus, cache, SETTINGS, executor, shard_rows=utterances // 12, ahead=2 * processes)
            timings[processes].append((time.perf_counter() - wall, workers_cpu() - cpu))
            shutil.rmtree(cache)
    wall = {processes: min(each for each, _ in taken) for processes, taken in timings.items()}
    cpu = {processes: min(each for _, each in taken) for processes, taken in timings.items()}
    return {"utterances": utterances, "wall_s": wall, "cpu_s": cpu, "ratio": wall[1] / wall[2],
            "cores_used": {n: cpu[n] / wall[n] for n in wall}}  # fmt: skip


def workers_cpu() -> float:
    """CPU seconds of the processes that this one has started, and of theirs."""
    children = psutil.Process(os.getpid()).children(recursive=True)
    return sum(sum(child.cpu_times()[:2]) for child in children)


class Link:
    """A web server of one folder whose answers share a link of so many bytes a second."""

    def __init__(self, folder: Path, bytes_per_s: float):
        free_at, lock, self.sent = [time.monotonic()], threading.Lock(), 0
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked_bytes = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", "bytes=0-"))
                assert asked_bytes is not None
                path = folder / self.path.lstrip("/")
                start, stop = int(asked_bytes[1]), int(asked_bytes[2]) + 1 if asked_bytes[2] else path.stat().st_size
                self.send_response(206 if "Range" in self.headers else 200)
                self.send_header("Content-Length", str(stop - start))
                self.end_headers()
                with open(path, "rb") as file:
                    file.seek(start)
                    while piece := file.read(min(1 << 18, stop - file.tell())):
                        with lock:
                            free_at[0] = max(free_at[0], time.monotonic()) + len(piece) / bytes_per_s
                            wait = free_at[0] - time.monotonic()
                            outer.sent += len(piece)
                        time.sleep(max(wait, 0))
                        self.wfile.write(piece)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()


def measure_mirror(folder: Path, utterances: int) -> dict[str, Any]:
    from myxtts.data.pipeline import Feed

    write_corpus(folder / "voice", utterances)
    with ThreadPoolExecutor(2) as executor:
        body = pack_shards(open_corpus(folder / "voice"), folder / "voice.cache", SETTINGS, executor,
                           shard_rows=utterances // 24)  # fmt: skip
    link = Link(folder / "voice.cache", LINK_BYTES)
    data = DataConfig(batch_size=BATCH, shuffle_shards=4, mirror_dir=str(folder / "mirrors"), mirror_gb=20)
    config = XTTSConfig(data=data)
    started = time.perf_counter()
    there = Feed(open_or_pack(link.address, config), config)
    here = Feed(open_cache(folder / "voice.cache"), config)
    mel_bytes = body["lengths"]["mel.npy"] * 160
    first = next(batches := there.batches())
    first_s, first_bytes = time.perf_counter() - started, link.sent
    del first
    use = {"first epoch, mirror": emulate(batches, STEP_MS, there.steps_per_epoch - 6).au}
    for turn in (1, 2):
        use[f"later, mirror {turn}"] = emulate(batches, STEP_MS, 3 * there.steps_per_epoch).au
        use[f"disk {turn}"] = _use_of(here.batches(turn * here.steps_per_epoch), here.steps_per_epoch)
    later = max(use["later, mirror 1"], use["later, mirror 2"]) / max(use["disk 1"], use["disk 2"])
    return {"utterances": utterances, "mel_mb": mel_bytes / 1e6, "first_batch_s": first_s, "use": use,
            "first_batch_mb": first_bytes / 1e6, "later_of_disk": later}  # fmt: skip


def _use_of(batches: Iterator[Any], steps: int) -> float:
    return emulate(batches, STEP_MS, 3 * steps).au


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pack", action="store_true")
    parser.add_argument("--mirror", action="store_true")
    parser.add_argument("--utterances", type=int, default=1500)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    measured: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        if options.pack:
            measured["pack"] = measure_pack(Path(folder) / "pack", options.utterances, options.repeats)
        if options.mirror:
            measured["mirror"] = measure_mirror(Path(folder) / "mirror", options.utterances)
    if options.json:
        print(json.dumps(measured))
        return
    if "pack" in measured:
        print_pack(measured["pack"])
    if "mirror" in measured:
        print_mirror(measured["mirror"])


def print_pack(seen: dict[str, Any]) -> None:
    wall, cpu, cores = seen["wall_s"], seen["cpu_s"], seen["cores_used"]
    print(f"pack {seen['utterances']} utterances: one process {wall[1]:.2f} s, two {wall[2]:.2f} s")
    print(f"ratio {seen['ratio']:.2f} (bar {RATIO_BAR}); CPU {cpu[1]:.1f} and {cpu[2]:.1f} s")
    print(f"cores that the machine gave them: {cores[1]:.2f} and {cores[2]:.2f}")


def print_mirror(seen: dict[str, Any]) -> None:
    print(f"mirror of {seen['mel_mb']:.0f} MB of mel at {LINK_BYTES / 1e6:.0f} MB/s, step {STEP_MS:g} ms")
    print(f"first batch after {seen['first_batch_s']:.1f} s and {seen['first_batch_mb']:.0f} MB, index included")
    print("use: " + ", ".join(f"{name} {au:.3f}" for name, au in seen["use"].items()))
    print(f"after the first epoch {seen['later_of_disk']:.3f} of the disk's (bar {USE_BAR})")


if __name__ == "__main__":
    main()
