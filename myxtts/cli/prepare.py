"""`myxtts prepare` makes a corpus of long recordings."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from myxtts.cli.shared import Result, UsageError, add_verb, port_number, progress_bar


def add(verbs: Any) -> None:
    parser = add_verb(verbs, "prepare", run, "make a corpus of long recordings: cut in pauses, a text for each row",
        "  myxtts prepare interview.wav -o corpus\n"
        "  myxtts prepare chapter1.mp3 chapter2.mp3 -o book --text book.txt --speaker anna\n"
        "  myxtts prepare talks/ -o corpus --text subtitles/ --language fa --asr ~/whisper-large\n"
        "  myxtts prepare chapter1.mp3 -o book --text book.txt --aligner base\n"
        "  myxtts prepare more.wav -o corpus --min-trust 0.9 --json\n"
        "  myxtts prepare -o corpus --review")  # fmt: skip
    parser.add_argument("inputs", metavar="INPUT", type=Path, nargs="*", help="recordings, or folders of recordings")
    parser.add_argument("-o", "--output", metavar="CORPUS", type=Path, dest="corpus", required=True,
                        help="the folder to make, or to add to")  # fmt: skip
    parser.add_argument("--text", metavar="FILE|FOLDER", type=Path,
                        help="what is said: .txt, .srt or .vtt for all inputs, or a folder with one of the same name "
                        "for each (default: a recogniser writes it down)")  # fmt: skip
    parser.add_argument("--language", metavar="CODE", help="spoken language, for example fa (default: en-us)")
    parser.add_argument("--speaker", metavar="NAME", help="who speaks (default: the name of the corpus)")
    parser.add_argument("--asr", metavar="NAME|DIR",
                        help="recogniser: moonshine (default for English), whisper (default for others), a folder of "
                        "faster-whisper's, or none: only cut")  # fmt: skip
    parser.add_argument("--aligner", metavar="RUN",
                        help="without a recogniser: a run, a checkpoint or base finds the words of --text by how they "
                        "should sound")  # fmt: skip
    parser.add_argument("--review", action="store_true",
                        help="then serve a page on this machine to hear and correct rows; Ctrl-C ends it")  # fmt: skip
    parser.add_argument("--port", metavar="N", type=port_number, default=8021, help="of the page; 0 takes a free one")
    parser.add_argument("--min-trust", metavar="X", type=_share, dest="least_trust",
                        help="put rows aside that can be trusted less, 0 to 1 (default: 0.7)")  # fmt: skip


def run(arguments: argparse.Namespace) -> Result:
    from myxtts.prepare.prepare import Order, prepare
    from myxtts.prepare.review import review
    from myxtts.prepare.trust import LEAST_TRUST

    names = ("inputs", "corpus", "text", "language", "speaker", "asr", "aligner", "least_trust")
    given = {name: value for name in names if (value := getattr(arguments, name)) is not None}
    if arguments.asr not in (None, "moonshine", "whisper", "none") and not Path(arguments.asr).is_dir():
        raise UsageError(f"--asr {arguments.asr}: expected moonshine, whisper, none or a folder of faster-whisper's")
    if arguments.aligner and (arguments.asr or not arguments.text):
        raise UsageError("--aligner finds the words of a --text, in the place of --asr: name a text and no recogniser")
    if not arguments.inputs and not arguments.review:
        raise UsageError("name recordings to prepare, or --review what is prepared")
    outcome = prepare(Order(**given), _bar) if arguments.inputs else {}
    if arguments.review:
        outcome = review(arguments.corpus, given.get("least_trust", LEAST_TRUST), arguments.port, _say_address)
    summary = {"corpus": str(arguments.corpus), **outcome}
    return (0 if summary["rows"] else 1), summary, describe(summary)


def _say_address(address: str) -> None:
    print(f"review at {address}, Ctrl-C ends it and writes the corpus", file=sys.stderr, flush=True)


@contextmanager
def _bar(what: str, seconds: float) -> Iterator[Callable[[float], None]]:
    """Counts in seconds of sound."""
    with progress_bar(round(seconds), what, "s") as bar:
        done = 0.0

        def moved(more: float) -> None:
            nonlocal done
            done += more
            bar.update(round(done) - bar.n)

        yield moved


def describe(summary: dict[str, Any]) -> str:
    from myxtts.prepare.rows import ASIDE
    from myxtts.prepare.slicing import REASONS

    corpus = summary["corpus"]
    trust = f", median trust {summary['trust']:.2f}" if summary["rows"] else ""
    lines = [
        f"{corpus}: {summary['rows']} rows, {_time(summary['row_seconds'])} of {_time(summary['seconds'])} in "
        f"{summary['recordings']} recording(s){trust}",
        *_describe_reasons("aside", f"{corpus}/aside.jsonl", summary, ASIDE),
        *_describe_reasons("left out", f"{corpus}/left_out.jsonl", summary, REASONS),
    ]
    if summary["not_read"] or summary["not_in_text"]:
        only = f"{summary['not_read']} passage(s) of the text were not read, {summary['not_in_text']} of the sound"
        lines.append(f"  {only} are not in the text: {corpus}/differences.jsonl")
    if summary["stale_decisions"]:
        lines.append(f"  {summary['stale_decisions']} decision(s) of the review fit no row any more")
    return "\n".join([*lines, f"next: myxtts check {corpus}"] if summary["rows"] else lines)


def _describe_reasons(name: str, listed: str, summary: dict[str, Any], reasons: dict[str, str]) -> list[str]:
    by_reason = summary[name.replace(" ", "_")]
    if not by_reason:
        return []
    lines = [f"  {name}: {_time(sum(each['seconds'] for each in by_reason.values()))}, listed in {listed}"]
    return lines + [
        f"    {_time(each['seconds']):>9}  {reason}: {reasons[reason]}" for reason, each in by_reason.items()
    ]


def _time(seconds: float) -> str:
    return f"{seconds / 60:.1f} min" if seconds >= 60 else f"{seconds:.1f} s"


def _share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text} is not a number from 0 to 1")
    return value
