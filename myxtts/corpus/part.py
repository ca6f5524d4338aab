"""Some consecutive rows of a corpus, read and packed like a corpus of their own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from myxtts.corpus.read import Corpus
from myxtts.corpus.utterance import Row


class Part(Corpus):
    """The corpus has checked the rows already: ids, texts and speakers are as it says."""

    def __init__(self, rows: Sequence[Row], folder: Path, defaults: dict[str, Any]):
        self.folder, self.defaults, self._rows = folder, defaults, rows

    def count(self) -> int:
        return len(self._rows)

    def rows(self) -> Iterator[Row]:
        return iter(self._rows)
