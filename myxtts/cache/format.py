"""The whole disk format of a cache: its files, their types, and `cache.json`, which is written last.

    NAME.cache/
      cache.json            version, settings, fingerprints, counts, names, token table, checksums
      audio.npy             int16   [rows, 256]   one row is one hop of samples
      mel.npy               float16 [rows, 80]    one row is one frame; only in mode `precompute`
      tokens.npy            int32   [n]
      index.COLUMN.npy      one value per utterance (see INDEX), and the UTF-8 bytes of all ids and texts
      rejected.jsonl        each row of the corpus that is not in here, and why

A cache in shards is a folder of such caches, and its cache.json names them in their order:

    NAME.cache/
      cache.json            as above, over all shards; `shards` has name, id, rows, utterances, lengths, seal of each
      00000.cache/ ...      the shards, each a cache of its own
      00007.rejected.jsonl  in place of a shard of whose rows none could be packed

Every file but the last is a plain `.npy` with a header of exactly 128 bytes, so data begins 64-byte aligned.
audio.npy, mel.npy and whatever else has one row per frame are the tracks of a cache, one line each in `TRACKS`.
Row 0 of a track is padding (silence); utterances follow without gaps, in corpus order. `lengths` in cache.json says
which files there are: a cache that was packed before a track was invented lacks it and is otherwise as good.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myxtts.features.mel import HOP_SAMPLES, LOG_FLOOR, N_MELS, mel_settings, packed_mel, sample_rows
from myxtts.files import REPLACES, place_of

FORMAT = 2  # 2: `corpora`, one entry for each corpus that was packed or added
SHARDED_FORMAT = 3  # a folder of caches of that format, which are its shards
MANIFEST = "cache.json"
REJECTED = "rejected.jsonl"
JOURNAL = "journal"  # only while it is being built
HEADER_BYTES = 128
TOKENS, TOKENS_DTYPE = "tokens.npy", "<i4"


@dataclass(frozen=True)
class Track:
    """What is known of every frame, in NAME.npy: one row per frame, the same rows in every track."""

    dtype: str
    shape: tuple[int, ...]  # of one row
    padding: float  # the value of row 0
    make: Callable[[NDArray[np.int16]], NDArray[Any]]  # from an utterance's samples to its rows [frames, *shape]
    settings: Callable[[], dict[str, Any]] | None  # all that decides its bytes beside the samples; None: those alone


TRACKS: dict[str, Track] = {
    "audio": Track("<i2", (HOP_SAMPLES,), 0, sample_rows, None),
    "mel": Track("<f2", (N_MELS,), LOG_FLOOR, packed_mel, mel_settings),
}
# mode -> the tracks that are packed in it. Audio is always there: all others are made from it.
MODES: dict[str, tuple[str, ...]] = {"precompute": ("audio", "mel"), "audio": ("audio",)}

# column -> dtype. `xxh3_tokens` is the hash of an utterance's tokens; each track that is there has its `xxh3_NAME`.
# `id_end` and `text_end` are where an utterance's bytes end in `id_bytes` and `text_bytes`.
INDEX: dict[str, str] = {
    "first_row": "<i8",
    "n_frames": "<i4",
    "n_samples": "<i4",
    "first_token": "<i8",
    "n_tokens": "<i4",
    "speaker": "<i4",
    "language": "<i4",
    "xxh3_tokens": "<u8",
    "id_end": "<i8",
    "text_end": "<i8",
}
HASH_DTYPE = "<u8"
BLOBS: dict[str, str] = {"id_bytes": "|u1", "text_bytes": "|u1"}


def mode_of(tracks: Iterable[str]) -> str:
    """`precompute` if the mel is there, so that it need not be computed in training."""
    return "precompute" if "mel" in tracks else "audio"


def track_file(track: str) -> str:
    return f"{track}.npy"


def hash_column(track: str) -> str:
    return f"xxh3_{track}"


def index_columns(tracks: Iterable[str]) -> dict[str, str]:
    """column -> dtype of the index of a cache with these tracks."""
    return INDEX | {hash_column(track): HASH_DTYPE for track in tracks}


def payload_files(tracks: Iterable[str]) -> list[str]:
    """The large files of a cache with these tracks."""
    return [*map(track_file, tracks), TOKENS]


def tracks_in(files: Iterable[str]) -> tuple[str, ...]:
    """The tracks among the names of files, for instance the `lengths` of a cache.json."""
    held = set(files)
    return tuple(track for track in TRACKS if track_file(track) in held)


_SHARD = re.compile(r"(\d{5,})\.(cache|cache\.building|rejected\.jsonl)")


def shard_name(number: int) -> str:
    return f"{number:05d}.cache"


def shard_rejected(name: str) -> str:
    """The list of a shard without a single utterance; the others have their own inside."""
    return f"{name.removesuffix('.cache')}.{REJECTED}"


def shard_number(name: str) -> int | None:
    """Which shard a file or folder of a cache in shards belongs to, if to any."""
    match = _SHARD.fullmatch(place_of(name))
    return None if match is None else int(match[1])


def is_cache_file(name: str) -> bool:
    """True for the names that a cache, or one that is being built or repaired, may hold."""
    if shard_number(name) is not None:
        return True
    index = map(column_file, {**index_columns(TRACKS), **BLOBS})
    return place_of(name) in {MANIFEST, REJECTED, JOURNAL, REPLACES, *payload_files(TRACKS), *index}


def array_type(name: str) -> tuple[str, tuple[int, ...]]:
    """(dtype, shape of one row) of an `.npy` file of a cache."""
    if name == TOKENS:
        return TOKENS_DTYPE, ()
    track = TRACKS.get(name.removesuffix(".npy"))
    if track is not None:
        return track.dtype, track.shape
    column = name.removeprefix("index.").removesuffix(".npy")
    return {**index_columns(TRACKS), **BLOBS}[column], ()


def column_file(column: str) -> str:
    return f"index.{column}.npy"


def padding_row(name: str) -> np.ndarray:
    """Row 0 of a track's file, [1, width]; tokens have none: [0]."""
    dtype, shape = array_type(name)
    track = TRACKS.get(name.removesuffix(".npy"))
    return np.empty((0, *shape), dtype) if track is None else np.full((1, *shape), track.padding, dtype)


def npy_header(dtype: str, shape: tuple[int, ...]) -> bytes:
    """A version 1.0 `.npy` header padded to 128 bytes, the same bytes for the same array whoever writes it."""
    fields = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape!r}, }}"
    length = HEADER_BYTES - 10
    return b"\x93NUMPY\x01\x00" + length.to_bytes(2, "little") + fields.encode().ljust(length - 1) + b"\n"


def row_bytes(dtype: str, shape: tuple[int, ...]) -> int:
    return int(np.dtype(dtype).itemsize * np.prod(shape, dtype=np.int64))
