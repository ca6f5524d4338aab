"""The whole disk format of a cache: its files, their types, and `cache.json`, which is written last.

    NAME.cache/
      cache.json            version, settings, fingerprints, counts, names, token table, checksums
      audio.npy             int16   [rows, 256]   one row is one hop of samples
      mel.npy               float16 [rows, 80]    one row is one frame; only in mode `precompute`
      tokens.npy            int32   [n]
      index.COLUMN.npy      one value per utterance (see INDEX), and the UTF-8 bytes of all ids and texts
      rejected.jsonl        each row of the corpus that is not in here, and why

Every file but the last is a plain `.npy` with a header of exactly 128 bytes, so data begins 64-byte aligned.
Row 0 of audio.npy and mel.npy is padding (silence); utterances follow without gaps, in corpus order.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import xxhash

from myxtts.errors import CacheDamaged, CacheError
from myxtts.features.mel import HOP_SAMPLES, LOG_FLOOR, N_MELS

FORMAT = 2  # 2: `corpora`, one entry for each corpus that was packed or added
MANIFEST = "cache.json"
REJECTED = "rejected.jsonl"
JOURNAL = "journal"  # only while it is being built
HEADER_BYTES = 128
MODES = ("precompute", "audio")

# file -> (dtype, shape of one row, value of row 0 or None for no padding row)
PAYLOAD: dict[str, tuple[str, tuple[int, ...], float | None]] = {
    "audio.npy": ("<i2", (HOP_SAMPLES,), 0),
    "mel.npy": ("<f2", (N_MELS,), LOG_FLOOR),
    "tokens.npy": ("<i4", (), None),
}
# column -> dtype. `xxh3_*` are the hashes of an utterance's bytes in the three payload files (mel: 0 in mode audio).
# `id_end` and `text_end` are where an utterance's bytes end in `id_bytes` and `text_bytes`.
INDEX: dict[str, str] = {
    "first_row": "<i8",
    "n_frames": "<i4",
    "n_samples": "<i4",
    "first_token": "<i8",
    "n_tokens": "<i4",
    "speaker": "<i4",
    "language": "<i4",
    "xxh3_audio": "<u8",
    "xxh3_mel": "<u8",
    "xxh3_tokens": "<u8",
    "id_end": "<i8",
    "text_end": "<i8",
}
BLOBS: dict[str, str] = {"id_bytes": "|u1", "text_bytes": "|u1"}


def payload_files(mode: str) -> list[str]:
    return [name for name in PAYLOAD if name != "mel.npy" or mode == "precompute"]


def is_cache_file(name: str) -> bool:
    """True for the names that a cache, or one that is being built or repaired, may hold."""
    ours = {MANIFEST, REJECTED, JOURNAL, *PAYLOAD, *(column_file(column) for column in {**INDEX, **BLOBS})}
    return name.removesuffix(".tmp").removesuffix(".repair") in ours


def column_file(column: str) -> str:
    return f"index.{column}.npy"


def padding_row(name: str) -> np.ndarray:
    """Row 0 of a payload file, [1, width]; tokens have none: [0]."""
    dtype, shape, value = PAYLOAD[name]
    return np.empty((0, *shape), dtype) if value is None else np.full((1, *shape), value, dtype)


def npy_header(dtype: str, shape: tuple[int, ...]) -> bytes:
    """A version 1.0 `.npy` header padded to 128 bytes, the same bytes for the same array whoever writes it."""
    fields = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape!r}, }}"
    length = HEADER_BYTES - 10
    return b"\x93NUMPY\x01\x00" + length.to_bytes(2, "little") + fields.encode().ljust(length - 1) + b"\n"


def row_bytes(dtype: str, shape: tuple[int, ...]) -> int:
    return int(np.dtype(dtype).itemsize * np.prod(shape, dtype=np.int64))


def fingerprint(settings: dict[str, Any]) -> str:
    return xxhash.xxh3_128_hexdigest(_canonical(settings))


def _canonical(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()


def dump_manifest(body: dict[str, Any]) -> bytes:
    """cache.json as it lies on disk: the body and a checksum of it, so that a flipped byte anywhere shows."""
    sealed = {**body, "xxh3_cache_json": fingerprint(body)}
    return (json.dumps(sealed, ensure_ascii=False, indent=1, sort_keys=True) + "\n").encode()


def load_manifest(folder: Path) -> dict[str, Any]:
    """Read and check cache.json: it is there, undamaged and of this format."""
    path = folder / MANIFEST
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise CacheError(f"{folder} is not a cache: cannot read {MANIFEST} ({error.strerror}); make one with "
                         f"'myxtts pack CORPUS -o {folder}'") from None  # fmt: skip
    try:
        body = json.loads(raw)
        version = body["format"]
        seal = body.pop("xxh3_cache_json", None)
        whole = fingerprint(body)  # half a surrogate is JSON, but no text
    except (ValueError, KeyError, TypeError, AttributeError):
        raise CacheDamaged(_damaged(path)) from None
    if version != FORMAT and seal == whole:
        raise CacheError(f"{folder} is cache format {version}, this code reads {FORMAT}: run "
                         f"'myxtts pack --rebuild CORPUS -o {folder}'")  # fmt: skip
    if dump_manifest(body) != raw:
        raise CacheDamaged(_damaged(path))
    return body


def _damaged(path: Path) -> str:
    return (
        f"{path} is damaged (its checksum does not fit its content): run 'myxtts verify {path.parent} --fix CORPUS', "
        f"or 'myxtts pack --rebuild CORPUS -o {path.parent}'"
    )


def write_whole(path: Path, data: bytes) -> None:
    """Write a small file so that it is there whole or not at all: temporary name, fsync, rename."""
    beside = path.with_name(f"{path.name}.tmp")
    with open(beside, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(beside, path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make renames in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
