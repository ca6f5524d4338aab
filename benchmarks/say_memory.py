"""Memory of `myxtts say` does not grow with the text: peak resident memory for some minutes and for half an hour.

    python benchmarks/say_memory.py [--minutes 1 6 30] [--model base] [--json]

Each text is spoken by a process of its own, which says how much memory it had at most (`ru_maxrss`) and how long the
sound file became. Beside it stands what keeping the sound would take: 32-bit samples and the mel of each frame. Half an
hour takes about half a minute of CPU.

The first minutes do grow: each thread of TensorFlow keeps what oneDNN has prepared for 1,024 shapes, and each new
length of a sentence brings more of them (2 MB). After some forty lengths, three minutes of text, that cache is full.
With TF_ENABLE_ONEDNN_OPTS=0 nothing is kept.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from itertools import islice
from pathlib import Path

from myxtts.corpus.demo_sentences import sentences
from myxtts.features.mel import HOP_SAMPLES, N_MELS, SAMPLE_RATE

CHARACTERS_A_SECOND = 15.0  # of the base voice, near enough
KEPT_BYTES_A_SECOND = SAMPLE_RATE * 4 * (1 + N_MELS / HOP_SAMPLES)


def text_of(minutes: float) -> str:
    """Sentences enough for that long; in paragraphs of ten."""
    wanted, said, lines = minutes * 60 * CHARACTERS_A_SECOND, 0, []
    while said < wanted:
        for sentence in islice(sentences("en-us", len(lines)), 400):
            lines.append(sentence.text)
            said += len(sentence.text)
            if said >= wanted:
                break
    return "\n\n".join(" ".join(lines[at : at + 10]) for at in range(0, len(lines), 10))


def child(text: Path, model: str, output: Path) -> None:
    from myxtts.cli import main

    code = main(["say", "--file", str(text), "--model", model, "-o", str(output), "--json"])
    print(json.dumps({"code": code, "kilobytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}))


def measure(minutes: float, model: str, folder: Path) -> dict[str, float]:
    text, output = folder / "text.txt", folder / "out.wav"
    text.write_text(text_of(minutes), encoding="utf-8")
    command = [sys.executable, __file__, "--child", str(text), model, str(output)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    *said, last = done.stdout.strip().splitlines()
    seconds, peak = json.loads("".join(said))["seconds"], json.loads(last)["kilobytes"] * 1024
    return {"seconds": seconds, "peak_mb": peak / 1e6, "kept_mb": seconds * KEPT_BYTES_A_SECOND / 1e6}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, nargs="+", default=[1.0, 6.0, 30.0])
    parser.add_argument("--model", default="base")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child(Path(arguments.child[0]), arguments.child[1], Path(arguments.child[2]))
        return 0
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    with tempfile.TemporaryDirectory() as folder:
        rows = [measure(minutes, arguments.model, Path(folder)) for minutes in arguments.minutes]
    if arguments.json:
        print(json.dumps(rows))
        return 0
    print(f"{'speech':>10}{'peak memory':>14}{'sound if kept':>16}")
    for row in rows:
        print(f"{row['seconds']:8.0f} s{row['peak_mb']:11.0f} MB{row['kept_mb']:13.0f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
