"""Folders of `data.mirror_dir`: one for each address, and for one process at a time."""

from __future__ import annotations

import os
from pathlib import Path

import xxhash

from myxtts.errors import CacheError
from myxtts.files import is_still, try_lock


def mirrors_folder(folder: str | None) -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(folder or f"{home}/myxtts/mirrors").expanduser()


def name_for(address: str) -> str:
    """Of the folder that belongs to an address: readable, and another one for each."""
    return f"{address.rpartition('/')[2][:64] or 'cache'}-{xxhash.xxh3_64_hexdigest(address.encode())[:8]}"


def claim(folder: Path) -> int | None:
    """Make a folder unless it is there, and lock it: the descriptor that holds the lock, None if another has it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError as error:
        raise CacheError(f"cannot write to {folder}: {error.strerror}; set data.mirror_dir") from None
    if try_lock(descriptor) and is_still(descriptor, folder):
        return descriptor
    os.close(descriptor)
    return None
