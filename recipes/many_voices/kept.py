"""What a judge has said of clips, a line of JSON for each, added when it is known: nothing is heard twice."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myxtts.features.audio import read_audio, to_float
from myxtts.files import open_append, write_whole


class Kept:
    def __init__(self, path: Path):
        self._path = path
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        whole = text[: text.rfind("\n") + 1]
        if whole != text:  # a kill cut the last line short, and the next one would be written behind it
            write_whole(path, whole.encode())
        self._lines: dict[str, dict[str, Any]] = {line["id"]: line for line in map(json.loads, whole.splitlines())}

    def has(self, row: dict[str, Any]) -> bool:
        """Whether this clip was heard, and not another of its name, as another seed makes it."""
        return self._lines.get(row["id"], {}).get("text") == row["text"]

    def add(self, row: dict[str, Any], **said: Any) -> None:
        line = {name: row[name] for name in ("id", "speaker", "language", "text")} | said
        self._lines[line["id"]] = line
        with open_append(self._path) as file:
            file.write((json.dumps(line) + "\n").encode())

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self._lines.values())


def grouped(rows: Iterable[dict[str, Any]], key: Callable[[dict[str, Any]], str]) -> dict[str, list[dict[str, Any]]]:
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


def by_speaker(rows: Iterable[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    return grouped(rows, lambda row: row["speaker"])


def sound_of(folder: Path, row: dict[str, Any]) -> tuple[NDArray[np.float32], int]:
    samples, rate = read_audio(folder / row["audio"])
    return to_float(samples), rate
