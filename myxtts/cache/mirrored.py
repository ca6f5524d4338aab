"""A cache at an address, opened as one that is here: its index is, and its shards come as they are needed.

The index and the tokens are a thousandth of a cache and are fetched at once. Single utterances (for statistics, voices
and validation) are read by themselves, each checked by its hash.
"""

from __future__ import annotations

import json
import logging
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import xxhash
from numpy.typing import NDArray

from myxtts.cache.format import (
    HEADER_BYTES,
    MANIFEST,
    TOKENS,
    TOKENS_DTYPE,
    TRACKS,
    array_type,
    hash_column,
    row_bytes,
    track_file,
)
from myxtts.cache.manifest import load_manifest
from myxtts.cache.mirror import Mirror, file_bytes
from myxtts.cache.mirror_folder import claim, mirrors_folder, name_for
from myxtts.cache.prepare import hash_rows
from myxtts.cache.reader import Index
from myxtts.cache.remote import Remote
from myxtts.cache.sharded import ShardedCache
from myxtts.errors import CacheDamaged, CacheError
from myxtts.files import read_regular, write_whole

log = logging.getLogger(__name__)

REMOTE = "remote.json"  # in the folder of a mirror: what it mirrors, and how much of it at most
_AT_ONCE = 16  # small files, each a round trip
_locks: dict[str, tuple[Path, int]] = {}  # address -> the folder of this process and the lock on it


def mirror_index(address: str, folder: str | None, limit_gb: float) -> Path:
    """The folder of this process's mirror of a cache, with its index: what `MirroredCache` opens."""
    remote = Remote(address)
    if remote.address not in _locks:
        _locks[remote.address] = _own_folder(remote.address, mirrors_folder(folder))
    place = _locks[remote.address][0]
    body = _fetch_list(remote, place)
    if "shards" not in body:
        raise CacheError(
            f"{address} is a cache in one piece, which cannot be mirrored: pack it in shards, 'myxtts pack CORPUS -o "
            "CACHE --dask local:2', or copy it to this machine"
        )
    names = [entry["name"] for entry in body["shards"] if entry["utterances"]]
    log.info("fetching the index of %s, %d shards", address, len(names))
    with ThreadPoolExecutor(_AT_ONCE, "myxtts-index") as pool:
        for done in [pool.submit(_fetch_shard_index, remote, place, name) for name in names]:
            done.result()
    origin = {"address": remote.address, "limit_bytes": int(limit_gb * 1e9)}
    write_whole(place / REMOTE, json.dumps(origin).encode())
    return place


def _own_folder(address: str, mirrors: Path) -> tuple[Path, int]:
    """One that no other process uses: of several on one machine each has its own."""
    name = name_for(address)
    for number in range(1000):
        folder = mirrors / (name if number == 0 else f"{name}.{number}")
        descriptor = claim(folder)
        if descriptor is not None:
            return folder, descriptor
    raise CacheError(f"a thousand processes mirror {address} in {mirrors}: set data.mirror_dir")


def _fetch_list(remote: Remote, place: Path) -> dict[str, Any]:
    """cache.json of the whole. If it is not the one that was mirrored, nothing of that is worth keeping."""
    content = remote.read(MANIFEST)
    if not (place / MANIFEST).is_file() or (place / MANIFEST).read_bytes() != content:
        for path in place.iterdir():
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        write_whole(place / MANIFEST, content)
    return load_manifest(place)


def _fetch_shard_index(remote: Remote, place: Path, name: str) -> None:
    """The small files of a shard, each whole and with the hash that its cache.json names; what is there stays."""
    folder = place / name
    folder.mkdir(exist_ok=True)
    if not (folder / MANIFEST).is_file():
        write_whole(folder / MANIFEST, remote.read(f"{name}/{MANIFEST}"), durable=False)
    body = load_manifest(folder)
    for file, checksum in body["checksums"].items():
        if not (folder / file).is_file():
            content = remote.read(f"{name}/{file}")
            if xxhash.xxh3_128_hexdigest(content) != checksum:
                raise _damaged(remote, f"{name}/{file}")
            write_whole(folder / file, content, durable=False)
    if not (folder / TOKENS).is_file():
        content = remote.read(f"{name}/{TOKENS}", 0, file_bytes(TOKENS, body["lengths"][TOKENS]))
        if not _are_sound(content, Index(folder, verify=False, payload=False)):
            raise _damaged(remote, f"{name}/{TOKENS}")
        write_whole(folder / TOKENS, content, durable=False)


def _are_sound(content: bytes, index: Index) -> bool:
    tokens = np.frombuffer(content, TOKENS_DTYPE, offset=HEADER_BYTES)
    parts = np.split(tokens, index.columns["first_token"][1:])
    return [hash_rows(own) for own in parts] == index.columns[hash_column("tokens")].tolist()


def _damaged(remote: Remote, name: str) -> CacheDamaged:
    return CacheDamaged(f"{remote.address}/{name} is damaged: run 'myxtts verify' where it lies, and try again")


class MirroredCache(ShardedCache):
    """Tracks are there as far as `mirror` has been asked for them; all else is as in any cache."""

    def __init__(self, folder: Path | str, verify: bool = True):
        super().__init__(folder, verify, payload=False)
        origin = json.loads(read_regular(self.folder / REMOTE, 1 << 20))
        self._remote = Remote(origin["address"])
        for name in map(track_file, self.tracks):
            for number in range(len(self.shards)):
                self.stretches[name].take(number)
        self.mirror = Mirror(self, self._remote, origin["limit_bytes"])

    def track(self, name: str, utterance: int) -> NDArray[Any]:
        """From the mirror if it is there, else these rows alone from the address."""
        if name not in self.tracks:
            return super().track(name, utterance)  # raises
        number, own = self.shard_of(int(utterance))
        with self.mirror.lock:
            if self.mirror.is_mapped(number) and track_file(name) in self.mirror.names:
                return super().track(name, utterance).copy()
        return self._read_rows(name, number, own)

    def _read_rows(self, name: str, number: int, own: int) -> NDArray[Any]:
        shard, (dtype, shape) = self.shards[number], array_type(track_file(name))
        width = row_bytes(dtype, shape)
        start = HEADER_BYTES + int(shard.columns["first_row"][own]) * width
        stop = start + int(shard.columns["n_frames"][own]) * width
        content = self._remote.read(f"{shard.folder.name}/{track_file(name)}", start, stop)
        rows = np.frombuffer(content, dtype).reshape(-1, *shape)
        if hash_rows(rows) != int(shard.columns[hash_column(name)][own]):
            raise _damaged(self._remote, f"{shard.folder.name}/{track_file(name)}")
        return rows

    def _bytes(self) -> dict[str, int]:
        """Of the whole cache, not of what is here."""
        names = [track_file(track) for track in TRACKS if track in self.tracks]
        return {name: sum(file_bytes(name, shard.body["lengths"][name]) for shard in self.shards) for name in names}
