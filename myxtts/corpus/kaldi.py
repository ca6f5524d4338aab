"""Kaldi: `wav.scp` (id, path), `text` (id, words) and, if there, `utt2spk` and `utt2lang`.

In `wav.scp` a line may hold a command whose output is the audio. Such a command is never run: its row is rejected.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from myxtts.corpus.layout import Layout, look
from myxtts.corpus.lines import count_lines, read_lines
from myxtts.corpus.utterance import Row
from myxtts.errors import CorpusError, RowError


class _Entry(NamedTuple):
    row: int
    value: str
    twice: bool


class Kaldi(Layout):
    name = "kaldi"
    about = "the files wav.scp and text, and perhaps utt2spk"

    def __init__(self, path: Path, speaker: str, language: str):
        super().__init__(path, speaker, language)
        self.metadata: Path = self.folder / "text"
        for file in (self.folder / "wav.scp", self.metadata):
            if not file.is_file():
                raise CorpusError(f"{self.folder} has no {file.name}: the layout kaldi needs wav.scp and text")
        if (self.folder / "segments").is_file():
            raise CorpusError(
                f"{self.folder} has 'segments', which cut long recordings into utterances: cut the audio first "
                "(Kaldi's extract-segments) and remove that file"
            )

    @classmethod
    def recognise(cls, path: Path) -> Path | None:
        scp = (path if path.is_dir() else path.parent) / "wav.scp"
        asked = path.is_dir() or path.name in ("wav.scp", "text")
        return scp if asked and scp.is_file() and (scp.parent / "text").is_file() else None

    def count(self) -> int:
        return count_lines(self.metadata)

    def rows(self) -> Iterator[Row]:
        """In the order of `text`; then what `wav.scp` lists and `text` does not, by its row in `wav.scp`."""
        sources = _read_pairs(self.folder / "wav.scp")
        speakers, languages = (_read_pairs(self.folder / name) for name in ("utt2spk", "utt2lang"))
        spoken = set()
        for row, name, text in _pairs(self.metadata):
            spoken.add(name)
            speaker, language = (table[name].value if name in table else "" for table in (speakers, languages))
            yield self.utterance(row, name, self._find_audio(sources.get(name)), text, speaker, language)
        for name, entry in sources.items():
            if name not in spoken:
                fault = RowError("missing_text", f"{name!r} is in wav.scp but not in text")
                yield self.utterance(entry.row, name, fault, "")

    def _find_audio(self, entry: _Entry | None) -> Path | RowError:
        if entry is None:
            return RowError("missing_audio", "wav.scp does not list this id")
        if entry.twice:
            return RowError("duplicate_id", "wav.scp lists this id twice, with different audio")
        if entry.value.startswith("|") or entry.value.endswith("|"):
            return RowError("command", f"wav.scp gives a command, which is never run: {entry.value[:80]!r}")
        if not entry.value or "\0" in entry.value:
            return RowError("bad_row", f"row {entry.row} of wav.scp names no audio file")
        path = self.folder / entry.value
        return look(path) or path


def _pairs(path: Path) -> Iterator[tuple[int, str, str]]:
    for row, line in enumerate(read_lines(path), start=1):
        if line.strip():
            name, _, value = line.strip().partition("\t" if "\t" in line else " ")
            yield row, name.strip(), value.strip()


def _read_pairs(path: Path) -> dict[str, _Entry]:
    entries: dict[str, _Entry] = {}
    for row, name, value in _pairs(path) if path.is_file() else ():
        known = entries.get(name)
        entries[name] = _Entry(row, value, known is not None and (known.twice or known.value != value))
    return entries
