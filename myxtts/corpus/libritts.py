"""LibriTTS: `SUBSET/SPEAKER/CHAPTER/ID.wav` with `ID.normalized.txt` and `ID.original.txt` beside it.

The whole corpus, one subset or one speaker may be named. The speaker is what the id begins with.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from myxtts.corpus.layout import AUDIO_SUFFIXES, Layout, first_of, look, read_text, same_name
from myxtts.corpus.utterance import Rejected, Row
from myxtts.corpus.walk import glimpse, walk

_TEXTS = (".normalized.txt", ".original.txt")  # the first that is there is read
_DEPTH = 4


class LibriTTS(Layout):
    name = "libritts"
    about = "SUBSET/SPEAKER/CHAPTER/ID.wav with ID.normalized.txt beside it"

    @classmethod
    def recognise(cls, path: Path) -> Path | None:
        if not path.is_dir():
            return None
        return next((file.parent for file in glimpse(path, _DEPTH) if file.name.endswith(_TEXTS)), None)

    def count(self) -> int:
        return sum(len(_stems(files)) + len(_seconds(files)) for _, files, _ in walk(self.folder))

    def rows(self) -> Iterator[Row]:
        row = 0
        for folder, files, is_loop in walk(self.folder):
            if is_loop:
                row += 1
                yield Rejected(row, folder.name, "symlink_loop", f"{folder} is a link to a folder that holds it")
            there = set(files)
            for name in sorted(_stems(files)):
                row += 1
                yield self._row(row, folder, name, there)
            for name, file in _seconds(files):
                row += 1
                yield same_name(row, name, folder / file)

    def _row(self, row: int, folder: Path, name: str, there: set[str]) -> Row:
        text = next((suffix for suffix in _TEXTS if f"{name}{suffix}" in there), _TEXTS[0])
        path = folder / first_of(name, there)
        speaker, separator, _ = name.partition("_")
        words = read_text(folder / f"{name}{text}")
        return self.utterance(row, name, look(path) or path, words, speaker if separator else "")


def _seconds(files: list[str]) -> list[tuple[str, str]]:
    """(id, file) of audio beside which another file of the same name comes first."""
    there = set(files)
    named = [(file.removesuffix(suffix), file) for suffix in AUDIO_SUFFIXES for file in files if file.endswith(suffix)]
    return sorted((name, file) for name, file in named if file != first_of(name, there))


def _stems(files: list[str]) -> set[str]:
    return {
        file.removesuffix(suffix) for suffix in (*_TEXTS, *AUDIO_SUFFIXES) for file in files if file.endswith(suffix)
    }
