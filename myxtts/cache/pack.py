"""Turns a corpus into a cache: workers prepare audio, one writer appends in corpus order.

The way of a few rows: read -> `prepare` their audio and their text -> when both are done and it is their turn, write ->
commit -> when all are written, publish.
"""

from __future__ import annotations

import errno
import functools
import itertools
import logging
import os
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import xxhash

from myxtts.cache.format import JOURNAL, MANIFEST, REJECTED, is_cache_file
from myxtts.cache.journal import read_journal
from myxtts.cache.manifest import load_manifest
from myxtts.cache.prepare import Outcome, Packable, Refused, prepare_in_order
from myxtts.cache.publish import building_folder, building_lock, clear_leftovers, mend
from myxtts.cache.settings import PackSettings
from myxtts.cache.writer import CacheWriter, CorpusDigest
from myxtts.corpus.read import Corpus
from myxtts.corpus.utterance import Rejected, Row
from myxtts.errors import CacheError, CacheMismatch, NothingPacked
from myxtts.features.mel import HOP_SAMPLES, SAMPLE_RATE
from myxtts.features.token_table import TokenTable
from myxtts.files import empty_folder, publish
from myxtts.monitor import current_monitor
from myxtts.terminal import name_as_text

log = logging.getLogger(__name__)

ProgressCallback = Callable[["PackState"], None]
Place = Callable[[Packable], Row | None]


@dataclass(frozen=True)
class PackState:
    """What a progress bar shows."""

    rows_read: int
    utterances: int
    rejected: int
    audio_seconds: float


def default_cache(corpus: Path) -> Path:
    """`<corpus>/cached_features/NAME.cache`, beside the manifest if the corpus is one."""
    folder = corpus if corpus.is_dir() else corpus.parent
    name = corpus.resolve().name if corpus.is_dir() else corpus.stem
    return folder / "cached_features" / f"{name}.cache"


def default_workers() -> int:
    return len(os.sched_getaffinity(0))


def pack(
    corpus: Corpus,
    cache: Path,
    settings: PackSettings,
    *,
    table: TokenTable | None = None,
    executor: Executor | None = None,
    workers: int | None = None,
    rebuild: bool = False,
    progress: ProgressCallback | None = None,
) -> dict[str, Any]:
    """Pack `corpus` into the folder `cache` and return its cache.json. An up-to-date cache is left as it is.

    `executor` may be any `concurrent.futures.Executor`: threads (the default), processes, `dask Client.get_executor()`.
    """
    cache = cache.resolve()  # through a symbolic link, so that the folder behind it is replaced and not the link
    table = table or TokenTable.base()
    if (there := find_packed(corpus, cache, settings, table, rebuild)) is not None:
        return there
    begin = functools.partial(start, corpus, settings, table)
    body = build_and_publish(cache, begin, settings, executor, workers, progress)
    count_utterances(body, made=body["utterances"])
    return body


def find_packed(
    corpus: Corpus, cache: Path, settings: PackSettings, table: TokenTable, rebuild: bool
) -> dict[str, Any] | None:
    """The cache.json of the cache that is there and stays as it is; None where one may be packed now."""
    mend(cache)
    if not rebuild and (cache / MANIFEST).exists():
        body = accept_existing(corpus, cache, settings, table)
        count_utterances(body, reused=body["utterances"])
        return body
    check_place(cache)
    refuse_to_lose(corpus, cache)
    return None


def count_utterances(body: dict[str, Any], reused: int = 0, made: int = 0) -> None:
    """How many utterances were there and how many were packed now; of each state of a cache only once, however often
    it is opened."""
    if current_monitor().first(f"cache {body['id']}"):
        for name, times in (("cache.hits", reused), ("cache.misses", made)):
            if times:
                current_monitor().count(name, times)


def build_and_publish(
    cache: Path,
    start: Callable[[Path], tuple[CacheWriter, Iterator[Row]]],
    settings: PackSettings,
    executor: Executor | None = None,
    workers: int | None = None,
    progress: ProgressCallback | None = None,
    place: Place = lambda packable: packable.row,
    unchanged: Callable[[Path, dict[str, Any]], dict[str, Any] | None] = lambda building, body: None,
) -> dict[str, Any]:
    """Write the rows that `start` finds with the writer that it opens in the building folder, and publish that.

    `place` may give an utterance another id, reject it, or give None: it is there already. `unchanged` may find that
    what was built need not be published, and gives the cache.json that holds instead.
    """
    workers = workers or default_workers()
    with building_lock(cache) as building:
        try:
            with nullcontext(executor) if executor else ThreadPoolExecutor(workers, "myxtts-pack") as pool:
                writer, rows = start(building)
                body = _build(writer, prepare_in_order(rows, pool, settings, workers), progress, place)
            if (kept := unchanged(building, body)) is not None:
                return kept
            publish(building, cache, MANIFEST)
            # The journal is kept until now: what could not be published need not be made again.
            (cache / JOURNAL).unlink(missing_ok=True)
        except BrokenExecutor:
            raise CacheError(
                "a packing worker died (killed, or out of memory): run the same command again to resume"
            ) from None
        except OSError as error:
            raise explained(error, building) from error
    return body


def load_table(source: str | None) -> TokenTable:
    """The token table to start from: a cache's, a file's, or the package's."""
    if source is None:
        return TokenTable.base()
    return (
        TokenTable(load_manifest(Path(source))["token_table"])
        if Path(source).is_dir()
        else TokenTable.load(Path(source))
    )


def check_place(cache: Path) -> None:
    """Refuse to put a cache where something else is: publishing replaces the folder."""
    for folder in (cache, building_folder(cache)):
        if folder.exists() and not folder.is_dir():
            raise CacheError(f"{folder} is a file, expected a folder: choose another place with -o")
        names = sorted(entry.name for entry in folder.iterdir()) if folder.exists() else []
        foreign = [name for name in names if not is_cache_file(name)]
        if foreign:
            raise CacheError(
                f"{folder} holds {foreign[0]!r}, which is not part of a cache and would be lost: choose another place "
                "with -o, or move it away"
            )


def refuse_to_lose(corpus: Corpus, cache: Path) -> None:
    """Packing again from one corpus would drop what others have brought."""
    try:
        body = load_manifest(cache) if (cache / MANIFEST).exists() else None
    except CacheError:
        return  # damaged or of another format: then it is to be replaced
    if body is not None:
        refuse_to_lose_of(corpus, cache, body)


def refuse_to_lose_of(corpus: Corpus, cache: Path | str, body: dict[str, Any]) -> None:
    """The same where the cache.json of `cache` is `body`."""
    held, given = corpora_in(body), len(corpus.defaults.get("several", [corpus]))
    if given < len(held):
        raise CacheMismatch(
            f"{cache} holds {len(held)} corpora and would be packed again from {given}, which loses the others: name "
            f"all, 'myxtts add' what is new, or remove {cache} first"
        )


def corpora_in(body: dict[str, Any]) -> list[dict[str, Any]]:
    """How each corpus in a cache was read, in the order of packing."""
    return [one for part in body["corpora"] for one in part["corpus"].get("several", [part["corpus"]])]


def accept_existing(corpus: Corpus, cache: Path, settings: PackSettings, table: TokenTable) -> dict[str, Any]:
    """The cache that is there, if it fits the settings and the corpus; an error that names the cure if not."""
    body = load_manifest(cache)
    refuse_unlike(corpus, cache, body, settings, table)
    clear_leftovers(cache)
    return body


def refuse_unlike(
    corpus: Corpus, cache: Path | str, body: dict[str, Any], settings: PackSettings, table: TokenTable
) -> None:
    """An error where packing would not give the cache whose cache.json is `body`."""
    cure = f"run 'myxtts pack --rebuild {corpus.folder} -o {cache}'"
    unlike = [f"{group} {each}" for group, names in settings.unlike(body).items() for each in names]
    if not TokenTable(body["token_table"]).extends(table):
        unlike.append("another token table")
    if unlike:
        raise CacheMismatch(
            f"{cache} was packed with other settings ({'; '.join(unlike)}): give the same ones, or {cure} with those "
            "you want"
        )
    if digest_of(corpus) not in [part["digest"] for part in body["corpora"]]:
        if len(corpora_in(body)) > 1 and isinstance(cache, Path):
            cure = f"run 'myxtts add {corpus.folder} -o {cache}' for what is new in it"
        raise CacheMismatch(f"{corpus.folder} has changed since {cache} was packed: {cure}")


def digest_of(corpus: Corpus) -> str:
    digest = CorpusDigest()
    for row in corpus.rows():
        digest.add(row)
    return digest.value()


def _build(
    writer: CacheWriter, outcomes: Iterator[list[Outcome]], progress: ProgressCallback | None, place: Place
) -> dict[str, Any]:
    try:
        for outcome in outcomes:
            _write(writer, outcome, place)
            writer.commit_soon()
            if progress:
                progress(_state(writer))
        if writer.utterances == 0:
            raise NothingPacked(_nothing_packed(writer))
        return writer.seal()
    finally:
        writer.close()


def start(
    corpus: Corpus, settings: PackSettings, table: TokenTable, building: Path
) -> tuple[CacheWriter, Iterator[Row]]:
    """A writer that resumes where a killed run stopped, and the rows it has not read; else one that starts afresh."""
    symbols = xxhash.xxh3_64_hexdigest("\0".join(table.symbols).encode())
    source = {"corpus": corpus.defaults, "corpus_name": name_as_text(corpus.folder.name)}
    plan = {**settings.to_dict(), **source, "base_table": len(table), "base_symbols": symbols}
    going_on = go_on(corpus, building, plan, table)
    if going_on is not None:
        return going_on
    empty_folder(building)
    rows = rows_of(corpus)
    return CacheWriter(building, plan, table, []), rows


def rows_of(corpus: Corpus) -> Iterator[Row]:
    """The rows of a corpus that has some; known before anything is written."""
    rows = corpus.rows()
    first = next(rows, None)
    if first is None:
        raise CacheError("the corpus has no rows: nothing to pack")
    return itertools.chain([first], rows)


def go_on(
    corpus: Corpus, building: Path, plan: dict[str, Any], table: TokenTable
) -> tuple[CacheWriter, Iterator[Row]] | None:
    """The writer of a run with the same plan that was killed, and the rows that it has not read, if there was one."""
    header, *entries = read_journal(building / JOURNAL) or [{}]
    writer = _resume(building, plan, table, entries) if entries and header == plan else None
    if writer is None:
        return None
    rows = corpus.rows()
    for row in itertools.islice(rows, writer.rows_read):
        writer.skip(row)
    if writer.digest() == entries[-1]["digest"]:
        log.info("resuming after %d rows that an interrupted run has packed", writer.rows_read)
        return writer, rows
    writer.close()
    log.warning("the corpus has changed since the interrupted run: starting over")
    return None


def _resume(building: Path, plan: dict[str, Any], table: TokenTable, entries: list[Any]) -> CacheWriter | None:
    try:
        return CacheWriter(building, plan, table, entries)
    except OSError as error:
        log.warning("cannot resume the interrupted run (%s): starting over", error)
        return None


def _write(writer: CacheWriter, outcomes: list[Outcome], place: Place) -> None:
    for outcome in outcomes:
        if isinstance(outcome, Refused):
            writer.reject(outcome)
            continue
        placed = place(outcome)
        if isinstance(placed, Rejected):
            writer.reject(Refused(outcome.row, outcome.stamp, placed))
        else:
            writer.add(outcome, placed)


def _state(writer: CacheWriter) -> PackState:
    seconds = writer.frames * HOP_SAMPLES / SAMPLE_RATE
    return PackState(writer.rows_read, writer.utterances, sum(writer.reasons.values()), seconds)


def _nothing_packed(writer: CacheWriter) -> str:
    counts = ", ".join(f"{count} {reason}" for reason, count in writer.reasons.most_common())
    return f"all {writer.rows_read} rows were rejected ({counts}): see {writer.folder / REJECTED}"


def explained(error: OSError, building: Path) -> CacheError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return CacheError(f"the disk is full: free some space and run the same command again to resume from {building}")
    return CacheError(
        f"cannot write {error.filename or building}: {error.strerror}; run the same command again to resume"
    )
