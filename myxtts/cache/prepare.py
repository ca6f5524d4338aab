"""The work of one packing task, in a thread, a process or on another machine: rows in, clips and symbols out."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
import xxhash
from numpy.typing import NDArray

from myxtts.corpus.utterance import Row, Utterance
from myxtts.errors import RowError, TextError
from myxtts.features.audio import AudioSettings, load_clip
from myxtts.features.mel import HOP_SAMPLES, count_frames, log_mel
from myxtts.features.text import TextFrontend, normalise

Symbols = list[str] | RowError


@dataclass(frozen=True)
class Clip:
    """The prepared audio of one utterance, as it goes to disk."""

    audio: NDArray[np.int16]  # [samples]; on disk zeros fill the last row
    mel: NDArray[np.float16] | None  # [frames, mels]
    xxh3_audio: int
    xxh3_mel: int


# A file's size and time of change: if they are the same, so is the file. Empty if it went away.
Stamp = tuple[int, ...]


def prepare_clips(paths: list[str], settings: AudioSettings, with_mel: bool) -> list[tuple[Clip | RowError, Stamp]]:
    # The stamp first: of a file that is rewritten while it is decoded, the old stamp says that the corpus has changed.
    stamps = [stamp_of(path) for path in paths]
    return [(_prepare_clip(path, settings, with_mel), stamp) for path, stamp in zip(paths, stamps, strict=True)]


def stamp_of(path: str | os.PathLike[str]) -> Stamp:
    try:
        stat = os.stat(path)
    except OSError:
        return ()
    return stat.st_size, stat.st_mtime_ns


def _prepare_clip(path: str, settings: AudioSettings, with_mel: bool) -> Clip | RowError:
    try:
        samples = load_clip(path, settings)
    except RowError as error:
        return error
    mel = log_mel(samples).astype(np.float16) if with_mel else None
    return Clip(samples, mel, _hash_padded(samples), 0 if mel is None else hash_rows(mel))


def pad_to_rows(samples: NDArray[np.int16]) -> NDArray[np.int16]:
    """[frames, hop_samples]: a clip as it lies in audio.npy."""
    missing = count_frames(len(samples)) * HOP_SAMPLES - len(samples)
    return np.pad(samples, (0, missing)).reshape(-1, HOP_SAMPLES)


def _hash_padded(samples: NDArray[np.int16]) -> int:
    """The hash of `pad_to_rows(samples)`, without that copy."""
    digest = xxhash.xxh3_64(np.ascontiguousarray(samples).data.cast("B"))
    digest.update(bytes(-samples.nbytes % (HOP_SAMPLES * samples.itemsize)))
    return digest.intdigest()


def hash_rows(rows: NDArray[Any]) -> int:
    """xxh3 of an array's bytes: of an utterance's rows in a payload file."""
    return xxhash.xxh3_64_intdigest(rows.data.cast("B"))


def make_symbols(rows: list[Row], frontend: TextFrontend) -> list[Symbols]:
    """Symbols of each row's text; one call per language. Rejected rows get a place holder."""
    symbols: list[Symbols] = [[] for _ in rows]
    for language in sorted({row.language for row in rows if isinstance(row, Utterance)}):
        mine = [(at, row) for at, row in enumerate(rows) if isinstance(row, Utterance) and row.language == language]
        try:
            made = frontend.symbols([normalise(row.text) for _, row in mine], language)
        except TextError as error:
            made = [RowError("unknown_language", str(error))] * len(mine)
        for (at, _), value in zip(mine, made, strict=True):
            symbols[at] = value
    return symbols
