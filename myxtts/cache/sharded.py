"""A cache in shards, opened as one cache: the same utterances, rows and names as if it had been packed in one piece.

The tracks of all shards are one array each (stretch.py), so a batch may come from any of them by one gather. Columns
are put together when they are asked for, with rows, tokens, speakers and languages numbered through all shards.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myxtts.cache.format import MANIFEST, TOKENS, index_columns, shard_rejected, track_file, tracks_in
from myxtts.cache.manifest import load_manifest
from myxtts.cache.reader import Cache, Index
from myxtts.cache.rejected import read_rejected
from myxtts.cache.stretch import Stretch, lay_out
from myxtts.errors import CacheDamaged
from myxtts.files import fingerprint


class ShardedCache(Cache):
    """`shards` are those that hold an utterance; `ends` [shards] is where the utterances of each end."""

    def __init__(self, folder: Path | str, verify: bool = True, payload: bool = True):
        """Without `payload` the tracks are not mapped: somebody else puts them into `stretches` as they come."""
        self.folder = Path(folder)
        self.body = load_manifest(self.folder)
        self.id, self.mode = self.body["id"], self.body["mode"]
        self.speakers, self.languages = self.body["speakers"], self.body["languages"]
        self.shards = [
            _open_shard(self.folder, entry, verify, payload) for entry in self.body["shards"] if entry["utterances"]
        ]
        self.ends = np.cumsum([len(shard) for shard in self.shards])
        tracks = [*map(track_file, tracks_in(self.body["lengths"]))]
        self.first_row = {TOKENS: lay_out(self._lengths(TOKENS), [TOKENS])}
        self.first_row |= dict.fromkeys(tracks, lay_out(self._lengths(tracks[0]), tracks))
        self.stretches = {name: Stretch(name, self._lengths(name), first) for name, first in self.first_row.items()}
        for name in [*tracks, TOKENS] if payload else [TOKENS]:
            for number in range(len(self.shards)):
                self.put(number, name)
        self.tracks = {track: self.stretches[track_file(track)].array for track in tracks_in(self.body["lengths"])}
        self.tokens = self.stretches[TOKENS].array
        self.columns = _Columns(self)

    def _lengths(self, name: str) -> list[int]:
        return [shard.body["lengths"][name] for shard in self.shards]

    def put(self, number: int, name: str) -> None:
        """Map a file of a shard into its place."""
        self.stretches[name].put(number, self.shards[number].folder / name)

    @property
    def starts(self) -> NDArray[np.int64]:
        """[shards] the first utterance of each."""
        return np.append(0, self.ends[:-1])

    def shard_of(self, utterance: int) -> tuple[int, int]:
        """(the shard that holds an utterance, its number in there)."""
        shard = int(np.searchsorted(self.ends, utterance, side="right"))
        return shard, utterance - int(self.starts[shard])

    def texts(self) -> Iterator[tuple[NDArray[np.uint8], NDArray[np.int64]]]:
        for shard in self.shards:
            yield from shard.texts()

    def rejected(self) -> list[dict[str, Any]]:
        names = [entry["name"] for entry in self.body["shards"]]
        alone = (read_rejected(self.folder, name=shard_rejected(name)) for name in names
                 if (self.folder / shard_rejected(name)).is_file())  # fmt: skip
        return [row for rows in (*(read_rejected(shard.folder) for shard in self.shards), *alone) for row in rows]

    def token_parts(self) -> Iterator[NDArray[np.int32]]:
        for first, length in zip(self.first_row[TOKENS].tolist(), self._lengths(TOKENS), strict=True):
            yield self.tokens[first : first + length]

    def _string(self, kind: str, utterance: int) -> str:
        shard, own = self.shard_of(int(utterance))
        return self.shards[shard].utterance_id(own) if kind == "id" else self.shards[shard].text(own)

    def summary(self) -> dict[str, Any]:
        return super().summary() | {"shards": len(self.body["shards"])}

    def _bytes(self) -> dict[str, int]:
        held: Counter[str] = Counter({MANIFEST: (self.folder / MANIFEST).stat().st_size})
        for shard in self.shards:
            held.update({name: (shard.folder / name).stat().st_size for name in (MANIFEST, *shard.body["lengths"])})
        return dict(held)


def _open_shard(folder: Path, entry: dict[str, Any], verify: bool, payload: bool) -> Index:
    shard = Index(folder / entry["name"], verify, payload)
    if fingerprint(shard.body) != entry["seal"]:
        raise CacheDamaged(
            f"{shard.folder} is not the shard that {folder / MANIFEST} names: it was packed or changed on its own; "
            f"pack the corpus again, 'myxtts pack CORPUS -o {folder} --dask ...'"
        )
    return shard


class _Columns(Mapping[str, NDArray[Any]]):
    """The columns of all shards, one after the other; each is made once."""

    def __init__(self, cache: ShardedCache):
        self._cache, self._made = cache, dict[str, NDArray[Any]]()

    @cached_property
    def _names(self) -> dict[str, str]:
        return index_columns(tracks_in(self._cache.body["lengths"]))

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name not in self._made:
            parts = [self._part(name, number) for number in range(len(self._cache.shards))]
            self._made[name] = np.concatenate(parts).astype(self._names[name], copy=False)
        return self._made[name]

    def _part(self, name: str, number: int) -> NDArray[Any]:
        shard = self._cache.shards[number]
        own = np.asarray(shard.columns[name])
        if name == "first_row":
            return own + self._cache.first_row[track_file("audio")][number]
        if name == "first_token":
            return own + self._cache.first_row[TOKENS][number]
        if name in ("speaker", "language"):
            ours, theirs = getattr(self._cache, f"{name}s"), getattr(shard, f"{name}s")
            place = {each: code for code, each in enumerate(ours)}
            return np.array([place[each] for each in theirs])[own]
        return own
