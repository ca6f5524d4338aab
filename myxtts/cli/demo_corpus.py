"""`myxtts demo-corpus` makes a synthetic corpus."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from myxtts.cli.shared import Result, add_verb, positive, progress_bar


def add(verbs: Any) -> None:
    parser = add_verb(verbs, "demo-corpus", run, "make a small synthetic corpus to try things on",
        "  myxtts demo-corpus demo/corpus\n  myxtts demo-corpus voices --engine espeak --utterances 200")  # fmt: skip
    parser.add_argument("folder", metavar="DIR", type=Path, help="the folder to make")
    parser.add_argument("--utterances", metavar="N", type=positive, default=1000, help="how many (default 1000)")
    parser.add_argument("--engine", choices=("hibari", "espeak"), default="hibari",
                        help="hibari: a natural English voice; espeak: several in en, fa, es, fr, de")  # fmt: skip
    parser.add_argument("--seed", type=int, default=0, help="another number makes another corpus")


def run(arguments: argparse.Namespace) -> Result:
    from myxtts.corpus.demo import make_demo_corpus

    with progress_bar(arguments.utterances, "speaking", "utt") as bar:
        result = make_demo_corpus(
            arguments.folder,
            arguments.utterances,
            arguments.engine,
            arguments.seed,
            progress=lambda done, total: bar.update(done - bar.n),
        )
    text = (
        f"{arguments.folder}: {result['utterances']} synthetic utterances, {result['seconds'] / 60:.1f} min, "
        f"{len(result['speakers'])} speaker(s), {', '.join(result['languages'])}\n"
        f"next: myxtts pack {arguments.folder}"
    )
    return 0, {key: str(value) if isinstance(value, Path) else value for key, value in result.items()}, text
