"""`myxtts report` draws a run: what it did, how it sounds, and whether the step waited for data."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from myxtts.cli.shared import Result, add_verb, progress_bar


def add(verbs: Any) -> None:
    parser = add_verb(verbs, "report", run, "draw a run as one HTML file that needs no network",
        "  myxtts report runs/anna\n  myxtts report runs/anna -o anna.html")  # fmt: skip
    parser.add_argument("run_dir", metavar="RUN", type=Path, help="a run directory, finished or not")
    parser.add_argument("-o", "--output", metavar="FILE", type=html_file, help="default: RUN/report.html")


def html_file(text: str) -> Path:
    """A place where a page can be written: found out before anything is measured for it."""
    path = Path(text)
    if path.is_dir() or not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"{text} cannot be written: give a file in a folder that exists")
    if os.path.lexists(path) and not _is_page(path):
        raise argparse.ArgumentTypeError(f"{text} exists and is not an HTML page: name another file, or remove it")
    return path


def _is_page(path: Path) -> bool:
    """Whether a report may take its place: a log of a run, a device or a recording would be lost."""
    if not path.is_file():
        return False
    with open(path, "rb") as file:
        beginning = file.read(64).lstrip().lower()
    return not beginning or beginning.startswith((b"<!doctype html", b"<html"))


def run(arguments: argparse.Namespace) -> Result:
    from myxtts.report.run import write_run_report

    lines = _lines_of(arguments.run_dir / "log.jsonl")
    with progress_bar(2 * lines, "reading", "line") as bar:  # once for the pictures and once for the verdict
        path = write_run_report(arguments.run_dir, arguments.output, bar.update)
    return 0, {"report": str(path), "bytes": path.stat().st_size}, f"{path}: open it in a browser"


def _lines_of(path: Path) -> int:
    if not path.is_file():
        return 0
    with open(path, "rb") as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))
