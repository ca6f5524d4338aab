"""Metadata files as text, line by line: any line ending, a BOM or none, and bytes that are not UTF-8 kept visible."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from myxtts.errors import CorpusError

_UNCLEAN = re.compile("[\0\udc80-\udcff]")


def read_lines(path: Path) -> Iterator[str]:
    """Each line without its ending. Bytes that are not UTF-8 become lone surrogates: ask `is_clean` per row."""
    try:
        with open(path, encoding="utf-8-sig", errors="surrogateescape", newline=None) as file:
            for line in file:
                yield line.rstrip("\n")
    except OSError as error:
        raise CorpusError(f"cannot read {path}: {error.strerror}") from None


def count_lines(path: Path) -> int:
    """Lines that are not blank: what a progress bar expects."""
    return sum(1 for line in read_lines(path) if line.strip())


def is_clean(text: str) -> bool:
    """False if the text holds bytes that were not UTF-8, or a NUL."""
    return _UNCLEAN.search(text) is None


def first_line(path: Path) -> str:
    return next((line for line in read_lines(path) if line.strip()), "")
