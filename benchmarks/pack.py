"""How fast is packing? Ours, the naive way and the physical limit, measured in one run.

    python benchmarks/pack.py [--utterances 2000] [--repeats 3] [--folder DIR] [--json]

Limits: page-cache-warm wav files, one thread per core that only decodes with soundfile (and, for `precompute`, computes
the mel with scipy.fft); for `verify` a plain read of the same bytes; for the disk a write of the same bytes with fsync.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import soundfile
from measure import Timing, interleave
from synthetic import write_corpus, write_index_only

from myxtts.cache.pack import pack
from myxtts.cache.settings import PackSettings
from myxtts.cache.verify import verify
from myxtts.config.config import DataConfig
from myxtts.corpus.read import open_corpus
from myxtts.features.mel import log_mel

THREADS = len(os.sched_getaffinity(0))
MYXTTS = [sys.executable, "-m", "myxtts"]


def decode(path: Path) -> None:
    soundfile.read(path, dtype="float32")


def decode_and_mel(path: Path) -> None:
    log_mel(soundfile.read(path, dtype="float32")[0])


def in_threads(work, paths: list[Path]) -> None:
    with ThreadPoolExecutor(THREADS) as pool:
        for _ in pool.map(work, paths, chunksize=8):
            pass


def by_librosa(paths: list[Path]) -> None:
    """The usual way: load, melspectrogram, save one .npy a clip."""
    import librosa
    import numpy as np

    with tempfile.TemporaryDirectory() as folder:
        for path in paths:
            audio, rate = librosa.load(path, sr=22050)
            mel = librosa.feature.melspectrogram(
                y=audio, sr=rate, n_fft=1024, hop_length=256, n_mels=80, fmax=8000, power=1.0
            )
            np.save(Path(folder) / f"{path.stem}.npy", np.log(np.maximum(mel, 1e-5)))


def packing(corpus: Path, cache: Path, mode: str):
    def run() -> None:
        shutil.rmtree(cache, ignore_errors=True)
        pack(open_corpus(corpus), cache, PackSettings.from_config(DataConfig(), mode), workers=THREADS)

    return run


def plain_read(cache: Path, threads: int = 1) -> None:
    """Read the files as `cat` does, one after the other, or several at once."""

    def read(path: Path) -> None:
        buffer = bytearray(1 << 20)
        with open(path, "rb", buffering=0) as file:
            while file.readinto(buffer):
                pass

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(read, sorted(cache.iterdir())))


def plain_write(cache: Path, target: Path) -> None:
    """The bytes of the cache, written to the same disk the usual way, through the page cache, and made durable."""
    block = bytes(1 << 22)
    with open(target, "wb", buffering=0) as file:
        for _ in range(sum(path.stat().st_size for path in cache.iterdir()) // len(block)):
            file.write(block)
        os.fsync(file.fileno())
    target.unlink()


def peak_memory_bytes(corpus: Path, cache: Path) -> int:
    """Of the real command, in its own process."""
    shutil.rmtree(cache, ignore_errors=True)
    script = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, capture_output=True); "
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)"
    )
    command = [sys.executable, "-c", script, *MYXTTS, "pack", corpus, "-o", cache]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def seconds_of(script: str) -> float:
    """Best of five runs in a fresh interpreter, without its own start."""
    code = f"import time; start = time.perf_counter()\n{script}\nprint(time.perf_counter() - start)"
    runs = [subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True) for _ in range(5)]
    return min(float(run.stdout) for run in runs)


def measure(folder: Path, utterances: int, repeats: int) -> dict[str, float]:
    corpus, precompute, audio = folder / "corpus", folder / "precompute.cache", folder / "audio.cache"
    audio_seconds = write_corpus(corpus, utterances)
    paths = sorted((corpus / "wavs").iterdir())
    usual = paths[: max(len(paths) // 10, 20)]
    timings = interleave(
        {
            "limit: decode + mel": lambda: in_threads(decode_and_mel, paths),
            "pack --mode precompute": packing(corpus, precompute, "precompute"),
            "limit: decode": lambda: in_threads(decode, paths),
            "pack --mode audio": packing(corpus, audio, "audio"),
            "limit: plain write + fsync": lambda: plain_write(precompute, folder / "written"),
            "(warm the page cache)": lambda: plain_read(precompute),
            "limit: plain read": lambda: plain_read(precompute),
            "limit: plain read, all cores": lambda: plain_read(precompute, THREADS),
            "verify": lambda: verify(precompute),
            "librosa, the usual way": lambda: by_librosa(usual),
        },
        repeats,
    )
    usual_seconds = sum(soundfile.info(path).duration for path in usual)
    show(timings, audio_seconds, usual_seconds)
    write_index_only(folder / "million.cache", 1_000_000)
    opening = f"from myxtts.cache.reader import Cache; Cache({str(folder / 'million.cache')!r})"
    result = {
        "precompute / limit (bar 0.60)": timings["limit: decode + mel"].best / timings["pack --mode precompute"].best,
        "audio / limit (bar 0.50)": timings["limit: decode"].best / timings["pack --mode audio"].best,
        "verify / plain read (bar 0.50)": timings["limit: plain read"].best / timings["verify"].best,
        "verify / plain read on all cores": timings["limit: plain read, all cores"].best / timings["verify"].best,
        "precompute / plain write": timings["limit: plain write + fsync"].best / timings["pack --mode precompute"].best,
        "pack peak memory MB (bar 1500)": peak_memory_bytes(corpus, precompute) / 1e6,
        "import myxtts.cli s (bar 0.3)": seconds_of("import myxtts.cli"),
        "open 1,000,000 utterances s (bar 2)": seconds_of(opening),
    }
    for name, value in result.items():
        print(f"{name:<40} {value:8.3f}")
    return result


def show(timings: dict[str, Timing], audio_seconds: float, usual_seconds: float) -> None:
    print(f"{audio_seconds / 3600:.2f} h of audio, {THREADS} threads; best of the repeats, spread = slowest / best")
    print(f"{'':<30} {'seconds':>8} {'spread':>7} {'x real time':>12} {'CPU s per hour of audio':>24}")
    for name, timing in timings.items():
        if name.startswith("("):
            continue
        seconds = usual_seconds if name.startswith("librosa") else audio_seconds
        print(f"{name:<30} {timing.best:8.2f} {timing.spread:7.2f} {seconds / timing.best:12,.0f} "
              f"{timing.best_cpu / seconds * 3600:24.2f}")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--utterances", type=int, default=2000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--folder", type=Path, help="where to work (default: a temporary folder on the disk of /var/tmp)"
    )
    parser.add_argument("--json", action="store_true", help="also print the ratios as one JSON object, last")
    arguments = parser.parse_args()
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(dir=arguments.folder or "/var/tmp") as folder:
        result = measure(Path(folder), arguments.utterances, arguments.repeats)
    print(f"took {time.perf_counter() - started:.0f} s")
    if arguments.json:
        print(json.dumps(result))


if __name__ == "__main__":
    main()
