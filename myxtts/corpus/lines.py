"""Metadata files as text, line by line: any line ending, a BOM or none, and bytes that are not UTF-8 kept visible."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from pathlib import Path

from myxtts.errors import CorpusError

_UNCLEAN = re.compile("[\0\ud800-\udfff]")
# UTF-32 first: its mark begins with that of UTF-16.
_OTHERS = {
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}


def read_lines(path: Path) -> Iterator[str]:
    """Each line without its ending. Bytes that are not UTF-8 become lone surrogates: ask `is_clean` per row."""
    try:
        _refuse_other_encodings(path)
        with open(path, encoding="utf-8-sig", errors="surrogateescape", newline=None) as file:
            for line in file:
                yield line.rstrip("\n")
    except OSError as error:
        raise CorpusError(f"cannot read {path}: {error.strerror}") from None


def _refuse_other_encodings(path: Path) -> None:
    beginning = _beginning(path)
    for mark, name in _OTHERS.items():
        if beginning.startswith(mark):
            raise CorpusError(
                f"{path} is {name}, expected UTF-8: convert it with 'iconv -f {name} -t UTF-8 {path.name} > utf8.txt'"
            )


def has_bom(path: Path) -> bool:
    """Whether the file begins with the byte order mark of UTF-8: it is read, but many other programs trip over it."""
    return _beginning(path).startswith(codecs.BOM_UTF8)


def _beginning(path: Path) -> bytes:
    with open(path, "rb") as file:
        return file.read(4)


def count_lines(path: Path) -> int:
    """Lines that are not blank: what a progress bar expects."""
    return sum(1 for line in read_lines(path) if line.strip())


def is_clean(text: str) -> bool:
    """False if the text holds bytes that were not UTF-8, half a character, or a NUL."""
    return _UNCLEAN.search(text) is None


def printable(text: str) -> str:
    """The text with what is not clean replaced by question marks, for a list of rejected rows."""
    return _UNCLEAN.sub("\ufffd", text)


def first_line(path: Path) -> str:
    return next((line for line in read_lines(path) if line.strip()), "")
