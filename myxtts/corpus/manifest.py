"""A manifest: CSV, TSV or JSON lines with named columns (audio, text, and if known speaker, language, id)."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from myxtts.corpus.lines import count_lines, first_line, is_clean, read_lines
from myxtts.corpus.utterance import Rejected, Row, Utterance
from myxtts.errors import CorpusError

SUFFIXES = (".csv", ".tsv", ".jsonl", ".json", ".txt")
FILE_NAMES = ("manifest.jsonl", "manifest.csv", "manifest.tsv", "metadata.jsonl", "metadata.tsv", "metadata.csv")

# What other tools call these columns; the first name is ours.
COLUMNS: dict[str, tuple[str, ...]] = {
    "audio": ("audio", "audio_path", "audio_file", "audio_filepath", "path", "file", "file_name", "filename", "wav"),
    "text": ("text", "normalized_text", "normalised_text", "sentence", "transcript", "transcription"),
    "speaker": ("speaker", "speaker_id", "speaker_name", "client_id"),
    "language": ("language", "lang", "locale"),
    "id": ("id", "utterance_id", "utt_id", "uid"),
}
csv.field_size_limit(1 << 24)


class Manifest:
    name = "manifest"

    def __init__(self, path: Path, speaker: str, language: str):
        self.folder = path.parent
        self.metadata = path
        self.speaker = speaker
        self.language = language

    def count(self) -> int:
        header = 0 if self._is_json() else 1
        return max(count_lines(self.metadata) - header, 0)

    def rows(self) -> Iterator[Row]:
        return self._json_rows() if self._is_json() else self._table_rows()

    def _is_json(self) -> bool:
        return self.metadata.suffix in (".jsonl", ".json") or first_line(self.metadata).lstrip().startswith("{")

    def _json_rows(self) -> Iterator[Row]:
        for row, line in enumerate(read_lines(self.metadata), start=1):
            if not line.strip():
                continue
            try:
                values = json.loads(line)
            except json.JSONDecodeError as error:
                yield Rejected(row, "", "bad_row", f"not JSON: {error}")
                continue
            if not isinstance(values, dict):
                yield Rejected(row, "", "bad_row", f"expected a JSON object, found {type(values).__name__}")
                continue
            cells = {column: _pick(values, names) for column, names in COLUMNS.items()}
            wrong = [column for column in ("audio", "text") if not isinstance(cells[column], str)]
            if wrong:
                yield Rejected(row, "", "bad_row", f"{wrong[0]} is {cells[wrong[0]]!r}, expected a text")
                continue
            yield self._utterance(row, {column: str(cell).strip() for column, cell in cells.items()})

    def _table_rows(self) -> Iterator[Row]:
        """Line by line: a quote that is never closed costs its own row, with a reason, and not those that follow it."""
        delimiter = find_delimiter(first_line(self.metadata), self.metadata.suffix)
        header: list[str] | None = None
        for row, line in enumerate(read_lines(self.metadata), start=1):
            if not line.strip():
                continue
            cells = split_line(line, delimiter)
            if header is None:
                header = [cell.strip().lower() for cell in cells or []]
                positions = self._positions(header)
            elif cells is None:
                yield Rejected(row, "", "bad_row", "a quoted cell is not closed in its line, or goes on after its end")
            elif len(cells) != len(header):
                message = f"expected {len(header)} columns ({', '.join(header)}), found {len(cells)}"
                yield Rejected(row, "", "bad_row", message)
            else:
                yield self._utterance(row, {name: cells[at].strip() for name, at in positions.items()})

    def _positions(self, header: list[str]) -> dict[str, int]:
        positions = {}
        for column, names in COLUMNS.items():
            found = next((name for name in names if name in header), None)
            if found is not None:
                positions[column] = header.index(found)
        missing = [column for column in ("audio", "text") if column not in positions]
        if missing:
            raise CorpusError(
                f"{self.metadata} has the columns {', '.join(header)}; expected a header row that names "
                f"{' and '.join(missing)} (known names: {'; '.join(', '.join(COLUMNS[name]) for name in missing)})"
            )
        return positions

    def _utterance(self, row: int, cells: dict[str, str]) -> Row:
        audio, text = cells.get("audio", ""), cells.get("text", "")
        name = cells.get("id") or (Path(audio).with_suffix("").as_posix() if audio else "")
        if not all(is_clean(cell) for cell in cells.values()):
            return Rejected(row, "", "bad_encoding", "the row holds a NUL or bytes that are not UTF-8")
        if not audio:
            return Rejected(row, name, "bad_row", "the row names no audio file")
        if not os.path.isfile(self.folder / audio):  # unlike Path.is_file, no error for a name too long for the system
            return Rejected(row, name, "missing_audio", f"there is no file {self.folder / audio}")
        speaker, language = cells.get("speaker") or self.speaker, cells.get("language") or self.language
        return Utterance(row, name, self.folder / audio, text, speaker, language)


def find_delimiter(header: str, suffix: str) -> str:
    """The separator that cuts the header into the most columns; a tab where the name says .tsv."""
    return "\t" if suffix == ".tsv" else max(",\t|;", key=header.count)


def split_line(line: str, delimiter: str) -> list[str] | None:
    """The cells of a line; None if its quotes do not add up.

    Between tabs and pipes a quote is a quote, as in the files of Common Voice, unless it goes around a whole cell.
    """
    if delimiter in "\t|":
        return [_unquote(cell) for cell in line.split(delimiter)]
    try:
        # csv refuses NUL; the row is refused later, for what it is
        return next(csv.reader([line.replace("\0", "\udc80")], delimiter=delimiter, strict=True))
    except csv.Error:
        return None


def _unquote(cell: str) -> str:
    inside = cell[1:-1]
    quoted = len(cell) > 1 and cell[0] == cell[-1] == '"' and '"' not in inside.replace('""', "")
    return inside.replace('""', '"') if quoted else cell


def has_named_columns(path: Path) -> bool:
    """True if the file is JSON lines, or a table whose header names an audio and a text column."""
    header = first_line(path)
    if header.lstrip().startswith("{"):
        return True
    cells = {cell.strip().strip('"').lower() for cell in header.split(find_delimiter(header, path.suffix))}
    return all(cells.intersection(COLUMNS[column]) for column in ("audio", "text"))


def _pick(values: dict[str, Any], names: tuple[str, ...]) -> Any:
    return next((values[name] for name in names if values.get(name) is not None), "")
