"""The work of one packing task, in a thread, a process or on another machine: rows in, clips and symbols out."""

from __future__ import annotations

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

    audio: NDArray[np.int16]  # [frames, hop_samples]
    mel: NDArray[np.float16] | None  # [frames, mels]
    n_samples: int
    xxh3_audio: int
    xxh3_mel: int


def prepare_clips(paths: list[str], settings: AudioSettings, with_mel: bool) -> list[Clip | RowError]:
    return [_prepare_clip(path, settings, with_mel) for path in paths]


def _prepare_clip(path: str, settings: AudioSettings, with_mel: bool) -> Clip | RowError:
    try:
        samples = load_clip(path, settings)
    except RowError as error:
        return error
    mel = log_mel(samples).astype(np.float16) if with_mel else None
    audio = np.zeros((count_frames(len(samples)), HOP_SAMPLES), np.int16)
    audio.reshape(-1)[: len(samples)] = samples
    return Clip(audio, mel, len(samples), hash_rows(audio), 0 if mel is None else hash_rows(mel))


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
