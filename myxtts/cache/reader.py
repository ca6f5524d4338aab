"""Opens a cache: maps its files, checks that they fit together, and gives names to what is in it."""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myxtts.cache import cut_off
from myxtts.cache.format import (
    BLOBS,
    HEADER_BYTES,
    MANIFEST,
    TOKENS,
    TRACKS,
    array_type,
    column_file,
    index_columns,
    npy_header,
    payload_files,
    row_bytes,
    track_file,
    tracks_in,
)
from myxtts.cache.manifest import load_manifest
from myxtts.cache.rejected import read_rejected
from myxtts.cache.validation import impossible_index
from myxtts.errors import CacheDamaged, CacheError
from myxtts.features.mel import HOP_SAMPLES, SAMPLE_RATE
from myxtts.features.token_table import TokenTable
from myxtts.files import hash_file

_ALIGNMENT_BYTES = 64
_MAP_NORESERVE = 0x4000  # mman.h; Python 3.11 has no name for it
_MAP_FLAGS = mmap.MAP_PRIVATE | _MAP_NORESERVE


class Index:
    """What a cache knows of its utterances, without their sound: opening costs as much as the index is long."""

    def __init__(self, folder: Path | str, verify: bool = True, payload: bool = True):
        """`verify` also hashes the index (0.1 s for a million utterances) and looks whether it is possible at all.
        Without `payload` the large files need not be there."""
        self.folder = Path(folder)
        self.body = load_manifest(self.folder)
        if "shards" in self.body:
            raise CacheError(f"{self.folder} is a cache in shards: open it with myxtts.cache.open.open_cache")
        self.id: str = self.body["id"]
        self.mode: str = self.body["mode"]
        self.speakers: list[str] = self.body["speakers"]
        self.languages: list[str] = self.body["languages"]
        for name, what in check_files(self.folder, self.body, hash_index=verify, payload=payload):
            raise CacheDamaged(f"{self.folder}: {name} {what}: run 'myxtts verify {self.folder}'")
        self.columns: Mapping[str, NDArray[Any]] = {
            column: map_column(self.folder, column) for column in index_columns(tracks_in(self.body["lengths"]))
        }
        if verify and (wrong := impossible_index(self.body, self.columns)):
            raise CacheDamaged(f"{self.folder}: {wrong}: run 'myxtts verify {self.folder}'")
        self._blobs = {blob: map_column(self.folder, blob) for blob in BLOBS}

    def __len__(self) -> int:
        return int(self.body["utterances"])

    def utterance_id(self, utterance: int) -> str:
        return self._string("id", utterance)

    def text(self, utterance: int) -> str:
        return self._string("text", utterance)

    def texts(self) -> Iterator[tuple[NDArray[np.uint8], NDArray[np.int64]]]:
        """The UTF-8 bytes of all texts and where each ends in them; of a cache in shards one pair for each."""
        yield self._blobs["text_bytes"], np.asarray(self.columns["text_end"])

    def _string(self, kind: str, utterance: int) -> str:
        ends = self.columns[f"{kind}_end"]
        start = int(ends[utterance - 1]) if utterance else 0
        try:
            return self._blobs[f"{kind}_bytes"][start : int(ends[utterance])].tobytes().decode()
        except UnicodeDecodeError:
            what = f"the {kind} of utterance {utterance} is not UTF-8"
            raise CacheDamaged(f"{self.folder}: {what}: pack it again with --rebuild") from None


class Cache(Index):
    """A published cache, read-only. Opening costs as much as the index is long, never as the audio is."""

    def __init__(self, folder: Path | str, verify: bool = True):
        super().__init__(folder, verify)
        self.tracks = {track: self._map(track_file(track)) for track in tracks_in(self.body["lengths"])}
        self.tokens = self._map(TOKENS)  # int32 [n]

    def _map(self, name: str) -> NDArray[Any]:
        """The file as an array that DLPack may turn into a tensor, which wants writable memory: copy-on-write.

        Without MAP_NORESERVE the kernel counts such a map as memory to be provided and refuses one larger than RAM
        (290 GB of audio on a machine of 24 GB: ENOMEM); `np.load(mmap_mode="c")` cannot ask for that.
        """
        dtype, shape = array_type(name)
        with open(self.folder / name, "rb") as file:
            memory = mmap.mmap(file.fileno(), 0, flags=_MAP_FLAGS, prot=mmap.PROT_READ | mmap.PROT_WRITE)
        cut_off.remember(self.folder / name, len(memory))
        array = np.frombuffer(memory, dtype, offset=HEADER_BYTES).reshape(-1, *shape)
        if array.ctypes.data % _ALIGNMENT_BYTES and array.size:
            raise CacheError(f"{self.folder / name} is not {_ALIGNMENT_BYTES}-byte aligned: repack it with --rebuild")
        return array

    @property
    def audio(self) -> NDArray[np.int16]:
        """[rows, hop_samples]"""
        return self.tracks["audio"]

    @property
    def mel(self) -> NDArray[np.float16] | None:
        """[rows, mels]; None in mode `audio`."""
        return self.tracks.get("mel")

    @property
    def table(self) -> TokenTable:
        return TokenTable(self.body["token_table"])

    @property
    def seconds(self) -> float:
        return float(self.columns["n_samples"].sum(dtype=np.int64)) / SAMPLE_RATE

    def samples(self, utterance: int) -> NDArray[np.int16]:
        """The audio of one utterance, int16 [samples]."""
        return self.track("audio", utterance).reshape(-1)[: int(self.columns["n_samples"][utterance])]

    def frames(self, utterance: int) -> NDArray[np.float16]:
        """The mel frames of one utterance, float16 [frames, mels]."""
        return self.track("mel", utterance)

    def track(self, name: str, utterance: int) -> NDArray[Any]:
        """One utterance's rows of a track, [frames, ...]."""
        if name not in self.tracks:
            raise CacheError(f"{self.folder} has no {track_file(name)}, it holds {', '.join(self.tracks)} only: repack "
                             f"it with 'myxtts pack --rebuild --mode precompute CORPUS -o {self.folder}'")  # fmt: skip
        return self.tracks[name][self._rows(utterance)]

    def rejected(self) -> list[dict[str, Any]]:
        """The rows that were not packed, each with its reason."""
        return read_rejected(self.folder)

    def token_parts(self) -> Iterator[NDArray[np.int32]]:
        """The tokens of all utterances one after the other, in as many parts as there are files of them."""
        yield self.tokens

    def token_ids(self, utterance: int) -> NDArray[np.int32]:
        first = int(self.columns["first_token"][utterance])
        return self.tokens[first : first + int(self.columns["n_tokens"][utterance])]

    def _rows(self, utterance: int) -> slice:
        first = int(self.columns["first_row"][utterance])
        return slice(first, first + int(self.columns["n_frames"][utterance]))

    def summary(self) -> dict[str, Any]:
        """What `myxtts info` shows."""
        frames = self.columns["n_frames"]
        return {
            "cache": str(self.folder),
            "id": self.id,
            "format": self.body["format"],
            "mode": self.mode,
            "utterances": len(self),
            "rejected": self.body["rejected"],
            "audio_seconds": round(self.seconds, 3),
            "utterance_seconds": _spread(frames * (HOP_SAMPLES / SAMPLE_RATE)),
            "tokens_per_utterance": _spread(self.columns["n_tokens"]),
            "speakers": _shares(self.speakers, self.columns["speaker"]),
            "languages": _shares(self.languages, self.columns["language"]),
            "token_table_size": len(self.body["token_table"]),
            "fingerprints": self.body["fingerprints"],
            "settings": self.body["settings"],
            "bytes": self._bytes(),
        }

    def _bytes(self) -> dict[str, int]:
        return {name: (self.folder / name).stat().st_size for name in (MANIFEST, *self.body["lengths"])}


def map_column(folder: Path, column: str) -> NDArray[Any]:
    """A column of the index, read-only. `check_files` has compared its header, so it is not parsed: `np.load` takes
    0.1 ms for that, and a cache has 14 of them."""
    name = column_file(column)
    with open(folder / name, "rb") as file:
        memory = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
    return np.frombuffer(memory, array_type(name)[0], offset=HEADER_BYTES)


def check_files(folder: Path, body: dict[str, Any], hash_index: bool, payload: bool = True) -> list[tuple[str, str]]:
    """(file, what is wrong) of the files as a whole: missing, wrong length, wrong header, damaged index."""
    faults = {}
    left_out = () if payload else payload_files(TRACKS)
    for name, rows in body["lengths"].items():
        if name in left_out:
            continue
        fault = _check_array(folder / name, *array_type(name), rows)
        if fault:
            faults[name] = fault
    for name, checksum in body["checksums"].items() if hash_index else ():
        if name not in faults and _hash_or_none(folder / name) != checksum:
            faults[name] = "is damaged"
    return list(faults.items())


def _check_array(path: Path, dtype: str, shape: tuple[int, ...], rows: int) -> str:
    if not path.is_file():
        return "is missing"
    expected = HEADER_BYTES + rows * row_bytes(dtype, shape)
    actual = path.stat().st_size
    if actual != expected:
        return f"has {actual} bytes, expected {expected}"
    with open(path, "rb") as file:
        return "" if file.read(HEADER_BYTES) == npy_header(dtype, (rows, *shape)) else "has a damaged header"


def _hash_or_none(path: Path) -> str | None:
    return hash_file(path) if path.is_file() else None


def _spread(values: NDArray[Any]) -> dict[str, float]:
    low, middle, high = np.percentile(values, [0, 50, 100])
    return {"min": round(float(low), 3), "median": round(float(middle), 3), "max": round(float(high), 3)}


def _shares(names: list[str], codes: NDArray[np.int32]) -> dict[str, int]:
    counts = np.bincount(codes, minlength=len(names))
    return {name: int(count) for name, count in zip(names, counts, strict=True)}
