"""`myxtts monitor` watches the machine, and an active run."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

from myxtts.cli.shared import Result, UsageError, above_zero, add_verb


def add(verbs: Any) -> None:
    parser = add_verb(verbs, "monitor", run, "watch cores, memory, disk, GPUs and a run; Ctrl-C ends it with a summary",
        "  myxtts monitor\n  myxtts monitor runs/anna\n"
        "  myxtts monitor runs/anna --log-file night.csv --interval 10 --duration 28800")  # fmt: skip
    parser.add_argument("run_dir", metavar="RUN", type=Path, nargs="?", help="a run's directory, running or not")
    parser.add_argument("--log-file", metavar="FILE", nargs="?", const="",
                        help="write every row to FILE.csv or FILE.jsonl (default: monitor-TIME.csv)")  # fmt: skip
    parser.add_argument("--duration", metavar="S", type=seconds, help="stop after S seconds (default: at Ctrl-C)")
    parser.add_argument("--interval", metavar="S", type=seconds, default=1.0, help="seconds between rows (default 1)")


def seconds(text: str) -> float:
    return above_zero(text, "seconds")


def run(arguments: argparse.Namespace) -> Result:
    from myxtts.watch.view import View, summary_of
    from myxtts.watch.watch import watch

    view = View(sys.stderr if arguments.json else sys.stdout)
    seen = watch(_rows(arguments), arguments.interval, _log_file(arguments), arguments.run_dir, view.show)
    return 0, seen.to_dict(), summary_of(seen)


def _rows(arguments: argparse.Namespace) -> int | None:
    if arguments.duration is None:
        return None
    if arguments.duration < arguments.interval:
        raise UsageError(f"--duration {arguments.duration:g} is shorter than --interval {arguments.interval:g}: "
                         "there would be no row")  # fmt: skip
    return round(arguments.duration / arguments.interval)


def _log_file(arguments: argparse.Namespace) -> Path | None:
    if arguments.log_file is None:
        return None
    path = Path(arguments.log_file or time.strftime("monitor-%Y%m%d-%H%M%S.csv"))
    if arguments.run_dir is not None and path.resolve() == (arguments.run_dir / "log.jsonl").resolve():
        raise UsageError(f"--log-file {path} is the run's own log: name another file")
    if not path.resolve().parent.is_dir():
        raise UsageError(f"there is no folder {path.parent}: make it first, or name another --log-file")
    if path.suffix not in (".csv", ".jsonl"):
        raise UsageError(
            f"--log-file {path}: expected a name that ends in .csv or .jsonl"
            + ("; name the run before --log-file" if path.is_dir() else "")
        )
    return path
