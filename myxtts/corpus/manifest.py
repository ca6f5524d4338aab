"""A manifest: CSV, TSV or JSON lines with named columns (audio, text, and if known speaker, language, id)."""

from __future__ import annotations

from pathlib import Path

from myxtts.corpus.lines import first_line
from myxtts.corpus.table import SUFFIXES, Table, has_named_columns


class Manifest(Table):
    name = "manifest"
    about = "a CSV, TSV or JSONL file (manifest.csv, .tsv, .jsonl) with the columns audio and text"
    general = True
    anywhere = True  # its paths were written by somebody who knows where the audio is
    file_names = ("manifest.jsonl", "manifest.csv", "manifest.tsv", "metadata.jsonl", "metadata.tsv", "metadata.csv")

    @classmethod
    def find(cls, folder: Path) -> Path | None:
        """The first with the right columns; else the first, so that the error can say which columns it has."""
        there = [folder / name for name in cls.file_names if (folder / name).is_file()]
        named = next((file for file in there if has_named_columns(file)), None)
        return named or next((file for file in there if file.name != "metadata.csv"), None)

    @classmethod
    def is_table(cls, path: Path) -> bool:
        """A file without the right columns too, unless it may be of a layout that has none: its error names them."""
        if path.suffix.lower() not in SUFFIXES or not path.is_file():
            return False
        return has_named_columns(path) or not (path.name == "metadata.csv" or "|" in first_line(path))
