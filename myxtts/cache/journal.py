"""What a killed packer leaves behind: a line per commit that says how much of each file is safely on disk.

The first line holds the settings of the build. Each line carries its checksum, so a half-written one is not believed.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import xxhash

from myxtts.files import open_append, write_whole


def read_journal(path: Path) -> list[dict[str, Any]]:
    """The lines up to the first that is torn or damaged; empty if there is no journal."""
    if not path.is_file():
        return []
    entries = []
    for line in path.read_bytes().split(b"\n")[:-1]:
        text, _, checksum = line.rpartition(b"\t")
        if xxhash.xxh3_64_hexdigest(text).encode() != checksum:
            break
        entries.append(json.loads(text))
    return entries


class Journal:
    """Appends lines; `durable` lines are on disk when `append` returns."""

    def __init__(self, path: Path, keep: list[dict[str, Any]]):
        """Start with the lines to keep. A torn tail is dropped by writing the file anew, whole."""
        write_whole(path, b"".join(map(_line, keep)))
        self._file = open_append(path)

    def append(self, entry: dict[str, Any]) -> None:
        self._file.write(_line(entry))
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        self._file.close()


def _line(entry: dict[str, Any]) -> bytes:
    text = json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode()
    return text + b"\t" + xxhash.xxh3_64_hexdigest(text).encode() + b"\n"
