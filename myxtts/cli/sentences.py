"""`myxtts sentences` prints sentences to read aloud."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from myxtts.cli.shared import Result, above_zero, add_verb


def add(verbs: Any) -> None:
    parser = add_verb(verbs, "sentences", run, "print sentences to read aloud that cover the sounds of a language",
        "  myxtts sentences en -o read-aloud.txt\n  myxtts sentences fa --minutes 5\n"
        "  myxtts sentences it --from my-book.txt")  # fmt: skip
    parser.add_argument("language", metavar="LANGUAGE", help="en, fa, de, es or fr; any other with --from")
    parser.add_argument("--minutes", metavar="M", type=_minutes, default=20.0, help="of reading (default: 20)")
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help="write them to a file (default: print them)")
    parser.add_argument("--from", metavar="FILE", type=Path, dest="text", help="choose from your own text")


def run(arguments: argparse.Namespace) -> Result:
    from myxtts.files import write_whole
    from myxtts.prepare.reading_list import reading_list

    chosen = reading_list(arguments.language, arguments.minutes, arguments.text)
    text = "\n".join(chosen.sentences)
    message = f"{len(chosen.sentences)} sentences, about {chosen.seconds / 60:.0f} min; {chosen.covered}"
    message = f"{message} of {chosen.known} pairs of {chosen.unit}; {chosen.origin}"
    if arguments.output:
        write_whole(arguments.output, f"{text}\n".encode())
        return 0, dict(vars(chosen)), f"{arguments.output}: {message}"
    if not arguments.json:
        print(message, file=sys.stderr)
    return 0, dict(vars(chosen)), text


def _minutes(text: str) -> float:
    return above_zero(text, "minutes")
