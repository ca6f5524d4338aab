"""What a killed packer leaves behind: a line per commit that says how much of each file is safely on disk.

The first line holds the settings of the build. Each line carries its checksum, so a half-written one is not believed.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import xxhash

from myxtts.files import open_append, read_regular, write_whole
from myxtts.shapes import COUNT, Each, Only, fits

_MOST_BYTES = 1 << 28
_COMMIT = Only(
    {
        "rows_read": COUNT,
        "digest": str,
        "lengths": Each(COUNT),
        "rejected_bytes": COUNT,
        "reasons": Each(COUNT),
        "speakers": [str],
        "languages": [str],
        "new_tokens": [str],
    }
)


def read_journal(path: Path, shape: Any = _COMMIT) -> list[dict[str, Any]]:
    """The lines up to the first that is torn, damaged or no line of ours; empty if there is no journal.

    `shape` is that of every line but the first, which says whose journal it is."""
    try:
        lines = read_regular(path, _MOST_BYTES).split(b"\n")[:-1]
    except OSError:
        return []  # missing, or nothing that a packer would have left
    entries: list[Any] = []
    for line in lines:
        text, _, checksum = line.rpartition(b"\t")
        entry = _parse(text) if xxhash.xxh3_64_hexdigest(text).encode() == checksum else None
        if not fits(entry, shape if entries else Each(Any)):
            break
        entries.append(entry)
    return entries


def _parse(text: bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


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
