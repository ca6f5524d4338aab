"""`myxtts evaluate` lets a voice speak sentences it was not trained on, and counts what a recogniser mishears."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from myxtts.cli.shared import Result, UsageError, add_verb, find_cache, positive, progress_bar


def add(verbs: Any) -> None:
    parser = add_verb(verbs, "evaluate", run, "word error rate of a voice beside the real recordings (English)",
        "  myxtts evaluate --model runs/anna --data voice.cache\n"
        "  myxtts evaluate --model runs/anna --data voice.cache --sentences 100 --plot heard.png --json")  # fmt: skip
    parser.add_argument("--model", metavar="RUN", type=Path, required=True, help="run directory or checkpoint")
    parser.add_argument("--data", metavar="CACHE", type=Path, required=True, help="the cache that was trained on")
    parser.add_argument("--sentences", metavar="N", type=positive, default=40, help="how many (default 40)")
    parser.add_argument("--vocoder", metavar="NAME|DIR", help="as in say")
    parser.add_argument("--plot", metavar="FILE.png", type=Path, help="draw one sentence, spoken above real")


def run(arguments: argparse.Namespace) -> Result:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    from myxtts.cache.reader import Cache
    from myxtts.evaluation.intelligibility import Sentence, evaluate
    from myxtts.evaluation.recogniser import moonshine
    from myxtts.inference.synthesizer import Synthesizer
    from myxtts.inference.vocoder import DEFAULT_VOCODER, find_vocoder
    from myxtts.training.split import split

    cache = Cache(find_cache(arguments.data))
    rows = split(cache).validation[0][: arguments.sentences].tolist()
    if not rows:
        raise UsageError(f"{arguments.data} is too small to have held sentences back: evaluate on a larger one")
    vocoder = find_vocoder(arguments.vocoder or DEFAULT_VOCODER)
    synthesizer = Synthesizer.load(arguments.model)
    voice = synthesizer.hear()
    with progress_bar(len(rows), "listening", "sentence") as bar:
        found = evaluate(
            lambda text: synthesizer.say(text, voice, vocoder=vocoder),
            (Sentence(cache.text(row), cache.samples(row)) for row in rows),
            moonshine(),
            vocoder,
            progress=lambda _: bar.update(),
        )
    if arguments.plot:
        _draw(arguments.plot, synthesizer.say(cache.text(rows[0]), voice).mel, cache, rows[0])
    return 0, found.to_dict(), str(found)


def _draw(path: Path, spoken: Any, cache: Any, row: int) -> None:
    from myxtts.evaluation.picture import draw_spectrograms
    from myxtts.features.mel import log_mel

    title = cache.text(row)
    draw_spectrograms(path, {f"spoken: {title}": spoken, f"real: {title}": log_mel(cache.samples(row))})
