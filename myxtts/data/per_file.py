"""Loaders that open a file per utterance, as `tf.data.Dataset`s: the usual ways, and the yardstick of the mapped feed.

    native   wav files, decoded in the graph (files it cannot decode: in Python, loudly)
    npy      one `.npy` of float32 mel per utterance, read in the graph
    python   soundfile and numpy for every file, by `numpy_function`

Each yields (tokens int32 [B, T], mel float32 [B, F, 80], text_len int32 [B], mel_len int32 [B]), padded to the longest
of its batch: tokens with 0, mel with the floor. An iteration is an epoch; the next one comes in another order.
"""

from __future__ import annotations

import itertools
import logging
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from myxtts.cache.format import HEADER_BYTES, npy_header
from myxtts.cache.pack import PackSettings, load_table
from myxtts.cache.prepare import make_symbols
from myxtts.cache.reader import Cache
from myxtts.config.config import DataConfig, XTTSConfig
from myxtts.corpus.read import Corpus
from myxtts.corpus.utterance import Utterance
from myxtts.data.device import stage
from myxtts.data.python_path import load_mel_in_python, report_over_cap
from myxtts.data.tf_native_loader import TFNativeDataLoader
from myxtts.errors import ConfigError, CorpusError, RowError
from myxtts.features.mel import LOG_FLOOR, N_MELS, log_mel
from myxtts.monitor import current_monitor

log = logging.getLogger(__name__)

KINDS = ("native", "npy", "python")
MAX_THREADS = 16
_ROWS_AT_ONCE = 512
_NPY_START = npy_header("<f4", (0, N_MELS)).partition(b"(")[0]


@dataclass(frozen=True, eq=False)
class Listing:
    """What a loader reads: a file per utterance, and the tokens of its text."""

    paths: list[str]
    tokens: NDArray[np.int32]  # of all utterances, one after the other
    token_ends: NDArray[np.int64]  # [utterances]
    n_frames: NDArray[np.int32] | None = None  # [utterances]; unknown before a corpus is decoded

    @classmethod
    def of(cls, paths: Iterable[Path], tokens: Sequence[NDArray[np.int32]], n_frames: Any = None) -> Listing:
        ends = np.cumsum([len(ids) for ids in tokens])
        return cls([os.fspath(path) for path in paths], np.concatenate(tokens), ends, n_frames)

    def __len__(self) -> int:
        return len(self.paths)


def list_corpus(corpus: Corpus, data: DataConfig) -> Listing:
    """Straight from a corpus, without a cache. Rows that cannot be used are said and counted."""
    frontend, table = PackSettings.from_config(data).text, load_table(data.token_table)
    paths, tokens, rejected = [], [], []
    rows = corpus.rows()
    while some := list(itertools.islice(rows, _ROWS_AT_ONCE)):
        for row, symbols in zip(some, make_symbols(some, frontend), strict=True):
            if isinstance(row, Utterance) and not isinstance(symbols, RowError):
                paths.append(row.audio)
                tokens.append(table.encode(symbols))
            else:
                rejected.append(row.id)
    if rejected:
        log.warning("%d rows of %s cannot be used: %s", len(rejected), corpus.folder, ", ".join(rejected[:5]))
        current_monitor().count("rows_rejected", len(rejected))
    if not paths:
        raise CorpusError(f"{corpus.folder} has no row that can be used: 'myxtts pack' writes down why")
    return Listing.of(paths, tokens)


def list_cache(cache: Cache, corpus: Corpus) -> Listing:
    """The utterances of a cache with their tokens, and their audio files in the corpus that it was packed from."""
    sources = {row.id: row.audio for row in corpus.rows() if isinstance(row, Utterance)}
    ids = [cache.utterance_id(n) for n in range(len(cache))]
    missing = [name for name in ids if name not in sources]
    if missing:
        raise CorpusError(
            f"{corpus.folder} has no {', '.join(missing[:3])}, which {cache.folder} was packed from: repack it"
        )
    return _of_cache(cache, [sources[name] for name in ids])


def write_npy_files(cache: Cache, folder: Path) -> Listing:
    """One `.npy` of float32 mel [frames, 80] per utterance, named by its position in the cache; what `npy` reads."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{n:08d}.npy" for n in range(len(cache))]
    for n, path in enumerate(paths):
        mel = log_mel(cache.samples(n)) if cache.mel is None else cache.frames(n).astype(np.float32)
        beside = path.with_suffix(".tmp")
        # No fsync, which takes longer than all the rest: these can be made again, and a cut one is refused when read.
        beside.write_bytes(npy_header("<f4", mel.shape) + mel.tobytes())
        os.replace(beside, path)
    return _of_cache(cache, paths)


def _of_cache(cache: Cache, paths: Iterable[Path]) -> Listing:
    return Listing.of(paths, [cache.token_ids(n) for n in range(len(cache))], np.asarray(cache.columns["n_frames"]))


def per_file_dataset(kind: str, listing: Listing, config: XTTSConfig, device: str | None = None) -> tf.data.Dataset:
    """The loader `kind` over the files of a listing."""
    if kind not in KINDS:
        raise ConfigError(f"found the loader {kind!r}, expected one of {', '.join(KINDS)}")
    current_monitor().count(f"loader.{kind}")
    data = config.data

    def shuffle(dataset: tf.data.Dataset) -> tf.data.Dataset:
        buffer = data.shuffle_buffer_multiplier * data.batch_size
        return dataset.shuffle(buffer, seed=config.training.seed, reshuffle_each_iteration=True)

    positions = tf.data.Dataset.from_tensor_slices(_within_cap(listing, data.max_mel_frames))
    if not data.memory_cache:
        positions = shuffle(positions)  # of numbers, which cost no memory
    read = _reader(kind, listing, data)
    examples = positions.map(read, num_parallel_calls=data.num_workers, deterministic=True)
    if listing.n_frames is None:
        examples = examples.filter(_fits(listing, data.max_mel_frames))
    examples = examples.map(_without_position)
    if data.memory_cache:
        # Kept before the shuffle: behind it, the order of the first epoch would be kept too and return for ever.
        examples = shuffle(examples.cache())
    batches = examples.padded_batch(data.batch_size, padding_values=(0, np.float32(LOG_FLOOR), 0, 0))
    if data.optimize_cpu_gpu_overlap and data.prefetch_buffer_size:
        batches = batches.prefetch(data.prefetch_buffer_size)
    options = tf.data.Options()
    options.threading.private_threadpool_size = min(data.num_workers, MAX_THREADS)
    return stage(batches.with_options(options), device, data)


def _within_cap(listing: Listing, max_frames: int) -> NDArray[np.int64]:
    """Positions of the utterances to read: all whose length is unknown or within the cap; others are reported."""
    positions = np.arange(len(listing))
    if listing.n_frames is None:
        return positions
    over = positions[listing.n_frames > max_frames]
    if len(over):
        names = ", ".join(listing.paths[n] for n in over[:5])
        log.warning("%d utterances are longer than data.max_mel_frames = %d and are left out: %s",
                    len(over), max_frames, names)  # fmt: skip
        current_monitor().count("utterances_over_cap", len(over))
    return positions[listing.n_frames <= max_frames]


def _fits(listing: Listing, max_frames: int) -> Callable[..., Any]:
    """The same for lengths that show only once a file is decoded; each utterance left out is reported as it comes."""
    paths = tf.constant(listing.paths)

    def fits(position: Any, tokens: Any, mel: Any, text_len: Any, mel_len: Any) -> Any:
        return tf.cond(
            mel_len <= max_frames, lambda: True, lambda: report_over_cap(paths[position], mel_len, max_frames)
        )

    return fits


def _without_position(position: Any, *example: Any) -> tuple[Any, ...]:
    return example


def _reader(kind: str, listing: Listing, data: DataConfig) -> Callable[[Any], tuple[Any, ...]]:
    """A position in the listing -> (position, tokens, mel, text_len, mel_len)."""
    load_mel = _mel_loader(kind, data)
    paths, tokens = tf.constant(listing.paths), tf.constant(listing.tokens)
    ends = tf.constant(listing.token_ends)
    starts = tf.concat([[0], ends[:-1]], axis=0)

    def read(position: Any) -> tuple[Any, ...]:
        own = tokens[starts[position] : ends[position]]
        mel = load_mel(paths[position])
        return position, own, mel, tf.size(own), tf.shape(mel)[0]

    return read


def _mel_loader(kind: str, data: DataConfig) -> Callable[[Any], Any]:
    if kind == "npy":
        return read_npy
    if kind == "native":
        loader = TFNativeDataLoader(data)
        return lambda path: loader.load_and_process_audio(path)[1]
    settings = PackSettings.from_config(data).audio
    return lambda path: load_mel_in_python(path, settings, "chosen")


def read_npy(path: Any) -> Any:
    """float32 [frames, 80] from a file of `write_npy_files`, in graph ops."""
    raw = tf.io.read_file(path)
    start = tf.strings.substr(raw, 0, len(_NPY_START))
    mel_bytes = tf.strings.length(raw) - HEADER_BYTES
    expected = tf.equal(start, _NPY_START) & (mel_bytes > 0) & tf.equal(mel_bytes % (4 * N_MELS), 0)
    message = "is not a whole float32 mel of write_npy_files: write it again"
    with tf.control_dependencies([tf.debugging.Assert(expected, [path, message])]):
        mel = tf.io.decode_raw(tf.strings.substr(raw, HEADER_BYTES, mel_bytes), tf.float32)
    return tf.reshape(mel, [-1, N_MELS])
