"""Adds a corpus to a cache: a copy grows and takes the old one's place, so whoever reads the old one is not disturbed.

What is in the cache stays as it is, byte for byte and in its order. Killed at any byte, the next run resumes.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import xxhash

from myxtts.cache.add_shard import add_shard
from myxtts.cache.fit import outdated, refuse
from myxtts.cache.format import (
    BLOBS,
    JOURNAL,
    MANIFEST,
    REJECTED,
    column_file,
    hash_column,
    index_columns,
    payload_files,
)
from myxtts.cache.manifest import dump_manifest, load_manifest
from myxtts.cache.pack import (
    ProgressCallback,
    build_and_publish,
    check_place,
    count_utterances,
    digest_of,
    go_on,
    rows_of,
)
from myxtts.cache.prepare import Packable
from myxtts.cache.publish import clear_leftovers
from myxtts.cache.reader import Cache
from myxtts.cache.settings import PackSettings
from myxtts.cache.sharded import ShardedCache
from myxtts.cache.writer import CacheWriter, CorpusDigest
from myxtts.corpus.read import Corpus
from myxtts.corpus.several import named_after
from myxtts.corpus.utterance import Rejected, Row, Utterance
from myxtts.errors import CacheLocked
from myxtts.features.token_table import TokenTable
from myxtts.files import clone_file, empty_folder, write_whole
from myxtts.terminal import name_as_text


def add(
    corpus: Corpus,
    cache: Path,
    *,
    executor: Executor | None = None,
    workers: int | None = None,
    progress: ProgressCallback | None = None,
) -> dict[str, Any]:
    """Append `corpus` to `cache`, packed as the cache was, and return the new cache.json.

    An utterance whose id, text and sound are in the cache is not added again; one that only shares its id gets the
    corpus's name before it. So a corpus that has grown can be added again, and one that has not changes nothing: its
    files may have other times (of a copy, say), for it is their sound that counts.
    """
    cache = cache.resolve()
    body = load_manifest(cache)
    check_place(cache)
    count_utterances(body, reused=body["utterances"])
    if digest_of(corpus) in [part["digest"] for part in body["corpora"]]:
        clear_leftovers(cache)
        return body
    refuse(cache, outdated(body))  # what this version makes of a text would not be what is in the cache
    if "shards" in body:
        grown = add_shard(
            corpus, cache, body, lambda: _Known(ShardedCache(cache), corpus).place, executor, workers, progress
        )
        count_utterances(grown, made=grown["utterances"] - body["utterances"])
        return grown
    settings = PackSettings.from_manifest(body)
    known = _Known(Cache(cache), corpus)
    start = functools.partial(_start, corpus, cache, body, settings)
    unchanged = functools.partial(_keep_unchanged, cache, body)
    grown = build_and_publish(cache, start, settings, executor, workers, progress, known.place, unchanged)
    count_utterances(grown, made=grown["utterances"] - body["utterances"])
    return grown


def _start(
    corpus: Corpus, cache: Path, body: dict[str, Any], settings: PackSettings, building: Path
) -> tuple[CacheWriter, Iterator[Row]]:
    """A writer in a copy of the cache, at its end; or where a run that was killed stopped."""
    table = TokenTable(body["token_table"])
    if load_manifest(cache) != body:  # between our reading it and our taking the lock
        raise CacheLocked(f"another process has just changed {cache}: run the same command again")
    source = {"corpus": corpus.defaults, "corpus_name": name_as_text(corpus.folder.name)}
    plan = {**settings.to_dict(), **source, "corpora": body["corpora"], "added_to": body["id"]}
    going_on = go_on(corpus, building, plan, table)
    if going_on is not None:
        return going_on
    empty_folder(building)
    rows = rows_of(corpus)
    index = map(column_file, {**index_columns(settings.tracks), **BLOBS})
    for name in [*payload_files(settings.tracks), *index, REJECTED]:
        clone_file(cache / name, building / name)
    return CacheWriter(building, plan, table, [_end_of(cache, body)]), rows


def _keep_unchanged(cache: Path, before: dict[str, Any], building: Path, now: dict[str, Any]) -> dict[str, Any] | None:
    """If nothing was added the cache stays in its place, and only learns what its corpus looks like now."""
    if now["checksums"] != before["checksums"]:
        return None
    (building / JOURNAL).unlink()  # from here on the copy is a leftover
    if len(now["corpora"]) > len(before["corpora"]):
        now = before  # the same sounds under another name are no further corpus
    else:
        write_whole(cache / MANIFEST, dump_manifest(now))
    empty_folder(building)
    return now


def _end_of(cache: Path, body: dict[str, Any]) -> dict[str, Any]:
    """The journal line that a packer would have written at the end of this cache, before it met the new corpus."""
    return {
        "rows_read": 0,
        "digest": CorpusDigest().value(),
        "lengths": body["lengths"],
        "rejected_bytes": (cache / REJECTED).stat().st_size,
        "reasons": body["rejected"],
        "speakers": body["speakers"],
        "languages": body["languages"],
        "new_tokens": [],
    }


class _Known:
    """What the cache holds, by id."""

    def __init__(self, cache: Cache, corpus: Corpus):
        self._cache, self._corpus = cache, corpus
        self._utterances = {_key(cache.utterance_id(n)): n for n in range(len(cache))}
        self._given: set[int] = set()  # ids of this run

    def place(self, made: Packable) -> Row | None:
        """The utterance as it will be added; None if it is there."""
        utterance, name = made.row, made.row.id
        while (key := _key(name)) in self._utterances or key in self._given:
            there = self._utterances.get(key)
            if there is not None and int(self._cache.columns[hash_column("audio")][there]) == made.clip.hashes["audio"]:
                return None if self._cache.text(there) == made.text else _other_text(utterance, name)
            name = named_after(self._corpus, name)
        self._given.add(key)
        return utterance if name == utterance.id else dataclasses.replace(utterance, id=name)


def _other_text(utterance: Utterance, name: str) -> Rejected:
    message = f"the cache holds this sound as {name!r} with another text: to take the new one, pack with --rebuild"
    return Rejected(utterance.row, utterance.id, "duplicate_id", message)


def _key(id: str) -> int:
    return xxhash.xxh3_64_intdigest(id.encode())
