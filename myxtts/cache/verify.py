"""Reads every byte of a cache at disk speed, names each damaged utterance, and rebuilds exactly those.

A repair never edits a mapped file: it copies it (reflink where the file system can), patches the copy, and renames.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xxhash

from myxtts.cache.format import (
    HEADER_BYTES,
    MANIFEST,
    PAYLOAD,
    column_file,
    load_manifest,
    npy_header,
    padding_row,
    payload_files,
    row_bytes,
    sync_folder,
)
from myxtts.cache.pack import PackSettings, default_workers, pack
from myxtts.cache.prepare import Clip, hash_rows, prepare_clips
from myxtts.cache.publish import building_lock, recover
from myxtts.cache.reader import check_files
from myxtts.corpus.read import Corpus
from myxtts.corpus.utterance import Utterance
from myxtts.errors import CacheDamaged, RowError
from myxtts.features.text import normalise
from myxtts.features.token_table import TokenTable

# One task reads about this much: long enough for the disk, short enough to stay in the L2 cache piece by piece.
_TASK_BYTES = 32 << 20
_FICLONE = 0x40049409

VerifyProgress = Callable[[int, int], None]


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


def verify(cache: Path, progress: VerifyProgress | None = None, workers: int | None = None) -> list[Damage]:
    """Everything that is wrong with the cache; an empty list if every byte is as it was written."""
    recover(cache)
    try:
        body = load_manifest(cache)
    except CacheDamaged:
        return [Damage(MANIFEST, "is damaged")]
    found = [Damage(name, what) for name, what in check_files(cache, body, hash_index=True)]
    if any(damage.file not in PAYLOAD for damage in found):
        return found  # without a sound index nobody knows where an utterance begins
    return found + _verify_payload(cache, body, progress, workers or default_workers())


def _verify_payload(cache: Path, body: dict[str, Any], progress: VerifyProgress | None, workers: int) -> list[Damage]:
    names = [name for name in payload_files(body["mode"]) if (cache / name).is_file()]
    tasks = [task for name in names for task in _tasks(cache, name, body["utterances"])]
    total = sum(stop - start for _, _, _, start, stop in tasks)
    found, done = [], 0
    with ThreadPoolExecutor(workers, "myxtts-verify") as pool:
        for task, damaged in zip(tasks, pool.map(_verify_task, tasks), strict=True):
            path, first, _, start, stop = task
            found += [_name(cache, path.name, first + offset) for offset in damaged]
            done += stop - start
            if progress:
                progress(done, total)
    return found


Task = tuple[Path, int, int, int, int]  # file, first utterance (-1: the padding row), count, first byte, end byte


def _tasks(cache: Path, name: str, utterances: int) -> Iterator[Task]:
    """Runs of utterances of about _TASK_BYTES each, as byte ranges; the padding row is a run of its own."""
    dtype, shape, padding = PAYLOAD[name]
    starts, counts = _extent(cache, name)
    width = row_bytes(dtype, shape)
    if padding is not None:
        yield cache / name, -1, 1, HEADER_BYTES, HEADER_BYTES + width
    ends = (starts + counts) * width
    first = 0
    while first < utterances:
        begin = int(starts[first]) * width
        last = int(np.searchsorted(ends, begin + _TASK_BYTES, side="left"))
        last = min(max(last, first), utterances - 1)
        yield cache / name, first, last - first + 1, HEADER_BYTES + begin, HEADER_BYTES + int(ends[last])
        first = last + 1


def _extent(cache: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    """(first row, number of rows) of every utterance in a payload file."""
    columns = ("first_token", "n_tokens") if name == "tokens.npy" else ("first_row", "n_frames")
    first, count = (np.load(cache / column_file(column), mmap_mode="r") for column in columns)
    return first, count


def _verify_task(task: Task) -> list[int]:
    """Offsets of the damaged utterances of one run: read it piece by piece, compare hashes."""
    path, first, count, start, _ = task
    if first < 0:
        return [] if _read(path, start, padding_row(path.name).nbytes) == padding_row(path.name).tobytes() else [0]
    kind = path.name.removesuffix(".npy")
    expected = np.load(path.parent / column_file(f"xxh3_{kind}"), mmap_mode="r")[first : first + count].tolist()
    _, counts = _extent(path.parent, path.name)
    width = row_bytes(*PAYLOAD[path.name][:2])
    sizes = (counts[first : first + count].astype(np.int64) * width).tolist()
    damaged = []
    buffer = bytearray(max(sizes, default=0))
    with open(path, "rb", buffering=0) as file:
        file.seek(start)
        for offset, (size, hashed) in enumerate(zip(sizes, expected, strict=True)):
            view = memoryview(buffer)[:size]
            if file.readinto(view) != size or xxhash.xxh3_64_intdigest(view) != hashed:
                damaged.append(offset)
    return damaged


def _read(path: Path, start: int, size: int) -> bytes:
    with open(path, "rb") as file:
        file.seek(start)
        return file.read(size)


def _name(cache: Path, file: str, utterance: int) -> Damage:
    if utterance < 0:
        return Damage(file, "has a damaged padding row")
    ends = np.load(cache / column_file("id_end"), mmap_mode="r")
    ids = np.load(cache / column_file("id_bytes"), mmap_mode="r")
    start = int(ends[utterance - 1]) if utterance else 0
    return Damage(file, "is damaged", utterance, ids[start : int(ends[utterance])].tobytes().decode())


def repair(cache: Path, corpus: Corpus, settings: PackSettings, found: list[Damage]) -> list[Damage]:
    """Rebuild what `verify` found; returns what could not be rebuilt. `settings` serve only if cache.json is lost."""
    if any(damage.file not in PAYLOAD or not (cache / damage.file).is_file() for damage in found):
        return _repack(cache, corpus, settings)
    body = load_manifest(cache)
    damaged = sorted({damage.utterance for damage in found if damage.utterance is not None})
    with building_lock(cache) as building:
        patches, failed = _rebuild(cache, body, corpus, found, damaged)
        for name in sorted({damage.file for damage in found}):
            _patch_file(cache / name, body["lengths"][name], patches.get(name, []))
        if not any(building.iterdir()):  # it may hold an interrupted rebuild
            building.rmdir()
    return failed


def _repack(cache: Path, corpus: Corpus, settings: PackSettings) -> list[Damage]:
    """The index or cache.json is gone, and with it the knowledge of what is where: everything is packed again."""
    try:
        settings = PackSettings.from_manifest(load_manifest(cache))
    except CacheDamaged:
        mode = "precompute" if (cache / "mel.npy").exists() else "audio"
        settings = PackSettings(settings.audio, settings.text, mode)
    pack(corpus, cache, settings, rebuild=True)
    return []


Patch = tuple[int, bytes]  # offset in the file, bytes that belong there


def _rebuild(
    cache: Path, body: dict[str, Any], corpus: Corpus, found: list[Damage], damaged: list[int]
) -> tuple[dict[str, list[Patch]], list[Damage]]:
    """The bytes of each damaged utterance, made again from the corpus and believed only if their hash fits."""
    files = {utterance: [d for d in found if d.utterance == utterance] for utterance in damaged}
    wanted = {damage.id: utterance for utterance, damages in files.items() for damage in damages}
    patches: dict[str, list[Patch]] = defaultdict(list)
    failed = []
    settings = PackSettings.from_manifest(body)
    sources = {row.id: row for row in corpus.rows() if isinstance(row, Utterance) and row.id in wanted}
    for name, utterance in wanted.items():
        for damage in files[utterance]:
            made = _remake(sources.get(name or ""), damage.file, body, settings)
            hashed = np.load(cache / column_file(f"xxh3_{damage.file.removesuffix('.npy')}"), mmap_mode="r")
            if isinstance(made, str) or hash_rows(made) != int(hashed[utterance]):
                why = made if isinstance(made, str) else "its source has changed: run 'myxtts pack --rebuild'"
                failed.append(Damage(damage.file, f"could not be rebuilt: {why}", utterance, name))
                continue
            first, _ = _extent(cache, damage.file)
            width = row_bytes(*PAYLOAD[damage.file][:2])
            patches[damage.file].append((HEADER_BYTES + int(first[utterance]) * width, made.tobytes()))
    return patches, failed


def _remake(source: Utterance | None, file: str, body: dict[str, Any], settings: PackSettings) -> np.ndarray | str:
    """One utterance's rows of one file, or why they cannot be made."""
    if source is None:
        return "it is no longer in the corpus"
    if file == "tokens.npy":
        symbols = settings.text.symbols([normalise(source.text)], source.language)[0]
        return symbols.message if isinstance(symbols, RowError) else TokenTable(body["token_table"]).encode(symbols)
    clip = prepare_clips([os.fspath(source.audio)], settings.audio, file == "mel.npy")[0]
    if not isinstance(clip, Clip):
        return clip.message
    rows = clip.mel if file == "mel.npy" else clip.audio
    assert rows is not None
    return rows


def _patch_file(path: Path, rows: int, patches: list[Patch]) -> None:
    """A patched copy takes the file's place; length, header and padding row are put right on the way."""
    dtype, shape, _ = PAYLOAD[path.name]
    copy = path.with_name(f"{path.name}.repair")
    clone_file(path, copy)
    with open(copy, "r+b") as file:
        file.truncate(HEADER_BYTES + rows * row_bytes(dtype, shape))
        file.write(npy_header(dtype, (rows, *shape)))
        file.write(padding_row(path.name).tobytes())
        for offset, data in patches:
            file.seek(offset)
            file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(copy, path)
    sync_folder(path.parent)


def clone_file(source: Path, target: Path) -> None:
    """Copy by reference where the file system can (btrfs, xfs), by bytes elsewhere."""
    with open(source, "rb") as reading, open(target, "wb") as writing:
        try:
            fcntl.ioctl(writing.fileno(), _FICLONE, reading.fileno())
        except OSError:  # EOPNOTSUPP, EXDEV, EINVAL, ENOTTY: this file system or pair of them cannot
            shutil.copyfileobj(reading, writing, 1 << 24)
