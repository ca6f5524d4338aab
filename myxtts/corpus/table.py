"""Tables with named columns: CSV, TSV, cells between pipes, or JSON lines."""

from __future__ import annotations

import csv
import itertools
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

from myxtts.corpus.layout import Layout, escapes, look
from myxtts.corpus.lines import count_lines, first_line, read_lines
from myxtts.corpus.records import join_rows
from myxtts.corpus.utterance import Rejected, Row
from myxtts.errors import CorpusError, RowError

SUFFIXES = (".csv", ".tsv", ".jsonl", ".json", ".txt")

# What other tools call these columns; the first name is ours.
COLUMNS: dict[str, tuple[str, ...]] = {
    "audio": ("audio", "audio_path", "audio_file", "audio_filepath", "path", "file", "file_name", "filename", "wav"),
    "text": ("text", "normalized_text", "normalised_text", "sentence", "transcript", "transcription"),
    "speaker": ("speaker", "speaker_id", "speaker_name", "client_id"),
    "language": ("language", "lang", "locale"),
    "id": ("id", "utterance_id", "utt_id", "uid"),
}
csv.field_size_limit(1 << 24)


class Table(Layout):
    """A layout whose rows are those of one table."""

    file_names: ClassVar[Sequence[str]]  # of the table, the first that is there
    audio_folder: ClassVar[str] = ""  # where its audio lies, below the folder of the table
    anywhere: ClassVar[bool] = False  # whether its audio may also lie elsewhere

    def __init__(self, path: Path, speaker: str, language: str):
        table = path if path.is_file() else self.find(path)
        if table is None:
            raise CorpusError(f"{path} is not of the layout {self.name}: expected {self.about}")
        super().__init__(table, speaker, language)
        self.metadata: Path = table

    @classmethod
    def recognise(cls, path: Path) -> Path | None:
        return cls.find(path) if path.is_dir() else path if cls.is_table(path) else None

    @classmethod
    def find(cls, folder: Path) -> Path | None:
        """The table in a folder."""
        return next((folder / name for name in cls.file_names if cls.is_table(folder / name)), None)

    @classmethod
    def is_table(cls, path: Path) -> bool:
        """Whether the path is a table of this layout."""
        raise NotImplementedError

    def count(self) -> int:
        if is_json(self.metadata):
            return count_lines(self.metadata)
        return max(sum(1 for _, line in self._lines() if line.strip()) - 1, 0)

    def rows(self) -> Iterator[Row]:
        return self._json_rows() if is_json(self.metadata) else self._table_rows()

    def _json_rows(self) -> Iterator[Row]:
        for row, line in enumerate(read_lines(self.metadata), start=1):
            if line.strip():
                try:
                    yield self._row(row, _json_cells(line))
                except RowError as error:
                    yield Rejected(row, "", error.reason, error.message)

    def _lines(self) -> Iterator[tuple[int, str]]:
        """The rows with their numbers: lines, but for a CSV file, whose quoted cells may hold line breaks."""
        header = first_line(self.metadata)
        delimiter, lines = find_delimiter(header, self.metadata.suffix), read_lines(self.metadata)
        if delimiter in "\t|":
            return enumerate(lines, start=1)
        columns = split_line(header, delimiter) or []
        return join_rows(
            lines,
            lambda line: split_line(line, delimiter) is not None,
            lambda line: self._is_usable(columns, split_line(line, delimiter)),
        )

    def _is_usable(self, columns: list[str], cells: list[str] | None) -> bool:
        """Whether the cells are a row by themselves: as many as there are columns, and one of them an audio file.

        A cell with a quote in it ends what was open before; what comes after it would not vanish."""
        if cells is None or len(cells) != len(columns):
            return False
        before = itertools.takewhile(lambda cell: '"' not in cell, cells)
        return any(cell and isinstance(self._find_audio(cell.strip(), ""), Path) for cell in before)

    def _table_rows(self) -> Iterator[Row]:
        delimiter = find_delimiter(first_line(self.metadata), self.metadata.suffix)
        header: list[str] | None = None
        for row, line in self._lines():
            if not line.strip():
                continue
            cells = split_line(line, delimiter)
            if header is None:
                header = [cell.strip().lower() for cell in cells or []]
                positions = self._positions(header)
            elif cells is None:
                message = (
                    f"a quoted cell of line {row} is not closed, or goes on after its end: quotes inside are doubled"
                )
                yield Rejected(row, "", "bad_row", message)
            elif len(cells) != len(header):
                message = f"expected {len(header)} columns ({', '.join(header)}), found {len(cells)}"
                yield Rejected(row, "", "bad_row", message)
            else:
                yield self._row(row, {name: cells[at].strip() for name, at in positions.items()})

    def _positions(self, header: list[str]) -> dict[str, int]:
        positions = {}
        for column, names in COLUMNS.items():
            present = next((name for name in names if name in header), None)
            if present is not None:
                positions[column] = header.index(present)
        missing = [column for column in ("audio", "text") if column not in positions]
        if missing:
            raise CorpusError(
                f"{self.metadata} has the columns {', '.join(header)}; expected a header row that names "
                f"{' and '.join(missing)} (known names: {'; '.join(', '.join(COLUMNS[name]) for name in missing)})"
            )
        return positions

    def _row(self, row: int, cells: dict[str, str]) -> Row:
        audio, text = cells.get("audio", ""), cells.get("text", "")
        name = cells.get("id") or (Path(audio).with_suffix("").as_posix() if audio.strip("./") else audio)
        path = self._find_audio(audio, cells.get("id", ""))
        return self.utterance(row, name, path, text, cells.get("speaker", ""), cells.get("language", ""))

    def _find_audio(self, audio: str, name: str) -> Path | RowError:
        if not audio:
            return RowError("bad_row", "the row names no audio file")
        if escapes(name) or (not self.anywhere and escapes(audio)):
            outside = name if escapes(name) else audio
            return RowError("escapes_folder", f"{outside!r} points outside {self.folder / self.audio_folder}")
        if "\0" in audio:
            return RowError("bad_encoding", "the name of the audio file holds a NUL")
        path = self.folder / self.audio_folder / audio
        return look(path) or path


def _json_cells(line: str) -> dict[str, str]:
    try:
        values = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise RowError("bad_row", f"not JSON: {error}") from None
    if not isinstance(values, dict):
        raise RowError("bad_row", f"expected a JSON object, found {type(values).__name__}")
    cells = {column: _pick(values, names) for column, names in COLUMNS.items()}
    for column, cell in cells.items():
        if not isinstance(cell, str) and (column in ("audio", "text") or not isinstance(cell, int)):
            raise RowError("bad_row", f"{column} is {str(cell)[:80]!r}, expected a text")
    return {column: str(cell).strip() for column, cell in cells.items()}


def _pick(values: dict[str, Any], names: tuple[str, ...]) -> Any:
    return next((values[name] for name in names if values.get(name) is not None), "")


# ---- what a file looks like -----------------------------------------------------------------------------------------


def is_json(path: Path) -> bool:
    return path.suffix in (".jsonl", ".json") or first_line(path).lstrip().startswith("{")


def column_names(path: Path) -> list[str]:
    """The names in the header of a table, or the keys of the first of JSON lines."""
    header = first_line(path)
    if header.lstrip().startswith("{"):
        try:
            return list(json.loads(header))
        except (ValueError, RecursionError):
            return []
    return [cell.strip().strip('"').lower() for cell in header.split(find_delimiter(header, path.suffix))]


def has_named_columns(path: Path) -> bool:
    """True if the file is JSON lines, or a table whose header names an audio and a text column."""
    if first_line(path).lstrip().startswith("{"):
        return True
    cells = set(column_names(path))
    return all(cells.intersection(COLUMNS[column]) for column in ("audio", "text"))


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
