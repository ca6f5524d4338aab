"""LJSpeech: `metadata.csv` with `id|text|normalised text` and `wavs/ID.wav`.

Two more columns, `speaker` and `language`, are read where a corpus has them, and audio may be any format in `wavs/`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar

from myxtts.corpus.layout import Layout, find_audio
from myxtts.corpus.lines import count_lines, first_line, is_clean, printable, read_lines
from myxtts.corpus.table import has_named_columns
from myxtts.corpus.utterance import Rejected, Row
from myxtts.errors import CorpusError

METADATA = "metadata.csv"


class Piped(Layout):
    """Rows of cells between pipes, without a header; the first cell names the audio."""

    places: ClassVar[Sequence[str]]
    expected: ClassVar[str]

    def __init__(self, path: Path, speaker: str, language: str):
        super().__init__(path, speaker, language)
        self.metadata: Path = path if path.is_file() else path / METADATA
        if not self.metadata.is_file():
            raise CorpusError(f"{path} has no {METADATA}: the layout {self.name} needs one with lines {self.expected}")

    def count(self) -> int:
        return count_lines(self.metadata)

    def rows(self) -> Iterator[Row]:
        for row, line in enumerate(read_lines(self.metadata), start=1):
            if line.strip():
                yield self._parse(row, line)

    def _parse(self, row: int, line: str) -> Row:
        cells = [cell.strip() for cell in line.split("|")]
        if not is_clean(line):
            message = "the row holds a NUL or bytes that are not UTF-8"
            return Rejected(row, printable(cells[0]), "bad_encoding", message)
        if len(cells) < 2 or not cells[0]:
            return Rejected(row, cells[0], "bad_row", f"expected {self.expected}, found {line[:80]!r}")
        text, speaker, language = self.meaning(cells[1:])
        audio = find_audio(self.folder, self.places, cells[0])
        return self.utterance(row, cells[0], audio, text, speaker, language)

    def meaning(self, cells: list[str]) -> tuple[str, str, str]:
        """(text, speaker, language) of the cells after the first, '' for what they do not say."""
        raise NotImplementedError


class LJSpeech(Piped):
    name = "ljspeech"
    about = "metadata.csv with lines id|text, audio in wavs/"
    general = True
    places = ("wavs", "")
    expected = "'id|text'"

    @classmethod
    def recognise(cls, path: Path) -> Path | None:
        return piped_file(path)

    def meaning(self, cells: list[str]) -> tuple[str, str, str]:
        text, normalised, speaker, language = [*cells, "", "", ""][:4]
        return normalised or text, speaker, language


def piped_file(path: Path) -> Path | None:
    """`metadata.csv` without named columns; of other files only one whose first line has pipes."""
    file = path / METADATA if path.is_dir() else path
    if not file.is_file() or file.suffix not in (".csv", ".txt") or has_named_columns(file):
        return None
    return file if file.name == METADATA or "|" in first_line(file) else None
