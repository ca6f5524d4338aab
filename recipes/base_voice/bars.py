"""Prints each bar of the base voice beside what the judges say of it:

    python -m recipes.many_voices many --held-out judges --sources
    python -m recipes.base_voice.bars judges work

The first command makes only the voices to judge by. Of the second, listening to the base takes half an hour on two
cores, and each of the three fine-tuned voices 15 minutes to train and some to listen to. Run it again after a kill:
what was heard is kept in WORK, a file for each line of the table.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from myxtts.evaluation.evaluate import Evaluation, Row
from myxtts.features.languages import family_of
from myxtts.files import write_whole
from recipes.many_voices.judges import PERSON_MINUTES

SPOKEN = "en-us"
SENTENCES = {"seen": 4, "unseen": 8, "strangers": 8}  # for each voice

Heard = dict[str, Any]  # what `myxtts evaluate --json` prints


class Bar(NamedTuple):
    of: str
    value: float
    bound: float
    at_most: bool = False

    def __str__(self) -> str:
        met = self.value <= self.bound if self.at_most else self.value >= self.bound
        sign = "<=" if self.at_most else ">="
        return f"{self.of:<64} {self.value:6.3f} {sign} {self.bound:6.3f}  {'met' if met else 'MISSED'}"


def main() -> None:
    arguments = _arguments()
    judges, work = arguments.judges, arguments.work
    work.mkdir(parents=True, exist_ok=True)
    _print(first_wav_bars(judges, work))
    bars = {"seen": seen_bars, "unseen": unseen_bars, "strangers": lambda heard: across_bars(heard, judges)}
    for name, of in bars.items():
        _print(of(_evaluate_voices(name, judges, work)))
    for minutes in PERSON_MINUTES:
        _print(tuned_bars(f"{minutes} minutes of a person", _fine_tune(minutes, judges, work, arguments.minutes)))


def first_wav_bars(judges: Path, work: Path) -> Iterator[Bar]:
    """A command of its own, in the voice of a clip, as after an installation."""
    clip = json.loads((judges / "unseen.jsonl").read_text(encoding="utf-8").splitlines()[0])["audio"]
    started = time.perf_counter()
    _myxtts("say", "Good morning.", "--voice", judges / clip, "-o", work / "first.wav")
    yield Bar("from an installation to the first wav, seconds", time.perf_counter() - started, 60.0, at_most=True)


def seen_bars(heard: Heard) -> Iterator[Bar]:
    similarity = heard["scores"]["similarity"]
    yield Bar("seen voices: similarity, of real to real", similarity["synthetic"] / similarity["real"], 0.85)
    yield Bar("seen voices: the right one of 20 is nearest", _spoken(heard, "nearest"), 0.9)
    yield Bar("seen voices: naturalness", _spoken(heard, "distillmos"), 3.5)


def unseen_bars(heard: Heard) -> Iterator[Bar]:
    yield Bar("unseen voices: the right one of 17 is nearest", _spoken(heard, "nearest"), 0.6)
    yield Bar("unseen voices: nearer than others are on average", _spoken(heard, "above_others"), 0.9)
    yield Bar("unseen voices: word error rate", _spoken(heard, "wer"), 0.1, at_most=True)
    yield Bar("unseen voices: naturalness", _spoken(heard, "distillmos"), 3.2)


def across_bars(heard: Heard, judges: Path) -> Iterator[Bar]:
    """Voices of other languages speak English."""
    share = heard["across_languages"]["above_every_speaker"]
    yield Bar("across languages: nearer to itself than to each of the language", share, 0.8)
    manifest = (judges / "strangers.jsonl").read_text(encoding="utf-8").splitlines()
    natives = {row["speaker"] for row in map(json.loads, manifest) if family_of(row["language"]) == family_of(SPOKEN)}
    own, foreign = (_words_wrong(heard, natives, native) for native in (True, False))
    yield Bar("across languages: word error rate above that of its natives", foreign - own, 0.1, at_most=True)


def tuned_bars(of: str, heard: Heard) -> Iterator[Bar]:
    """A gain of 0.15 in similarity would do as well as nine tenths of the recordings'."""
    words, natural, similarity = (heard["scores"][key] for key in ("wer", "distillmos", "similarity"))
    bound = min(similarity["before"] + 0.15, 0.9 * similarity["real"])
    yield Bar(f"{of}: similarity", similarity["synthetic"], bound)
    yield Bar(f"{of}: word error rate", words["synthetic"], words["before"] + 0.02, at_most=True)
    yield Bar(f"{of}: naturalness", natural["synthetic"], natural["before"] - 0.1)


def _spoken(heard: Heard, key: str) -> float:
    return float(heard["scores"][key]["synthetic"])


def _words_wrong(heard: Heard, natives: set[str], native: bool) -> float:
    rows = [Row(**row) for row in heard["rows"] if (row["speaker"] in natives) == native]
    return Evaluation(rows).scores["wer"]["synthetic"]


def _print(bars: Iterator[Bar]) -> None:
    for bar in bars:
        print(bar, flush=True)


def _evaluate_voices(name: str, judges: Path, work: Path) -> Heard:
    voices = ["--voices", judges / f"{name}.jsonl", "--language", SPOKEN, "--sentences", SENTENCES[name]]
    return _heard(work / f"{name}.json", "--model", "base", *voices)


def _fine_tune(person: int, judges: Path, work: Path, minutes: float) -> Heard:
    """What is heard of the base and of the voice trained from it, in sentences that chose no checkpoint."""
    told, run = work / f"person-{person}.json", work / f"person-{person}"
    data = ["--data", _packed(f"person-{person}", judges, work)]
    held_out = ["--val-data", _packed("person-held-out", judges, work)]
    if not told.exists():
        _myxtts("train", "--preset", "cpu", "--from", "base", *data, "--run", run, "--minutes", minutes)
    return _heard(told, "--model", run, "--before", "base", *data, *held_out)


def _packed(name: str, judges: Path, work: Path) -> Path:
    cache = work / f"{name}.cache"
    if not cache.exists():
        _myxtts("pack", judges / f"{name}.jsonl", "-o", cache)
    return cache


def _heard(told: Path, *words: object) -> Heard:
    if not told.exists():
        write_whole(told, _myxtts("evaluate", *words, "--json"))
    heard: Heard = json.loads(told.read_bytes())
    return heard


def _myxtts(*words: object) -> bytes:
    command = [sys.executable, "-m", "myxtts", *map(str, words)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("judges", type=Path, help="made by recipes.many_voices --held-out")
    parser.add_argument("work", type=Path, help="where runs and what was heard go")
    parser.add_argument("--minutes", type=float, default=15, help="of training a person's voice (default: 15)")
    arguments = parser.parse_args()
    if not (arguments.judges / "seen.jsonl").is_file():
        parser.error(f"{arguments.judges} has no seen.jsonl: make it with 'python -m recipes.many_voices many "
                     f"--held-out {arguments.judges} --sources'")  # fmt: skip
    return arguments


if __name__ == "__main__":
    main()
