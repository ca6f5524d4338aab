"""Packs a corpus as a cache in shards: each is a complete cache of its own, made by one task of any executor.

Cut by rows, not by workers, so however many there are, the bytes are the same. A task is the packer itself, which
leaves a finished shard as it is and goes on with one that a kill has left: so a run that died is repeated, and costs
only what was unfinished. What the shards must agree on, the numbers of tokens, is settled when all are there: each
symbol that is new gets the number that packing in one piece would have given it, and the few shards that counted
otherwise are numbered again. To read all texts first would have cost a third more: eSpeak takes 0.27 ms a sentence.
"""

from __future__ import annotations

import itertools
import logging
import os
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from pathlib import Path
from typing import Any

from myxtts.cache.format import (
    MANIFEST,
    REJECTED,
    shard_name,
    shard_number,
    shard_rejected,
    track_file,
)
from myxtts.cache.join import join, numbered_otherwise, shard_body
from myxtts.cache.manifest import dump_manifest
from myxtts.cache.pack import (
    PackState,
    ProgressCallback,
    count_utterances,
    explained,
    find_packed,
    pack,
)
from myxtts.cache.publish import building_folder, building_lock
from myxtts.cache.retable import retable
from myxtts.cache.settings import PackSettings
from myxtts.cache.writer import CorpusDigest
from myxtts.corpus.part import Part
from myxtts.corpus.read import Corpus
from myxtts.corpus.utterance import Row
from myxtts.errors import CacheError, CacheLocked, CacheMismatch, NothingPacked
from myxtts.features.mel import HOP_SAMPLES, SAMPLE_RATE
from myxtts.features.token_table import TokenTable
from myxtts.files import publish, put_in_place, write_whole
from myxtts.terminal import name_as_text

log = logging.getLogger(__name__)

# 0.8 GB with mel at 6.5 s an utterance: 15 s of a mirror's time at 50 MB/s, two seconds of a worker's.
SHARD_ROWS = 2048
_LOCKED_TRIES, _LOCKED_SECONDS = 60, 1.0
_SEEN_TRIES, _SEEN_SECONDS = 60, 0.5
_one_at_a_time = threading.Lock()  # in a process: eSpeak lives in global variables


def pack_shards(
    corpus: Corpus,
    cache: Path,
    settings: PackSettings,
    executor: Executor,
    *,
    table: TokenTable | None = None,
    shard_rows: int = SHARD_ROWS,
    threads: int = 1,
    ahead: int = 4,
    rebuild: bool = False,
    progress: ProgressCallback | None = None,
) -> dict[str, Any]:
    """Pack `corpus` into the folder `cache`, which all who work for the executor can write to; its cache.json.

    `threads`: of each task. `ahead`: at most this many tasks wait or run at once.
    """
    cache, table = cache.resolve(), table or TokenTable.base()
    if (there := find_packed(corpus, cache, settings, table, rebuild)) is not None:
        return there
    with building_lock(cache) as building:
        work = _Work(corpus, building, settings, table, threads)
        work.run(executor, shard_rows, ahead, progress)
        work.number_alike(executor)
        try:
            body = work.finish()
            publish(building, cache, MANIFEST)
        except OSError as error:
            raise explained(error, building) from error
    count_utterances(body, made=body["utterances"])
    return body


class _Work:
    """The shards of one corpus on their way."""

    def __init__(self, corpus: Corpus, building: Path, settings: PackSettings, table: TokenTable, threads: int):
        self._corpus, self._building = corpus, building
        self._given = (corpus.folder, corpus.defaults, described(settings), list(table.symbols), threads)
        self._rows: list[int] = []  # of each shard
        self._digest = CorpusDigest()
        self._done = PackState(0, 0, 0, 0.0)

    def run(self, executor: Executor, shard_rows: int, ahead: int, progress: ProgressCallback | None) -> None:
        """One task after the other, as they become free; what one of them meets is raised here."""
        running: dict[Future[None], int] = {}
        parts = self._cut(shard_rows)
        try:
            while True:
                for number, rows in itertools.islice(parts, max(ahead - len(running), 0)):
                    place = os.fspath(self._building / shard_name(number))
                    running[executor.submit(pack_shard, place, rows, *self._given)] = number
                if not running:
                    return
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    future.result()
                    self._count(running.pop(future))
                    if progress:
                        progress(self._done)
        finally:
            for future in running:
                future.cancel()

    def _cut(self, shard_rows: int) -> Iterator[tuple[int, list[Row]]]:
        rows = self._corpus.rows()
        for number in itertools.count():
            part = list(itertools.islice(rows, shard_rows))
            if not part:
                return
            for row in part:
                self._digest.add(row)
            self._rows.append(len(part))
            yield number, part

    def _count(self, number: int) -> None:
        body, done = self._body(number), self._done
        seconds = (body["lengths"].get(track_file("audio"), 1) - 1) * HOP_SAMPLES / SAMPLE_RATE
        rejected = sum(body["rejected"].values())
        self._done = PackState(
            done.rows_read + self._rows[number],
            done.utterances + body["utterances"],
            done.rejected + rejected,
            done.audio_seconds + seconds,
        )

    def _body(self, number: int) -> dict[str, Any]:
        for _ in range(_SEEN_TRIES):
            if (body := shard_body(self._building, number)) is not None:
                return body
            time.sleep(_SEEN_SECONDS)  # a network file system may show another machine's work seconds later
        raise CacheError(
            f"a worker has packed {self._building / shard_name(number)}, which is not there: {self._building.parent} "
            "must be a folder that this machine and all workers share"
        )

    def number_alike(self, executor: Executor) -> None:
        """Let all shards number their tokens by one table."""
        if not self._rows:
            raise CacheError("the corpus has no rows: nothing to pack")
        bodies = [self._body(number) for number in range(len(self._rows))]
        symbols, unlike = numbered_otherwise(bodies)
        tasks = [executor.submit(retable, self._building / shard_name(number), symbols) for number in unlike]
        for task in tasks:
            task.result()

    def finish(self) -> dict[str, Any]:
        """The cache.json over all shards, written; nothing else is left in the folder."""
        part: dict[str, Any] = {"corpus": self._corpus.defaults, "name": name_as_text(self._corpus.folder.name)}
        part |= {"digest": self._digest.value(), "rows": sum(self._rows)}
        for path in self._building.iterdir():
            number = shard_number(path.name)
            if number is None or number >= len(self._rows):  # of a run with more shards, or of another kind
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        body = join(self._building, [part])
        write_whole(self._building / MANIFEST, dump_manifest(body))
        return body


# ---- the task --------------------------------------------------------------------------------------------------------


def described(settings: PackSettings) -> dict[str, Any]:
    """Settings as a cache.json holds them: what travels to another machine."""
    return {"settings": settings.groups(), "lengths": {track_file(name): 0 for name in settings.tracks}}


def pack_shard(
    place: str,
    rows: list[Row],
    folder: Path,
    defaults: dict[str, Any],
    packed: dict[str, Any],
    symbols: list[str],
    threads: int,
) -> None:
    """Pack some rows into the cache `place`, in a process of whatever machine."""
    settings = PackSettings.from_manifest(packed)
    if settings.groups() != packed["settings"]:
        unlike = [name for name, group in settings.groups().items() if group != packed["settings"][name]]
        raise CacheMismatch(
            f"the worker on {socket.gethostname()} would make other {' and '.join(unlike)} than the machine that sent "
            "it the rows: install the same versions of MyXTTS and of its extras there"
        )
    part, table = Part(rows, folder, defaults), TokenTable(symbols)
    with _one_at_a_time:
        for attempt in range(_LOCKED_TRIES):
            try:
                _pack_or_note(part, Path(place), settings, table, threads)
                return
            except CacheLocked:  # by a worker that was taken for lost and lives
                if attempt == _LOCKED_TRIES - 1:
                    raise
                time.sleep(_LOCKED_SECONDS)


def _pack_or_note(part: Part, place: Path, settings: PackSettings, table: TokenTable, threads: int) -> None:
    noted = place.with_name(shard_rejected(place.name))
    try:
        try:
            pack(part, place, settings, table=table, workers=threads)
        except CacheMismatch:  # what is there was made of other rows, or otherwise
            pack(part, place, settings, table=table, workers=threads, rebuild=True)
    except NothingPacked:
        building = building_folder(place)
        put_in_place(building / REJECTED, noted)
        shutil.rmtree(building)
        if place.exists():
            shutil.rmtree(place)
    else:
        noted.unlink(missing_ok=True)
