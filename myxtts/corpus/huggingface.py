"""A Hugging Face audio folder: `metadata.csv` or `metadata.jsonl` with `file_name`, beside its audio.

A folder with one split (`train/metadata.csv`) is read as that split; of several, name the one to read.
"""

from __future__ import annotations

from pathlib import Path

from myxtts.corpus.table import Table, column_names
from myxtts.corpus.walk import folders_in
from myxtts.errors import CorpusError


class HuggingFace(Table):
    name = "huggingface"
    about = "metadata.csv or metadata.jsonl with the columns file_name and text, beside its audio"
    file_names = ("metadata.csv", "metadata.jsonl")

    @classmethod
    def find(cls, folder: Path) -> Path | None:
        own = super().find(folder)
        if own is not None:
            return own
        splits = [table for table in map(super().find, folders_in(folder)) if table is not None]
        if len(splits) > 1:
            names = ", ".join(str(table.parent) for table in splits)
            raise CorpusError(f"{folder} has {len(splits)} splits of a Hugging Face audio folder: name one of {names}")
        return splits[0] if splits else None

    @classmethod
    def is_table(cls, path: Path) -> bool:
        return path.name in cls.file_names and path.is_file() and "file_name" in column_names(path)
