"""The folder that is made: clips, a manifest that can be packed at any time, a ledger of who speaks and by what right.

OUT/wavs/SOURCE/ID.wav    22,050 Hz, mono, 16 bit; written beside and renamed: a file that is there is complete
OUT/manifest.jsonl        id, audio, text, speaker, language, source, seconds; replaced whole every few clips
OUT/sources.json          per source: packages, licence, whose voice, clips, minutes, share
OUT/left_out.txt          which clips and speakers are not listed (`left_out.py`)
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from myxtts.corpus.demo import encode_wav, seconds_of
from myxtts.features.audio import resample
from myxtts.features.mel import SAMPLE_RATE
from myxtts.files import write_whole
from recipes.many_voices.left_out import LeftOut

SHORTEST_SECONDS = 0.7
SAVE_EVERY_SECONDS = 30.0


@dataclass(frozen=True)
class Clip:
    """What is said by whom. The id names the file, so it must not change from run to run."""

    id: str
    text: str
    speaker: str
    language: str
    source: str


@dataclass(frozen=True)
class Source:
    """A ledger's line: where speech comes from and what its licence asks for."""

    name: str
    kind: str  # human or synthetic
    licence: str
    attribution: str
    packages: tuple[str, ...]


class Folder:
    """The corpus as far as it is made. What was made before, and is whole, counts."""

    def __init__(self, folder: Path):
        self.folder = folder
        self._rows: dict[str, dict[str, Any]] = {}
        self._left_out = LeftOut(folder)
        self._sources = _read_sources(folder / "sources.json")
        self._saved = time.monotonic()
        for row in _read_rows(folder / "manifest.jsonl"):
            if seconds_of(folder / row["audio"]) is not None:
                self._rows[row["id"]] = row

    def enter(self, source: Source) -> None:
        self._sources[source.name] = source

    def has(self, clip: Clip) -> bool:
        """Whether the clip is there, or left out; one whose row a kill took is listed again."""
        if self._left_out.has(clip.id, clip.speaker):
            return True
        if clip.id not in self._rows and (seconds := seconds_of(self._path(clip))) is not None:
            self._list(clip, seconds)
        return clip.id in self._rows

    def add(self, clip: Clip, samples: np.ndarray, rate: int) -> bool:
        """Write a clip; one that is too short to be of use is left out, and said to be."""
        samples = samples.astype(np.float32, copy=False)
        if rate != SAMPLE_RATE:
            samples = resample(samples, rate)
        if len(samples) < SHORTEST_SECONDS * SAMPLE_RATE:
            return False
        path = self._path(clip)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, encode_wav(samples), durable=False)
        self._list(clip, len(samples) / SAMPLE_RATE)
        if time.monotonic() - self._saved > SAVE_EVERY_SECONDS:
            self.save()
        return True

    def seconds(self, source: str | None = None) -> float:
        return sum(row["seconds"] for row in self.rows() if source in (None, row["source"]))

    def leave_out(self, names: Iterable[str]) -> None:
        """From now on: clips by their ids, speakers by their names."""
        self._left_out.add(names)
        self.save()

    def rows(self) -> list[dict[str, Any]]:
        """The manifest as it stands."""
        return [row for row in self._rows.values() if not self._left_out.has(row["id"], row["speaker"])]

    def save(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        rows = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in self.rows())
        write_whole(self.folder / "manifest.jsonl", rows.encode())
        write_whole(self.folder / "sources.json", (json.dumps(self.ledger(), indent=1) + "\n").encode())
        self._saved = time.monotonic()

    def ledger(self) -> list[dict[str, Any]]:
        whole = self.seconds() or 1.0
        return [self._line(source, whole) for source in self._sources.values()]

    def _line(self, source: Source, whole: float) -> dict[str, Any]:
        rows = [row for row in self.rows() if row["source"] == source.name]
        seconds = sum(row["seconds"] for row in rows)
        return {
            **asdict(source),
            "clips": len(rows),
            "minutes": round(seconds / 60, 2),
            "share": round(seconds / whole, 4),
            "speakers": len({row["speaker"] for row in rows}),
            "minutes_by_language": _minutes(rows),
        }

    def _list(self, clip: Clip, seconds: float) -> None:
        row = {**asdict(clip), "audio": self._path(clip).relative_to(self.folder).as_posix()}
        self._rows[clip.id] = row | {"seconds": round(seconds, 3)}

    def _path(self, clip: Clip) -> Path:
        return self.folder / "wavs" / clip.source / f"{clip.id}.wav"


def _minutes(rows: Iterable[dict[str, Any]]) -> dict[str, float]:
    seconds: dict[str, float] = {}
    for row in rows:
        seconds[row["language"]] = seconds.get(row["language"], 0.0) + row["seconds"]
    return {language: round(total / 60, 2) for language, total in sorted(seconds.items())}


def _read_rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def _read_sources(path: Path) -> dict[str, Source]:
    lines = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    names = Source.__dataclass_fields__
    sources = [Source(**{name: line[name] for name in names} | {"packages": tuple(line["packages"])}) for line in lines]
    return {source.name: source for source in sources}
