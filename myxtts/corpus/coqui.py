"""Coqui: `metadata.csv` (or `metadata_train.csv`) with the header `audio_file|text|speaker_name|...`."""

from __future__ import annotations

import logging
from pathlib import Path

from myxtts.corpus.lines import first_line
from myxtts.corpus.table import Table, column_names

log = logging.getLogger(__name__)


class Coqui(Table):
    name = "coqui"
    about = "metadata.csv or metadata_train.csv with the header audio_file|text|speaker_name"
    file_names = ("metadata.csv", "metadata_train.csv", "metadata_eval.csv")

    def __init__(self, path: Path, speaker: str, language: str):
        super().__init__(path, speaker, language)
        others = [name for name in self.file_names if name != self.metadata.name and self.is_table(self.folder / name)]
        if path.is_dir() and others:
            log.info("reading %s and not %s: name that file to read it", self.metadata.name, ", ".join(others))

    @classmethod
    def is_table(cls, path: Path) -> bool:
        if path.suffix not in (".csv", ".txt") or not path.is_file():
            return False
        return "|" in first_line(path) and {"audio_file", "text"} <= set(column_names(path))
