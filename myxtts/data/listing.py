"""What a loader of single files reads: a file per utterance with its tokens, and how many frames it has at most."""

from __future__ import annotations

import itertools
import logging
import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myxtts.cache.format import npy_header
from myxtts.cache.pack import default_workers, load_table
from myxtts.cache.prepare import make_symbols
from myxtts.cache.reader import Cache
from myxtts.cache.settings import PackSettings
from myxtts.config.config import DataConfig
from myxtts.corpus.read import Corpus
from myxtts.corpus.utterance import Row, Utterance
from myxtts.errors import CorpusError, RowError
from myxtts.features.audio import AudioSettings, load_clip, most_samples
from myxtts.features.mel import count_frames, log_mel
from myxtts.features.token_table import TokenTable
from myxtts.files import write_whole
from myxtts.monitor import current_monitor

log = logging.getLogger(__name__)

_ROWS_AT_ONCE = 512


@dataclass(frozen=True, eq=False)
class Listing:
    """Columns over the utterances. `n_frames` may be more than a file has once its silence is cut, never less."""

    paths: list[str]
    tokens: NDArray[np.int32]  # of all utterances, one after the other
    token_ends: NDArray[np.int64]
    n_frames: NDArray[np.int64]
    speaker: NDArray[np.int32]  # positions in `speakers`
    language: NDArray[np.int32]  # positions in `languages`
    speakers: list[str]
    languages: list[str]
    table: TokenTable = field(repr=False)

    def __len__(self) -> int:
        return len(self.paths)

    @property
    def n_tokens(self) -> NDArray[np.int64]:
        return np.diff(self.token_ends, prepend=0)


def list_corpus(corpus: Corpus, data: DataConfig) -> Listing:
    """Straight from a corpus, without a cache. Rows that cannot be used are said and counted.

    Lengths come from the headers of the files. Only those that could be too long are decoded to know.
    """
    settings, table = PackSettings.from_config(data), load_table(data.token_table)
    used: list[tuple[Utterance, NDArray[np.int32], int]] = []
    rejected: list[str] = []
    for row, symbols, frames in _read(corpus, settings, data.max_mel_frames):
        if isinstance(row, Utterance) and not isinstance(symbols, RowError) and not isinstance(frames, RowError):
            used.append((row, table.encode(symbols), frames))
        else:
            rejected.append(row.id)
    if rejected:
        log.warning("%d rows of %s cannot be used: %s", len(rejected), corpus.folder, ", ".join(rejected[:5]))
        current_monitor().count("rows_rejected", len(rejected))
    if not used:
        raise CorpusError(f"{corpus.folder} has no row that can be used: 'myxtts pack' writes down why")
    rows, tokens, lengths = zip(*used, strict=True)
    speakers, speaker = _numbered([row.speaker for row in rows])
    languages, language = _numbered([row.language for row in rows])
    return Listing(
        [os.fspath(row.audio) for row in rows], *_joined(tokens), np.array(lengths, np.int64),
        speaker, language, speakers, languages, table,
    )  # fmt: skip


def _read(corpus: Corpus, settings: PackSettings, max_frames: int) -> Iterator[tuple[Row, Any, int | RowError]]:
    """Each row with its symbols and frames, or why it has none; files are looked at by several threads."""
    rows = corpus.rows()
    with ThreadPoolExecutor(default_workers(), "myxtts-list") as pool:
        while some := list(itertools.islice(rows, _ROWS_AT_ONCE)):
            lengths = pool.map(lambda row: _frames_of(row, settings.audio, max_frames), some)
            yield from zip(some, make_symbols(some, settings.text), lengths, strict=True)


def _frames_of(row: Row, settings: AudioSettings, max_frames: int) -> int | RowError:
    if not isinstance(row, Utterance):
        return 0
    try:
        frames = count_frames(most_samples(row.audio, settings.max_seconds))
        return frames if frames <= max_frames else count_frames(len(load_clip(row.audio, settings)))
    except RowError as error:
        return error


def _numbered(names: Sequence[str]) -> tuple[list[str], NDArray[np.int32]]:
    known = list(dict.fromkeys(names))
    place = {name: code for code, name in enumerate(known)}
    return known, np.array([place[name] for name in names], np.int32)


def _joined(tokens: Sequence[NDArray[np.int32]]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    return np.concatenate(tokens), np.cumsum([len(ids) for ids in tokens], dtype=np.int64)


def list_cache(cache: Cache, paths: Iterable[Path | str]) -> Listing:
    """The utterances of a cache, with a file for each in the order of its index."""
    codes = {name: np.asarray(cache.columns[name], np.int32) for name in ("speaker", "language")}
    return Listing(
        [os.fspath(path) for path in paths], *_joined([cache.token_ids(n) for n in range(len(cache))]),
        np.asarray(cache.columns["n_frames"], np.int64), codes["speaker"], codes["language"],
        list(cache.speakers), list(cache.languages), cache.table,
    )  # fmt: skip


def list_sources(cache: Cache, corpus: Corpus) -> Listing:
    """The utterances of a cache with their audio files in the corpus that it was packed from."""
    sources = {row.id: row.audio for row in corpus.rows() if isinstance(row, Utterance)}
    ids = [cache.utterance_id(n) for n in range(len(cache))]
    missing = [name for name in ids if name not in sources]
    if missing:
        raise CorpusError(
            f"{corpus.folder} has no {', '.join(missing[:3])}, which {cache.folder} was packed from: repack it"
        )
    return list_cache(cache, [sources[name] for name in ids])


def write_npy_files(cache: Cache, folder: Path) -> Listing:
    """One `.npy` of float32 mel [frames, 80] per utterance, named by its position in the cache; what `npy` reads."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{n:08d}.npy" for n in range(len(cache))]
    for n, path in enumerate(paths):
        mel = log_mel(cache.samples(n)) if cache.mel is None else cache.frames(n).astype(np.float32)
        # Syncing takes longer than all the rest: these can be made again, and a cut one is refused when read.
        write_whole(path, npy_header("<f4", mel.shape) + mel.tobytes(), durable=False)
    return list_cache(cache, paths)
