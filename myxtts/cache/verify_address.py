"""Reads every byte of a cache at an address: one shard after the other is fetched, checked like one that is here, and
deleted. It needs room for one shard, and trusts nothing that an earlier run has fetched."""

from __future__ import annotations

import functools
import shutil
import tempfile
from pathlib import Path
from typing import Any, BinaryIO

from myxtts.cache.format import MANIFEST, payload_files, tracks_in
from myxtts.cache.manifest import load_manifest
from myxtts.cache.mirror import file_bytes
from myxtts.cache.patience import patiently
from myxtts.cache.remote import Absent, Remote
from myxtts.cache.verify import Damage, VerifyProgress, verify, verify_shard, verify_shards
from myxtts.errors import CacheError
from myxtts.files import open_new

_MOST_BYTES = 1 << 28  # of a cache.json


def verify_address(address: str, mirrors: Path, progress: VerifyProgress | None = None) -> list[Damage]:
    """Everything that is wrong with the cache at an address. `mirrors` is a folder with room for a shard."""
    remote = Remote(address)
    try:
        mirrors.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=mirrors, prefix="verify-") as folder:
            return _verify(remote, Path(folder), progress)
    except OSError as error:
        raise CacheError(f"cannot write to {mirrors}: {error.strerror}; set data.mirror_dir") from None


def _verify(remote: Remote, folder: Path, progress: VerifyProgress | None) -> list[Damage]:
    (folder / MANIFEST).write_bytes(remote.read(MANIFEST))
    try:
        body = load_manifest(folder)
    except CacheError:
        return [Damage(MANIFEST, "is damaged or of another version of MyXTTS")]
    if "shards" in body:
        return verify_shards(folder, body, progress, functools.partial(_check_shard, remote))
    _fetch_files(remote, "", folder, progress)
    return verify(folder)


def _check_shard(remote: Remote, folder: Path, entry: dict[str, Any], progress: VerifyProgress | None) -> list[Damage]:
    folder.mkdir()
    _fetch(remote, f"{folder.name}/{MANIFEST}", folder / MANIFEST, _MOST_BYTES)
    _fetch_files(remote, f"{folder.name}/", folder, progress)
    damages = verify_shard(folder, entry, None)
    shutil.rmtree(folder)
    return damages


def _fetch_files(remote: Remote, prefix: str, folder: Path, progress: VerifyProgress | None) -> None:
    """All that the cache.json in `folder` names. What is not there is left out: to verify says so."""
    try:
        body = load_manifest(folder)
    except CacheError:
        return
    sizes = {name: file_bytes(name, rows) for name, rows in body["lengths"].items()}
    counted, done = {name: sizes[name] for name in payload_files(tracks_in(sizes))}, 0
    for name in [*sizes, *(name for name in body["checksums"] if name not in sizes)]:
        _fetch(remote, f"{prefix}{name}", folder / name, sizes.get(name, _MOST_BYTES))
        done += counted.get(name, 0)
        if progress:
            progress(done, sum(counted.values()))


def _fetch(remote: Remote, name: str, path: Path, most: int) -> None:
    with open_new(path) as file:
        try:
            patiently(lambda: _go_on(remote, name, file, most))
        except Absent:
            path.unlink()


def _go_on(remote: Remote, name: str, file: BinaryIO, most: int) -> None:
    """No more than a byte beyond `most`, which shows that it is too long."""
    for piece in remote.stream(name, file.tell()):
        file.write(piece[: most + 1 - file.tell()])
        if file.tell() > most:
            return
