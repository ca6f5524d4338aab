"""Adds a corpus to a cache in shards: as one more shard, of the numbers and names that the others have."""

from __future__ import annotations

import functools
import logging
import shutil
from collections.abc import Callable
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

from myxtts.cache.format import MANIFEST, shard_name
from myxtts.cache.join import rejoin
from myxtts.cache.pack import (
    Place,
    ProgressCallback,
    accept_existing,
    build_and_publish,
    digest_of,
    start,
)
from myxtts.cache.publish import building_folder, building_lock
from myxtts.cache.settings import PackSettings
from myxtts.corpus.read import Corpus
from myxtts.errors import CacheMismatch, NothingPacked
from myxtts.features.token_table import TokenTable
from myxtts.terminal import name_as_text

log = logging.getLogger(__name__)


def add_shard(
    corpus: Corpus,
    cache: Path,
    body: dict[str, Any],
    place: Callable[[], Place],
    executor: Executor | None,
    workers: int | None,
    progress: ProgressCallback | None,
) -> dict[str, Any]:
    """The new cache.json. Readers of the cache have the old one until the new shard is whole; killed before that, the
    next run goes on with it."""
    shard = cache / shard_name(len(body["shards"]))
    settings, table = PackSettings.from_manifest(body), TokenTable(body["token_table"])
    with building_lock(cache):
        if not _is_there(corpus, shard, settings, table):
            begin = functools.partial(start, corpus, settings, table)
            try:
                build_and_publish(shard, begin, settings, executor, workers, progress, place())
            except NothingPacked as error:
                shutil.rmtree(building_folder(shard), ignore_errors=True)
                log.warning("%s: nothing in it is new: %s", corpus.folder, error)
                return body
        return rejoin(cache, _with(corpus, body["corpora"]))


def _is_there(corpus: Corpus, shard: Path, settings: PackSettings, table: TokenTable) -> bool:
    """Whether a run that was killed at its very end has left the shard."""
    try:
        return (shard / MANIFEST).exists() and bool(accept_existing(corpus, shard, settings, table))
    except CacheMismatch:
        return False


def _with(corpus: Corpus, corpora: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One that has grown and was added again takes its own place."""
    now = {"corpus": corpus.defaults, "name": name_as_text(corpus.folder.name)}
    others = [part for part in corpora if {key: part[key] for key in now} != now]
    return [*others, now | {"digest": digest_of(corpus), "rows": sum(1 for _ in corpus.rows())}]
