"""Reads every byte of a cache at disk speed, names each damaged utterance, and rebuilds exactly those.

A repair never edits a mapped file: it copies it (reflink where the file system can), patches the copy, and renames.
"""

from __future__ import annotations

import functools
import itertools
import logging
import os
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from threading import Event, Lock
from typing import Any

import numpy as np
import xxhash

from myxtts.cache.format import (
    HEADER_BYTES,
    INDEX,
    MANIFEST,
    TOKENS,
    TRACKS,
    array_type,
    hash_column,
    is_cache_file,
    npy_header,
    padding_row,
    payload_files,
    row_bytes,
    shard_number,
    tracks_in,
)
from myxtts.cache.join import rejoin
from myxtts.cache.manifest import is_cache, load_manifest
from myxtts.cache.pack import digest_of, pack
from myxtts.cache.prepare import hash_rows
from myxtts.cache.publish import building_lock
from myxtts.cache.reader import check_files, map_column
from myxtts.cache.settings import PackSettings
from myxtts.cache.validation import impossible_index
from myxtts.corpus.part import Part
from myxtts.corpus.read import Corpus
from myxtts.corpus.utterance import Utterance
from myxtts.errors import CacheDamaged, CacheError, RowError
from myxtts.features.audio import load_clip
from myxtts.features.letters import clean
from myxtts.features.token_table import TokenTable
from myxtts.files import clone_into, fingerprint, whole_file
from myxtts.terminal import name_as_text

log = logging.getLogger(__name__)

_RUN_BYTES, _MAX_THREADS = 2 << 20, 4

VerifyProgress = Callable[[int, int], None]
ShardCheck = Callable[[Path, dict[str, Any], VerifyProgress | None], "list[Damage]"]  # of its folder and its entry


@dataclass(frozen=True)
class Damage:
    """One thing found wrong. `utterance` is its position in the cache, None if the damage is not inside one."""

    file: str
    what: str
    utterance: int | None = None
    id: str | None = None

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        return f"{self.file}: utterance {self.id} {self.what}" if self.id is not None else f"{self.file} {self.what}"


def verify(cache: Path, progress: VerifyProgress | None = None) -> list[Damage]:
    """Everything that is wrong with the cache; an empty list if every byte is as it was written."""
    if not is_cache(cache) and cache.is_dir() and any(is_cache_file(path.name) for path in cache.iterdir()):
        return [Damage(MANIFEST, "is missing")]
    try:
        body = load_manifest(cache)
    except CacheDamaged:
        return [Damage(MANIFEST, "is damaged")]
    if "shards" in body:
        return verify_shards(cache, body, progress, verify_shard)
    damages = [Damage(name, what) for name, what in check_files(cache, body, hash_index=True)]
    if any(damage.file not in payload_files(TRACKS) for damage in damages):
        return damages  # without an intact index nobody knows where an utterance begins
    columns = {name: map_column(cache, name) for name in INDEX}
    if wrong := impossible_index(body, columns):
        file, _, what = wrong.partition(" ")
        return [*damages, Damage(file, what)]
    return damages + _verify_payload(cache, body, progress)


def verify_shards(
    cache: Path, body: dict[str, Any], progress: VerifyProgress | None, check: ShardCheck
) -> list[Damage]:
    """One shard after the other; a file is named with its shard, an utterance by its number among all."""
    damages: list[Damage] = []
    sizes = [_payload_bytes(shard["lengths"]) for shard in body["shards"]]
    before = 0
    for number, shard in enumerate(body["shards"]):
        if not shard["utterances"]:
            continue
        done = sum(sizes[:number])
        show = None if progress is None else functools.partial(_show_part, progress, done, sum(sizes))
        for damage in check(cache / shard["name"], shard, show):
            utterance = None if damage.utterance is None else damage.utterance + before
            damages.append(replace(damage, file=f"{shard['name']}/{damage.file}", utterance=utterance))
        before += shard["utterances"]
    return damages


def _show_part(progress: VerifyProgress, done: int, total: int, here: int, _: int) -> None:
    progress(done + here, total)


def _payload_bytes(lengths: dict[str, int]) -> int:
    return sum(HEADER_BYTES + rows * row_bytes(*array_type(name)) for name, rows in lengths.items())


def verify_shard(folder: Path, shard: dict[str, Any], progress: VerifyProgress | None) -> list[Damage]:
    if not is_cache(folder):
        return [Damage(MANIFEST, "is missing")]
    damages = verify(folder, progress)
    if not damages and fingerprint(load_manifest(folder)) != shard["seal"]:
        return [Damage(MANIFEST, "is of another cache")]
    return damages


def _verify_payload(cache: Path, body: dict[str, Any], progress: VerifyProgress | None) -> list[Damage]:
    """Each thread takes its own part of a file, and none waits for another: a hand-over costs more than a hash."""
    names = [name for name in payload_files(tracks_in(body["lengths"])) if (cache / name).is_file()]
    total, done = sum((cache / name).stat().st_size for name in names), 0
    threads, stopped, counting = min(len(os.sched_getaffinity(0)), _MAX_THREADS), Event(), Lock()
    bounds = [body["utterances"] * part // threads for part in range(threads + 1)]

    def part(name: str, number: int) -> list[Damage]:
        nonlocal done
        damages: list[Damage] = []
        for run, held in _read(cache, name, bounds[number], bounds[number + 1]):
            damages += [_name(cache, name, utterance) for utterance in _damaged(run, held)]
            with counting:
                done += run.stop - run.start
                if progress:
                    progress(done, total)
            if stopped.is_set():
                break
        return damages

    with ThreadPoolExecutor(threads, "myxtts-verify") as pool:
        parts = [pool.submit(part, name, number) for name in names for number in range(threads)]
        try:
            return [damage for each in parts for damage in each.result()]
        finally:
            stopped.set()
            pool.shutdown(cancel_futures=True)


def verify_tokens(cache: Path) -> list[Damage]:
    """Damage to the tokens alone, 1 % of a cache: one flipped bit can make a token another one, which nothing but its
    hash shows. So little that training can afford it before it begins."""
    runs = _read(cache, TOKENS, 0, len(map_column(cache, "n_tokens")))
    return [_name(cache, TOKENS, utterance) for run, held in runs for utterance in _damaged(run, held)]


def _read(cache: Path, name: str, first: int, stop: int) -> Iterator[tuple[Run, memoryview]]:
    """The runs of some utterances with their bytes, which stay until the next run is asked for."""
    buffer = memoryview(bytearray(_longest_run(cache, name)))
    with open(cache / name, "rb", buffering=0) as file:
        for run in _runs(cache, name, first, stop):
            held = os.preadv(file.fileno(), [buffer[: run.stop - run.start]], run.start)
            yield run, buffer[:held]


@dataclass(frozen=True)
class Run:
    """Utterances that lie one after the other in a payload file, as bytes; the padding row is utterance -1."""

    first: int
    start: int
    stop: int
    ends: list[int]  # of each utterance, from `start`
    hashes: list[int]


def _runs(cache: Path, name: str, first: int, last: int) -> Iterator[Run]:
    """Utterances `first` to before `last` in runs of about _RUN_BYTES; the file's last with the padding row."""
    starts, counts = _extent(cache, name)
    width = row_bytes(*array_type(name))
    padding = padding_row(name)
    if len(padding) and last == len(starts):
        yield Run(-1, HEADER_BYTES, HEADER_BYTES + width, [width], [hash_rows(padding)])
    ends = (starts + counts) * width
    hashes = map_column(cache, hash_column(name.removesuffix(".npy")))
    while first < last:
        begin = int(starts[first]) * width
        stop = min(max(int(np.searchsorted(ends, begin + _RUN_BYTES)), first + 1), last)
        own = (ends[first:stop] - begin).tolist()
        yield Run(first, HEADER_BYTES + begin, HEADER_BYTES + begin + own[-1], own, hashes[first:stop].tolist())
        first = stop


def _longest_run(cache: Path, name: str) -> int:
    """Bytes that any run fits into: a run ends with the utterance that takes it over _RUN_BYTES."""
    return _RUN_BYTES + int(_extent(cache, name)[1].max(initial=0)) * row_bytes(*array_type(name))


def _damaged(run: Run, view: memoryview) -> list[int]:
    """The utterances of a run whose bytes have another hash than they were packed with."""
    begins = [0, *run.ends[:-1]]
    checks = zip(begins, run.ends, run.hashes, strict=True)
    return [
        run.first + offset
        for offset, (begin, end, hashed) in enumerate(checks)
        if end > len(view) or xxhash.xxh3_64_intdigest(view[begin:end]) != hashed
    ]


def _extent(cache: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    """(first row, number of rows) of every utterance in a payload file."""
    columns = ("first_token", "n_tokens") if name == TOKENS else ("first_row", "n_frames")
    return map_column(cache, columns[0]), map_column(cache, columns[1])


def _name(cache: Path, file: str, utterance: int) -> Damage:
    if utterance < 0:
        return Damage(file, "has a damaged padding row")
    ends, ids = map_column(cache, "id_end"), map_column(cache, "id_bytes")
    start = int(ends[utterance - 1]) if utterance else 0
    return Damage(
        file, "is damaged", utterance, ids[start : int(ends[utterance])].tobytes().decode(errors="backslashreplace")
    )


def repair(
    cache: Path, corpus: Corpus, settings: PackSettings, damages: list[Damage], table: TokenTable | None = None
) -> list[Damage]:
    """Rebuild what `verify` found; returns what could not be rebuilt.

    `settings` and `table` serve only if cache.json is lost; otherwise those that the cache was packed with do.
    """
    cache = cache.resolve()
    if cache.is_dir() and _is_sharded(cache):
        return _repair_shards(cache, corpus, settings, damages)
    if any(damage.file not in payload_files(TRACKS) or not (cache / damage.file).is_file() for damage in damages):
        return _repack(cache, corpus, settings, table or TokenTable.base())
    body = load_manifest(cache)
    damaged = sorted({damage.utterance for damage in damages if damage.utterance is not None})
    with building_lock(cache) as building:
        patches, failed = _rebuild(cache, body, corpus, damages, damaged)
        for name in sorted({damage.file for damage in damages}):
            _patch_file(cache / name, body["lengths"][name], patches.get(name, []))
        if not any(building.iterdir()):  # it may hold an interrupted rebuild
            building.rmdir()
    return failed


def _is_sharded(cache: Path) -> bool:
    """Also one whose cache.json is lost."""
    return any(shard_number(path.name) is not None for path in cache.iterdir())


def _repair_shards(cache: Path, corpus: Corpus, settings: PackSettings, damages: list[Damage]) -> list[Damage]:
    """Each shard from its own rows of the corpus; then the list of them anew, from what they are now."""
    try:
        body: dict[str, Any] | None = load_manifest(cache)
    except CacheError:
        body = None
    left = [] if body is None else _repair_each(cache, body, corpus, damages)
    part = {"corpus": corpus.defaults, "name": name_as_text(corpus.folder.name), "digest": digest_of(corpus)}
    corpora = [part | {"rows": sum(1 for _ in corpus.rows())}] if body is None else body["corpora"]
    rejoin(cache, corpora)
    return left


def _repair_each(cache: Path, body: dict[str, Any], corpus: Corpus, damages: list[Damage]) -> list[Damage]:
    rows, left, before = corpus.rows(), list[Damage](), 0
    settings, table = PackSettings.from_manifest(body), TokenTable(body["token_table"])
    for shard in body["shards"]:
        part = Part(list(itertools.islice(rows, shard["rows"])), corpus.folder, corpus.defaults)
        own = [_seen_from(damage, shard["name"], before) for damage in damages
               if damage.file.startswith(f"{shard['name']}/")]  # fmt: skip
        if own:
            failed = repair(cache / shard["name"], part, settings, own, table)
            left += [replace(damage, file=f"{shard['name']}/{damage.file}") for damage in failed]
        before += shard["utterances"]
    return left


def _seen_from(damage: Damage, shard: str, first: int) -> Damage:
    utterance = None if damage.utterance is None else damage.utterance - first
    return replace(damage, file=damage.file.removeprefix(f"{shard}/"), utterance=utterance)


def _repack(cache: Path, corpus: Corpus, settings: PackSettings, table: TokenTable) -> list[Damage]:
    """The index or cache.json is gone, and with it the knowledge of what is where: everything is packed again."""
    try:
        body = load_manifest(cache)
        settings, table = PackSettings.from_manifest(body), TokenTable(body["token_table"])
    except CacheError:
        log.warning(
            "cache.json is lost and with it the settings: packing again with those of the config (language, ...)"
        )
        held = tracks_in(path.name for path in cache.iterdir()) if cache.is_dir() else settings.tracks
        settings = PackSettings(settings.audio, settings.text, tuple(dict.fromkeys(["audio", *held])))
    pack(corpus, cache, settings, table=table, rebuild=True)
    return []


Patch = tuple[int, bytes]  # offset in the file, bytes that belong there


def _rebuild(
    cache: Path, body: dict[str, Any], corpus: Corpus, damages: list[Damage], damaged: list[int]
) -> tuple[dict[str, list[Patch]], list[Damage]]:
    """The bytes of each damaged utterance, made again from the corpus and believed only if their hash fits."""
    files = {utterance: [d for d in damages if d.utterance == utterance] for utterance in damaged}
    wanted = {damage.id: utterance for utterance, damages in files.items() for damage in damages}
    patches: dict[str, list[Patch]] = defaultdict(list)
    failed = []
    settings = PackSettings.from_manifest(body)
    sources = {row.id: row for row in corpus.rows() if isinstance(row, Utterance) and row.id in wanted}
    for name, utterance in wanted.items():
        for damage in files[utterance]:
            made = _remake(sources.get(name or ""), damage.file, body, settings)
            hashed = map_column(cache, hash_column(damage.file.removesuffix(".npy")))
            if isinstance(made, str) or hash_rows(made) != int(hashed[utterance]):
                why = made if isinstance(made, str) else "its source has changed: pack the corpus again with --rebuild"
                failed.append(Damage(damage.file, f"could not be rebuilt: {why}", utterance, name))
                continue
            first, _ = _extent(cache, damage.file)
            width = row_bytes(*array_type(damage.file))
            patches[damage.file].append((HEADER_BYTES + int(first[utterance]) * width, made.tobytes()))
    return patches, failed


def _remake(source: Utterance | None, file: str, body: dict[str, Any], settings: PackSettings) -> np.ndarray | str:
    """One utterance's rows of one file, or why they cannot be made."""
    if source is None:
        return "it is no longer in the corpus"
    if file == TOKENS:
        symbols = settings.text.symbols([clean(source.text)], source.language)[0]
        return symbols.message if isinstance(symbols, RowError) else TokenTable(body["token_table"]).encode(symbols)
    try:
        return TRACKS[file.removesuffix(".npy")].make(load_clip(source.audio, settings.audio))
    except RowError as error:
        return error.message


def _patch_file(path: Path, rows: int, patches: list[Patch]) -> None:
    """A patched copy takes the file's place; length, header and padding row are put right on the way."""
    dtype, shape = array_type(path.name)
    with whole_file(path) as file:
        clone_into(path, file)
        file.truncate(HEADER_BYTES + rows * row_bytes(dtype, shape))
        for offset, data in [(0, npy_header(dtype, (rows, *shape)) + padding_row(path.name).tobytes()), *patches]:
            file.seek(offset)
            file.write(data)
