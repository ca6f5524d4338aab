"""LJSpeech: `metadata.csv` with `id|text|normalised text` and `wavs/ID.wav`.

Two more columns, `speaker` and `language`, are read where a corpus has them, and audio may be any format in `wavs/`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from myxtts.corpus.lines import count_lines, is_clean, read_lines
from myxtts.corpus.utterance import Rejected, Row, Utterance

METADATA = "metadata.csv"
_SUFFIXES = (".wav", "", ".flac", ".ogg", ".opus", ".mp3")


class LJSpeech:
    name = "ljspeech"

    def __init__(self, folder: Path, speaker: str, language: str):
        self.folder = folder
        self.metadata = folder / METADATA
        self.speaker = speaker
        self.language = language

    def count(self) -> int:
        return count_lines(self.metadata)

    def rows(self) -> Iterator[Row]:
        for row, line in enumerate(read_lines(self.metadata), start=1):
            if line.strip():
                yield self._parse(row, line)

    def _parse(self, row: int, line: str) -> Row:
        cells = [cell.strip() for cell in line.split("|")]
        name = cells[0]
        if not is_clean(line):
            return Rejected(row, _printable(name), "bad_encoding", "the row holds a NUL or bytes that are not UTF-8")
        if len(cells) < 2 or not name:
            return Rejected(row, name, "bad_row", f"expected 'id|text', found {line[:80]!r}")
        text, normalised, speaker, language = [*cells[1:], "", "", ""][:4]
        if os.path.isabs(name) or ".." in name.split("/"):
            return Rejected(row, name, "escapes_folder", f"the id {name!r} points outside {self.folder / 'wavs'}")
        audio = self._find_audio(name)
        if audio is None:
            return Rejected(row, name, "missing_audio", f"there is no file {self.folder / 'wavs' / name}.wav")
        return Utterance(row, name, audio, normalised or text, speaker or self.speaker, language or self.language)

    def _find_audio(self, name: str) -> Path | None:
        """wavs/ID with the first suffix that exists."""
        for place in (self.folder / "wavs", self.folder):
            for suffix in _SUFFIXES:
                candidate = place / f"{name}{suffix}"
                if os.path.isfile(candidate):
                    return candidate
        return None


def _printable(text: str) -> str:
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
