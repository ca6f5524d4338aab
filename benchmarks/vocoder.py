"""What does a vocoder lose? Copies of recordings by ours, Griffin-Lim and others, beside the recordings, in one run.

    python benchmarks/vocoder.py CORPUS [--vocoder DIR ...] [--clips 24] [--json]

CORPUS: clips of speakers that no vocoder was trained on, in any layout that `pack` reads. Each clip's mel goes through
each vocoder: naturalness by DistillMOS, word error rate of the English ones by Moonshine, STOI against the recording,
CPU seconds for a second of sound. HiFi-GAN universal for comparison: `myxtts import-vocoder`, then --vocoder DIR.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from pystoi import stoi
from tqdm import tqdm

from myxtts.corpus.detect import detect
from myxtts.corpus.utterance import Utterance
from myxtts.evaluation.distillmos import DistillMos
from myxtts.evaluation.intelligibility import word_error_rate
from myxtts.evaluation.recogniser import moonshine
from myxtts.features.audio import AudioSettings, load_clip, to_float
from myxtts.features.mel import SAMPLE_RATE, log_mel
from myxtts.inference.vocoder import find_vocoder

RECORDING = "recording"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--vocoder", action="append", default=[], help="another one: a run or a folder")
    parser.add_argument("--clips", type=int, default=24)
    parser.add_argument("--json", action="store_true", help="also print the numbers as one JSON object, last")
    arguments = parser.parse_args()
    rows = _some(arguments.corpus, arguments.clips)
    ways = ["neural", "griffin-lim", *arguments.vocoder]
    naturalness, listen = DistillMos(), moonshine()
    table = {way: _judge(way, rows, naturalness, listen) for way in [RECORDING, *ways]}
    print(f"{f'{len(rows)} clips':<34}naturalness   WER  STOI  CPU s per s")
    for way, line in table.items():
        print(f"{way[-32:]:<34}{line['naturalness']:11.2f}{line['wer']:6.3f}{line['stoi']:6.3f}{line['rtf']:10.3f}")
    print(f"{len({row.speaker for row in rows})} speakers; WER over {sum(map(_english, rows))} English clips")
    if arguments.json:
        print(json.dumps(table))


def _some(corpus: Path, count: int) -> list[Utterance]:
    """Evenly over the corpus."""
    rows = [row for row in detect(corpus)(corpus, "speaker", "en-us").rows() if isinstance(row, Utterance)]
    return [rows[at] for at in np.unique(np.linspace(0, len(rows) - 1, min(count, len(rows))).astype(int))]


def _judge(way: str, rows: list[Utterance], naturalness: Any, listen: Any) -> dict[str, float]:
    speak = None if way == RECORDING else find_vocoder(way)
    if speak:
        speak(np.zeros((64, 80), np.float32) - 8.0)  # loaded and compiled before it is timed
    scores, nearness, said, heard, cpu, seconds = [], [], [], [], 0.0, 0.0
    for row in tqdm(rows, desc=way[-24:], leave=False):
        real = to_float(load_clip(row.audio, AudioSettings()))
        real = real[: len(real) // 256 * 256]
        before = time.process_time()
        sound = speak(log_mel(real)) if speak else real
        cpu, seconds = cpu + time.process_time() - before, seconds + len(real) / SAMPLE_RATE
        scores.append(naturalness(sound, SAMPLE_RATE))
        nearness.append(stoi(real, sound[: len(real)], SAMPLE_RATE))
        if _english(row):
            said.append(row.text)
            heard.append(listen(sound, SAMPLE_RATE))
    wer = word_error_rate(said, heard) if said else float("nan")
    return {"naturalness": float(np.mean(scores)), "wer": wer, "stoi": float(np.mean(nearness)), "rtf": cpu / seconds}


def _english(row: Utterance) -> bool:
    return row.language.startswith("en")


if __name__ == "__main__":
    main()
