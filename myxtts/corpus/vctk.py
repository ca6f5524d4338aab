"""VCTK: `txt/p225/p225_001.txt` and `wav48_silence_trimmed/p225/p225_001_mic1.flac` (or `wav48/p225/p225_001.wav`).

The speaker is the folder. Of two microphones the first is read; the second serves where the first has no file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from myxtts.corpus.layout import AUDIO_SUFFIXES, Layout, first_of, look, read_text, same_name
from myxtts.corpus.utterance import Row
from myxtts.corpus.walk import glimpse
from myxtts.errors import CorpusError

_AUDIO_FOLDERS = ("wav48_silence_trimmed", "wav48", "wav16", "wav")
_MICROPHONE = re.compile(r"_mic\d+$")


class VCTK(Layout):
    name = "vctk"
    about = "txt/p225/p225_001.txt and wav48_silence_trimmed/p225/p225_001_mic1.flac, or wav48/"

    def __init__(self, path: Path, speaker: str, language: str):
        super().__init__(path, speaker, language)
        audio = _audio_folder(self.folder)
        if audio is None or not (self.folder / "txt").is_dir():
            raise CorpusError(f"{path} is not of the layout vctk: expected {self.about}")
        self.texts, self.audio = self.folder / "txt", audio

    @classmethod
    def recognise(cls, path: Path) -> Path | None:
        if not path.is_dir() or _audio_folder(path) is None or not (path / "txt").is_dir():
            return None
        return next((file.parent for file in glimpse(path / "txt", 1) if file.suffix == ".txt"), None)

    def count(self) -> int:
        return sum(len(_names(self.texts / speaker)) for speaker in _names(self.texts))

    def rows(self) -> Iterator[Row]:
        row = 0
        for speaker in sorted(_names(self.texts) | _names(self.audio)):
            audio, seconds = _sort(_names(self.audio / speaker))
            texts = {name.removesuffix(".txt") for name in _names(self.texts / speaker) if name.endswith(".txt")}
            for name in sorted(texts | audio.keys()):
                row += 1
                yield self._row(row, speaker, name, audio.get(name))
            for name, file in seconds:
                row += 1
                yield same_name(row, name, self.audio / speaker / file)

    def _row(self, row: int, speaker: str, name: str, file: str | None) -> Row:
        path = self.audio / speaker / (file or f"{name}.wav")
        text = read_text(self.texts / speaker / f"{name}.txt")
        return self.utterance(row, name, look(path) or path, text, speaker)


def _audio_folder(folder: Path) -> Path | None:
    return next((folder / name for name in _AUDIO_FOLDERS if (folder / name).is_dir()), None)


def _sort(files: set[str]) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """{id: file} of the first microphone; and (id, file) of what differs from a file beside it in its suffix only."""
    audio: dict[str, str] = {}
    seconds = []
    for file in sorted(file for file in files if file.endswith(AUDIO_SUFFIXES)):
        stem = Path(file).stem
        name = _MICROPHONE.sub("", stem)
        if file == first_of(stem, files):
            audio.setdefault(name, file)
        else:
            seconds.append((name, file))
    return audio, seconds


def _names(folder: Path) -> set[str]:
    """What is in a folder; nothing if it is none, such as the log.txt that VCTK ships among its speakers."""
    return {entry.name for entry in folder.iterdir()} if folder.is_dir() else set()
