"""Folders in a fixed order, through symbolic links, each once: a link that leads back ends there, and is named."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path

_ENTRIES_TO_SEE = 500  # when looking for a sign of a layout: a flat folder may hold a million files
_FOLDERS_TO_SEE = 5


def walk(folder: Path, above: frozenset[tuple[int, int]] = frozenset()) -> Iterator[tuple[Path, list[str], bool]]:
    """(folder, names of its files, False) of all folders, sorted; (folder, [], True) for one that contains itself."""
    status = os.stat(folder)
    key = (status.st_dev, status.st_ino)
    if key in above:
        yield folder, [], True
        return
    with os.scandir(folder) as listing:
        entries = sorted(listing, key=lambda entry: entry.name)
    folders = dict.fromkeys(entry.name for entry in entries if _is_folder(entry))
    yield folder, [entry.name for entry in entries if entry.name not in folders], False
    for name in folders:
        if not name.startswith("."):
            yield from walk(folder / name, above | {key})


def glimpse(folder: Path, depth: int) -> Iterator[Path]:
    """Some files below a folder, at most `depth` folders down and a few hundred in each: quick however large it is."""
    with os.scandir(folder) as listing:
        entries = sorted(itertools.islice(listing, _ENTRIES_TO_SEE), key=lambda entry: entry.name)
    folders = [entry.path for entry in entries if _is_folder(entry)]
    yield from (Path(entry.path) for entry in entries if entry.path not in folders)
    for inner in folders[:_FOLDERS_TO_SEE] if depth > 0 else ():
        yield from glimpse(Path(inner), depth - 1)


def folders_in(folder: Path) -> list[Path]:
    with os.scandir(folder) as listing:
        return sorted(Path(entry.path) for entry in listing if _is_folder(entry))


def _is_folder(entry: os.DirEntry[str]) -> bool:
    """Unlike entry.is_dir(), no error for a link to itself; the disk is asked about links only."""
    return os.path.isdir(entry) if entry.is_symlink() else entry.is_dir()
