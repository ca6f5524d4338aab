"""The report of a 10,000-step run: its size, how long it takes to make, and how long a browser takes to open it.

    python benchmarks/report.py [--steps 10000]

Bars: below 3 MB, open in below 2 s. Opening is measured in headless Chromium with a fresh profile, from the start of
the program to a picture of the window on disk, beside an empty page: the difference is what the report costs.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import soundfile

from myxtts.config.config import XTTSConfig

CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
    "--hide-scrollbars",
)
BEGAN = 1_790_000_000.0
STALLED = range(6_200, 6_900)  # steps that wait because the disk is busy
HICCUP = 3_333  # one step alone
_BUCKETS = [(180, 2100), (260, 3900), (340, 3300), (430, 2200), (540, 1100), (700, 400)]


def write_long_run(run: Path, steps: int = 10_000, clips: int = 2, clip_seconds: float = 6.0) -> Path:
    """A run directory as training leaves it, with a stall of 700 steps, one of a single step, and a resume."""
    run.mkdir(parents=True, exist_ok=True)
    lines = (json.dumps(record, separators=(",", ":")) + "\n" for record in _records(steps))
    (run / "log.jsonl").write_text("".join(lines))
    (run / "samples").mkdir(exist_ok=True)
    for clip in range(clips):
        sound = 0.1 * np.random.default_rng(clip).standard_normal(int(clip_seconds * 22_050))
        soundfile.write(run / "samples" / f"step-{steps}-{clip + 1}.wav", sound, 22_050, subtype="PCM_16")
    return run


def _records(steps: int) -> Iterator[dict[str, Any]]:
    draw, at = random.Random(0), BEGAN
    yield _start(at)
    yield {"time": at + 31, "kind": "event", "step": 0, "event": "compiled", "shapes": len(_BUCKETS), "seconds": 30.5}
    at += 31
    for step in range(1, steps + 1):
        record = _step(step, steps, draw)
        at += (record["data_ms"] + record["compute_ms"]) / 1e3
        yield {"time": round(at, 3), **record}
        if step % 200 == 0:
            yield {"time": round(at, 3), "kind": "machine", "step": step, **_machine(at, step in STALLED, draw)}
        if step % 500 == 0:
            at += 2.0
            yield {
                "time": round(at, 3),
                "kind": "validation",
                "step": step,
                "mel_error": 0.42 + 0.5 * math.exp(-step / 2500),
                "duration_ratio": 1 - 0.2 * math.exp(-step / 3000),
            }
        if step == steps // 2:
            yield {"time": round(at, 3), "kind": "resume", "step": step}
    yield {
        "time": round(at, 3),
        "kind": "report",
        "step": steps,
        "traces_after_start": 0,
        "machine": {
            "description": {
                "cpu": "Example 9000",
                "cpus": 16,
                "memory_bytes": 64e9,
                "gpu": "1 x Example 24 GB",
                "tensorflow": "2.21.0",
            }
        },
    }
    yield {"time": round(at, 3), "kind": "end", "step": steps, "why": "done"}


def _start(at: float) -> dict[str, Any]:
    buckets = [{"batch": 32, "frames": frames, "tokens": frames // 4, "utterances": n} for frames, n in _BUCKETS]
    feed = {"loader": "mapped", "steps_per_epoch": 407, "useful_frame_share": 0.8912, "tables": [{"buckets": buckets}]}
    config = XTTSConfig().to_dict()
    return {"time": at, "kind": "start", "step": 0, "config": config, "feed": feed, "parameters": 23_456_789}


def _step(step: int, steps: int, draw: random.Random) -> dict[str, Any]:
    frames = draw.choices([frames for frames, _ in _BUCKETS], [n for _, n in _BUCKETS])[0]
    compute = 40 + 0.12 * frames + draw.gauss(0, 2)
    waits = 90 + 40 * draw.random() if step in STALLED else 0.04 + 0.1 * draw.random()
    data = 640.0 if step == HICCUP else 800.0 if step == 1 else waits
    loss = 0.3 + 2.5 * math.exp(-step / 700) + 0.03 * draw.gauss(0, 1)
    rate = 1e-3 * min(step / 1000, 0.5 + 0.5 * math.cos(math.pi * step / steps))
    return {
        "kind": "step",
        "step": step,
        "epoch": round(step / 407, 4),
        "loss": loss,
        "grad_norm": 0.2 + draw.random(),
        "learning_rate": rate,
        "data_ms": round(data, 3),
        "compute_ms": round(compute, 3),
        "stall": round(data / (data + compute), 5),
        "batch": 32,
        "frames": frames,
        "utterances_per_second": 300.0,
    }


def _machine(at: float, stalled: bool, draw: random.Random) -> dict[str, list[float]]:
    times = [round(at - 20 + n, 3) for n in range(20)]
    means = {
        "cpu_percent": 95.0 if stalled else 24.0,
        "own_cpu_share_percent": 20.0,
        "own_memory_bytes": 3.1e9,
        "available_bytes": 41e9,
        "disk_read_bytes_per_s": 210e6 if stalled else 1e5,
        "disk_write_bytes_per_s": 2e5,
        "major_faults_per_s": 800.0 if stalled else 0.0,
        "gpu0.utilisation_percent": 45.0 if stalled else 98.0,
        "gpu0.memory_used_bytes": 17.5e9,
        "gpu0.power_watts": 190.0 if stalled else 320.0,
    }
    return {"at": times} | {
        name: [round(mean * (1 + 0.02 * draw.gauss(0, 1)), 2) for _ in times] for name, mean in means.items()
    }


# ---- the browser ----------------------------------------------------------------------------------------------------


def find_chromium() -> str | None:
    return next((path for name in CHROMIUM if (path := shutil.which(name))), None)


def browse(chromium: str, file: Path, *flags: str) -> tuple[str, str]:
    """Open a file in a fresh browser: what it prints, and its log."""
    with tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True) as profile:
        command = [
            chromium,
            *FLAGS,
            f"--user-data-dir={profile}",
            "--enable-logging=stderr",
            *flags,
            file.resolve().as_uri(),
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return done.stdout, done.stderr


def opening_seconds(chromium: str, file: Path, repeats: int = 3) -> float:
    """From the start of the program to a picture of the page: the median."""
    seconds = []
    for _ in range(repeats):
        began = time.perf_counter()
        browse(chromium, file, f"--screenshot={file.with_suffix('.png')}", "--window-size=1280,900")
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=10_000)
    steps = parser.parse_args().steps
    from myxtts.report.run import write_run_report

    with tempfile.TemporaryDirectory(prefix="report-") as folder:
        run = write_long_run(Path(folder) / "run", steps)
        began = time.perf_counter()
        page = write_run_report(run)
        made = time.perf_counter() - began
        megabytes, logged = page.stat().st_size / 1e6, (run / "log.jsonl").stat().st_size / 1e6
        print(f"{steps} steps, log {logged:.1f} MB: report {megabytes:.2f} MB (bar 3), made in {made * 1e3:.0f} ms")
        chromium = find_chromium()
        if chromium is None:
            print("opening: not measured, there is no Chromium (apt-get install chromium)")
            return
        empty = Path(folder) / "empty.html"
        empty.write_text("<!doctype html><title>empty</title>")
        whole, alone = opening_seconds(chromium, page), opening_seconds(chromium, empty)
        print(
            f"opening: {whole * 1e3:.0f} ms from a cold browser (bar 2000), an empty page {alone * 1e3:.0f} ms, "
            f"so the report takes {(whole - alone) * 1e3:.0f} ms"
        )


if __name__ == "__main__":
    main()
