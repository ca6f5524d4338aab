"""How fast is `check`? Beside decoding alone with the same threads, which is the limit, measured in one run.

python benchmarks/check.py [--utterances 2000] [--repeats 3] [--rate 22050] [--format wav] [--folder DIR] [--json]
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import soundfile
from measure import interleave
from pack import THREADS, decode, in_threads
from synthetic import write_corpus

from myxtts.cache.prepare import make_readings
from myxtts.cache.settings import PackSettings
from myxtts.config.config import DataConfig
from myxtts.corpus.check import check
from myxtts.corpus.read import open_corpus
from myxtts.features.hear import hear_clips


def checking(corpus: Path, tokens: str):
    settings = PackSettings.from_config(DataConfig(text_tokens=tokens))
    hear, spell = partial(hear_clips, settings=settings.audio), partial(make_readings, frontend=settings.text)
    return lambda: check(open_corpus(corpus), hear, spell, THREADS)


def convert(corpus: Path, rate: int, suffix: str) -> None:
    """The clips at another rate (by repeating samples: only the amount of work counts) or in another format."""
    for path in sorted((corpus / "wavs").iterdir()):
        audio, old_rate = soundfile.read(path, dtype="int16")
        path.unlink()
        places = np.arange(int(len(audio) * rate / old_rate)) * old_rate // rate
        soundfile.write(path.with_suffix(f".{suffix}"), audio[places], rate)


def measure(folder: Path, utterances: int, repeats: int, rate: int, suffix: str) -> dict[str, float]:
    corpus = folder / "corpus"
    seconds = write_corpus(corpus, utterances)
    if (rate, suffix) != (22050, "wav"):
        convert(corpus, rate, suffix)
    paths = sorted((corpus / "wavs").iterdir())
    timings = interleave(
        {
            "(warm the page cache)": lambda: in_threads(decode, paths),
            "limit: decode only": lambda: in_threads(decode, paths),
            "check, phonemes": checking(corpus, "phonemes"),
            "check, characters": checking(corpus, "characters"),
        },
        repeats,
    )
    print(f"{seconds / 3600:.2f} h of audio, {rate} Hz {suffix}, {THREADS} threads")
    for name, timing in list(timings.items())[1:]:
        rates = f"{utterances / timing.best:8,.0f} utt/s, {seconds / timing.best:8,.0f} x real time"
        cpu = f"{timing.best_cpu / utterances * 1e3:.2f} ms of CPU each"
        print(f"{name:<20} {timing.best:6.2f} s, spread {timing.spread:.2f}, {rates}, {cpu}")
    limit = timings["limit: decode only"].best
    result = {
        "check / decode only (bar 0.60)": limit / timings["check, phonemes"].best,
        "with characters": limit / timings["check, characters"].best,
    }
    for name, value in result.items():
        print(f"{name:<32} {value:6.3f}")
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--utterances", type=int, default=2000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--rate", type=int, default=22050)
    parser.add_argument("--format", choices=("wav", "flac", "ogg", "mp3"), default="wav", dest="suffix")
    parser.add_argument("--folder", type=Path, help="where to work (default: the disk of /var/tmp)")
    parser.add_argument("--json", action="store_true", help="also print the ratios as one JSON object, last")
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(dir=arguments.folder or "/var/tmp"))
    try:
        result = measure(folder, arguments.utterances, arguments.repeats, arguments.rate, arguments.suffix)
    finally:
        shutil.rmtree(folder)
    if arguments.json:
        print(json.dumps(result))


if __name__ == "__main__":
    main()
