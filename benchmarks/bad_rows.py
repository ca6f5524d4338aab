"""Does `check` name exactly the bad rows, and `pack` the same ones, each with its reason, and keep the good ones?

    python benchmarks/bad_rows.py [--good 1000] [--bad 300] [--json]

Writes a corpus of good rows with bad ones of 26 kinds among them, and the same corpus without these. The cache of the
first must have the bytes of the cache of the second.
"""

from __future__ import annotations

import argparse
import json
import os
import struct
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import soundfile
from synthetic import WORDS

from myxtts.cache.format import MANIFEST, REJECTED
from myxtts.cache.pack import default_workers, pack
from myxtts.cache.prepare import make_readings
from myxtts.cache.settings import PackSettings
from myxtts.config.config import DataConfig
from myxtts.corpus.check import check
from myxtts.corpus.read import open_corpus
from myxtts.corpus.reasons import REASONS
from myxtts.features.hear import hear_clips

RATE = 22050
Named = list[tuple[int, str, str]]  # (row, id, reason)


def speech(seconds: float, rng: np.random.Generator) -> np.ndarray:
    """Noise with syllables, half of full scale at most."""
    samples = int(seconds * RATE)
    loud = np.repeat(0.1 + 0.4 * rng.random(samples // 2000 + 1), 2000)[:samples]
    return (loud * rng.uniform(-1, 1, samples)).astype(np.float32)


def sentence(seconds: float, rng: np.random.Generator) -> str:
    return " ".join(rng.choice(WORDS.split(), max(4, int(seconds * 2.3)))).capitalize() + "."


def wav_bytes(channels: int, frames_promised: int, data: bytes) -> bytes:
    """A 16-bit wav file whose header may promise more than there is."""
    size = frames_promised * 2 * max(channels, 1)
    head = struct.pack("<4sI4s4sIHHIIHH", b"RIFF", 36 + size, b"WAVE", b"fmt ", 16, 1, channels, RATE,
                       RATE * 2 * channels, 2 * channels, 16)  # fmt: skip
    return head + struct.pack("<4sI", b"data", size) + data


def _sound(path: Path, samples: np.ndarray, subtype: str = "PCM_16") -> None:
    soundfile.write(path, samples, RATE, subtype=subtype)


def _with(value: float) -> Callable[[Path, np.random.Generator], None]:
    def write(path: Path, rng: np.random.Generator) -> None:
        samples = speech(1.0, rng)
        samples[100] = value
        _sound(path, samples, "FLOAT")

    return write


# Bad audio: name of the kind -> (what writes the file, the reason).
AUDIO: dict[str, tuple[Callable[[Path, np.random.Generator], object], str]] = {
    "no file": (lambda path, rng: None, "missing_audio"),
    "a folder": (lambda path, rng: path.mkdir(), "missing_audio"),
    "a named pipe": (lambda path, rng: os.mkfifo(path), "missing_audio"),
    "a dangling link": (lambda path, rng: path.symlink_to("nowhere.wav"), "missing_audio"),
    "a link to itself": (lambda path, rng: path.symlink_to(path.name), "symlink_loop"),
    "zero bytes": (lambda path, rng: path.touch(), "empty_audio"),
    "no samples": (lambda path, rng: _sound(path, np.zeros(0, np.float32)), "empty_audio"),
    "half a header": (lambda path, rng: path.write_bytes(wav_bytes(1, 9000, b"")[:30]), "undecodable"),
    "no audio at all": (lambda path, rng: path.write_text("<html>404</html>"), "undecodable"),
    "no channels": (lambda path, rng: path.write_bytes(wav_bytes(0, 9000, bytes(18000))), "undecodable"),
    "cut off": (lambda path, rng: path.write_bytes(wav_bytes(1, 44100, bytes(range(256)) * 60)), "truncated"),
    "NaN": (_with(np.nan), "not_finite"),
    "infinity": (_with(np.inf), "not_finite"),
    "silence": (lambda path, rng: _sound(path, np.zeros(RATE, np.float32)), "silent"),
    "too short": (lambda path, rng: _sound(path, speech(0.05, rng)), "too_short"),
    "too long": (lambda path, rng: _sound(path, np.full(45 * RATE, 0.3, np.float32)), "too_long"),
}
# Bad rows with good audio: name of the kind -> (the row for an id, the reason). {used} is an id from above.
ROWS: dict[str, tuple[bytes, str]] = {
    "no text": (b"{id}|", "empty_text"),
    "10,000 characters": (b"{id}|" + b"la " * 3333, "long_text"),
    "nothing to say": (b"{id}|?! ...", "unpronounceable"),
    "unknown language": (b"{id}|Some words.||anna|qqq", "unknown_language"),
    "latin-1": (b"{id}|Na\xefve caf\xe9.", "bad_encoding"),
    "NUL": (b"{id}|Some\x00words.", "bad_encoding"),
    "no pipe": (b"{id}", "bad_row"),
    "used id": (b"{used}|The same id again.", "duplicate_id"),
    "out of the folder": (b"../wavs/{id}|Up and away.", "escapes_folder"),
    "absolute": (b"/etc/{id}|Up and away.", "escapes_folder"),
}


def write_good(folder: Path, good: int, seed: int = 0) -> list[bytes]:
    """Good clips, and the row of each."""
    rng = np.random.default_rng(seed)
    (folder / "wavs").mkdir(parents=True)
    rows = []
    for n in range(good):
        seconds = rng.uniform(1.0, 3.0)
        _sound(folder / "wavs" / f"good{n:05d}.wav", speech(seconds, rng))
        text = sentence(seconds, rng)
        rows.append(f"good{n:05d}|{text}|{text}|speaker{n % 3}|en-us".encode())
    return rows


def write_with_bad(folder: Path, good: list[bytes], bad: int, seed: int = 1) -> Named:
    """Bad rows of every kind among the good ones, whose clips are there already. Returns what must be named."""
    rng = np.random.default_rng(seed)
    kinds = [*AUDIO, *ROWS]
    places = np.sort(rng.integers(1, len(good) + 1, bad))  # before this good row
    order = rng.permutation(bad)
    rows, named, done = [], [], 0
    for place, number in zip(places, order, strict=True):
        rows += good[done:place]
        done = int(place)
        row, name, reason = _make_bad(folder, kinds[number % len(kinds)], f"bad{number:05d}", rows[0], rng)
        rows.append(row)
        named.append((len(rows), name, reason))
    (folder / "metadata.csv").write_bytes(b"\n".join([*rows, *good[done:]]) + b"\n")
    return named


def _make_bad(folder: Path, kind: str, name: str, above: bytes, rng: np.random.Generator) -> tuple[bytes, str, str]:
    path = folder / "wavs" / f"{name}.wav"
    if kind in AUDIO:
        write, reason = AUDIO[kind]
        write(path, rng)
        return f"{name}|{sentence(1.0, rng)}".encode(), name, reason
    row, reason = ROWS[kind]
    _sound(path, speech(1.0, rng))
    row = row.replace(b"{used}", above.partition(b"|")[0]).replace(b"{id}", name.encode())
    return row, row.partition(b"|")[0].decode(), reason


def checked(folder: Path, data: DataConfig) -> Named:
    settings = PackSettings.from_config(data)
    hear, spell = partial(hear_clips, settings=settings.audio), partial(make_readings, frontend=settings.text)
    report = check(open_corpus(folder), hear, spell, default_workers())
    problems = [(problem.row, problem.id, problem.reason) for problem in report.problems]
    return sorted(problem for problem in problems if REASONS[problem[2]].is_error)


def packed(folder: Path, cache: Path, data: DataConfig) -> Named:
    pack(open_corpus(folder), cache, PackSettings.from_config(data))
    listed = [json.loads(line) for line in (cache / REJECTED).read_text(encoding="utf-8").splitlines()]
    return sorted((row["row"], row["id"], row["reason"]) for row in listed)


def differing_files(one: Path, other: Path) -> list[str]:
    """Files whose bytes differ, but for the list of the rejected and the manifest that counts them."""
    names = {path.name for cache in (one, other) for path in cache.iterdir()} - {REJECTED, MANIFEST}
    return sorted(name for name in names if (one / name).read_bytes() != (other / name).read_bytes())


def measure(folder: Path, good: int, bad: int, data: DataConfig) -> dict[str, object]:
    rows = write_good(folder / "corpus", good)
    (folder / "corpus" / "metadata.csv").write_bytes(b"\n".join(rows) + b"\n")
    without = packed(folder / "corpus", folder / "good.cache", data)
    expected = sorted(write_with_bad(folder / "corpus", rows, bad))
    by_check = checked(folder / "corpus", data)
    by_pack = packed(folder / "corpus", folder / "all.cache", data)
    return {
        "good rows": good,
        "bad rows": bad,
        "kinds": len({*AUDIO, *ROWS}),
        "reasons": len({reason for _, _, reason in expected}),
        "named by check": len(by_check),
        "wrong or missing in check": sorted(set(by_check) ^ set(expected)),
        "named by pack": len(by_pack),
        "wrong or missing in pack": sorted(set(by_pack) ^ set(expected)),
        "named without the bad rows": without,
        "files that differ": differing_files(folder / "good.cache", folder / "all.cache"),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--good", type=int, default=1000)
    parser.add_argument("--bad", type=int, default=300)
    parser.add_argument("--json", action="store_true", help="print one JSON object instead")
    arguments = parser.parse_args()
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        result = measure(Path(folder), arguments.good, arguments.bad, DataConfig())
    if arguments.json:
        print(json.dumps(result))
    else:
        print("\n".join(f"{name:<28} {value}" for name, value in result.items()))
        print(f"took {time.perf_counter() - started:.0f} s")
    return 1 if any(isinstance(value, list) and value for value in result.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
