"""The feed: from a step number to a batch at memory speed. Arithmetic, then one gather from mapped files.

    feed = Feed([Cache("voice.cache")], config)
    for batch in feed.dataset(start_step=1200): ...

A batch is a dict; B, F and T are its bucket's batch size, frames and tokens, R is `data.reference_frames`:
    tokens int32 [B, T], token_lengths int32 [B], mel float16 [B, F, 80] or audio int16 [B, F, 256] (or both),
    frame_lengths int32 [B], speaker int32 [B], language int32 [B], weight float32 [B] (0 for rows that only fill up),
    reference float16 [B, R, 80] or reference_audio int16 [B, R + 4, 256], reference_lengths int32 [B],
    utterances int64 [B] (positions in their cache), step, epoch, cache, bucket int64 [].
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import tensorflow as tf

from myxtts.cache.reader import Cache
from myxtts.config.config import XTTSConfig
from myxtts.data.buckets import BucketTable, plan_buckets
from myxtts.data.device import stage
from myxtts.data.memory import keep_freed_batches
from myxtts.data.order import Order, References, balance_weights, shard_rows
from myxtts.data.permutation import tensorflow_arrays
from myxtts.errors import CacheMismatch, ConfigError
from myxtts.features.mel_tensorflow import CONTEXT_ROWS
from myxtts.monitor import current_monitor

log = logging.getLogger(__name__)

MAX_THREADS = 16
_COLUMNS = ("first_row", "n_frames", "first_token", "n_tokens", "speaker", "language")


class Feed:
    """What a trainer needs: `plan`, `dataset(start_step)`, `describe()`. Its whole state is a step and a cache id."""

    def __init__(
        self,
        caches: Cache | Sequence[Cache],
        config: XTTSConfig,
        *,
        utterances: Sequence[Any] | None = None,
        cache_weights: Sequence[float] | None = None,
        with_audio: bool = False,
    ):
        """`utterances`: per cache the rows to use, for instance those of the training split. `with_audio` adds audio
        to mel batches, for a vocoder."""
        self.caches = [caches] if isinstance(caches, Cache) else list(caches)
        self.data, self.seed = config.data, config.training.seed
        self.payload = _payload(self.caches, config.data.preprocessing_mode, with_audio)
        self.plan = plan_tables(self.caches, config, utterances)
        chosen = utterances or [None] * len(self.caches)
        weights = [_utterance_weights(cache, config, rows) for cache, rows in zip(self.caches, chosen, strict=True)]
        self.order = Order(self.seed, self.plan, cache_weights=cache_weights, utterance_weights=weights)
        speakers = [np.asarray(cache.columns["speaker"]) for cache in self.caches]
        self.references = References(self.seed, speakers, utterances)
        self.steps_per_epoch = self.order.steps_per_epoch
        current_monitor().count("loader.mapped")

    def dataset(
        self,
        start_step: int = 0,
        stop_step: int | None = None,
        *,
        replica: int = 0,
        replicas: int = 1,
        device: str | None = None,
    ) -> tf.data.Dataset:
        """Batches from `start_step` on, without end unless `stop_step` says so. Any step is reached at once.

        Replicas share the same global batches, each taking its part. With `device` batches are staged there.
        """
        keep_freed_batches()
        steps = self.order.dataset(start_step, stop_step, self.references)
        if replicas > 1:
            steps = steps.map(lambda step: _shard(step, replica, replicas))
        batches = steps.map(self._gather, num_parallel_calls=self._threads, deterministic=True)
        if self.data.optimize_cpu_gpu_overlap and self.data.prefetch_buffer_size:
            batches = batches.prefetch(self.data.prefetch_buffer_size)
        return stage(batches.with_options(self._options()), device, self.data)

    def _gather(self, step: dict[str, Any]) -> dict[str, Any]:
        """One step's batch, from the one cache that it comes from."""
        if len(self._sources) == 1:
            return self._sources[0].gather(step, self.data.reference_frames)
        branches = [lambda source=source: source.gather(step, self.data.reference_frames) for source in self._sources]
        return tf.switch_case(tf.cast(step["cache"], tf.int32), branches)

    @cached_property
    def _sources(self) -> list[Source]:
        in_memory = self.data.memory_cache or not self.data.enable_memory_mapping
        with tf.init_scope():  # it is first asked for while `map` traces, but belongs to no graph
            return [Source(cache, self.payload, in_memory) for cache in self.caches]

    @property
    def _threads(self) -> int:
        """A gather is bound by memory: threads beyond the cores only hold more batches."""
        return min(self.data.num_workers, MAX_THREADS, len(os.sched_getaffinity(0)))

    def _options(self) -> tf.data.Options:
        options = tf.data.Options()
        # The default optimisations copy captured tensors, that is the whole file, into memory (DESIGN, fact 2).
        options.experimental_optimization.apply_default_optimizations = False
        options.autotune.enabled = False
        options.threading.private_threadpool_size = min(self.data.num_workers, MAX_THREADS)
        options.threading.max_intra_op_parallelism = 1
        return options

    def state(self, step: int) -> dict[str, Any]:
        """All that a checkpoint must keep of the feed."""
        return {"step": step, "cache": self.cache_id}

    def resume(self, state: dict[str, Any]) -> int:
        """The step to go on from; an error if the data is no longer that of the state."""
        if state["cache"] != self.cache_id:
            raise CacheMismatch(
                f"the run was on cache {state['cache'][:12]}, this is {self.cache_id[:12]}: its batches come in "
                "another order; go on with --replan, or name the old cache"
            )
        return int(state["step"])

    @property
    def cache_id(self) -> str:
        return "+".join(cache.id for cache in self.caches)

    def utterance_ids(self, step: int) -> list[str]:
        """The names of a batch's utterances: for logs of what went wrong."""
        batch = self.order.batch(step)
        cache = self.caches[batch.cache]
        rows = batch.utterances[batch.weight > 0]
        return [cache.utterance_id(int(row)) for row in rows]

    def describe(self) -> dict[str, Any]:
        tables = [table.describe() for table in self.plan]
        return {
            "loader": "mapped",
            "payload": list(self.payload),
            "cache": self.cache_id,
            "steps_per_epoch": self.steps_per_epoch,
            "useful_frame_share": round(useful_frame_share(self.plan), 4),
            "threads": self._threads,
            "prefetch": self.data.prefetch_buffer_size,
            "shuffle_buffer": "none needed: the order is computed",
            "tables": tables,
        }


class Source:
    """One cache as tensors: mapped files without a copy, and the columns of its index."""

    def __init__(self, cache: Cache, payload: Sequence[str], in_memory: bool):
        self._maps = {name: getattr(cache, name) for name in (*payload, "tokens")}
        if in_memory:
            self._maps = {name: aligned_copy(array) for name, array in self._maps.items()}
        with tf.device("CPU:0"):
            self.payload = {name: as_tensor(self._maps[name]) for name in payload}
            self.tokens = as_tensor(self._maps["tokens"])
            self.columns = tf.stack([tf.constant(cache.columns[name], tf.int64) for name in _COLUMNS], axis=1)

    def gather(self, step: dict[str, Any], reference_frames: int) -> dict[str, Any]:
        with tf.device("CPU:0"):
            rows = tf.unstack(tf.gather(self.columns, step["utterances"]), axis=1)
            own = dict(zip(_COLUMNS, rows, strict=True))
            batch = {name: step[name] for name in ("step", "epoch", "cache", "bucket", "utterances", "weight")}
            frames = _rows(own["first_row"], own["n_frames"], step["frames"])
            for name, table in self.payload.items():
                batch[name] = tf.gather(table, frames)
            batch["tokens"] = self._gather_tokens(own, step["tokens"])
            batch |= self._gather_reference(step["reference"], step["crop"], reference_frames)
            lengths = {
                "frame_lengths": "n_frames",
                "token_lengths": "n_tokens",
                "speaker": "speaker",
                "language": "language",
            }
            return batch | {name: tf.cast(own[column], tf.int32) for name, column in lengths.items()}

    def _gather_tokens(self, own: dict[str, Any], n_tokens: Any) -> Any:
        """Tokens have no padding row: read the first token there, then put <pad>, which is 0, in its place."""
        place = tf.range(n_tokens)[None]
        inside = place < own["n_tokens"][:, None]
        tokens = tf.gather(self.tokens, tf.where(inside, own["first_token"][:, None] + place, 0))
        return tf.where(inside, tokens, 0)

    def _gather_reference(self, utterances: Any, crop: Any, length: int) -> dict[str, Any]:
        """A crop of another clip of the speaker; of audio with context around it, so that its frames stay the same."""
        first_row, n_frames = tf.unstack(tf.gather(self.columns[:, :2], utterances), axis=1)
        spare = tf.maximum(n_frames - length, 0)
        start = tf.cast(crop * tf.cast(spare + 1, tf.float32), tf.int64)
        result = {"reference_lengths": tf.cast(tf.minimum(n_frames - start, length), tf.int32)}
        if "mel" in self.payload:
            result["reference"] = tf.gather(self.payload["mel"], _rows(first_row + start, n_frames - start, length))
        else:
            place = start[:, None] + tf.range(-CONTEXT_ROWS, length + CONTEXT_ROWS, dtype=tf.int64)[None]
            inside = (place >= 0) & (place < n_frames[:, None])
            rows = tf.where(inside, first_row[:, None] + place, 0)
            result["reference_audio"] = tf.gather(self.payload["audio"], rows)
        return result


def _rows(first_row: Any, n_frames: Any, length: Any) -> Any:
    """Row numbers [batch, length]: an utterance's rows, then row 0, which is padding. One gather reads and pads."""
    place = tf.range(tf.cast(length, tf.int64))[None]
    return tf.where(place < n_frames[:, None], first_row[:, None] + place, 0)


def _shard(step: dict[str, Any], replica: int, replicas: int) -> dict[str, Any]:
    """A replica's part of every row of a step. References were drawn for the global batch, so they stay the same."""
    cut = dict(step)
    for name in ("utterances", "reference", "crop"):
        cut[name], weight = shard_rows(step[name], step["weight"], replica, replicas, tensorflow_arrays())
    return cut | {"weight": weight}


def as_tensor(array: np.ndarray) -> tf.Tensor:
    """The array's own memory as a tensor, by DLPack. The caller keeps the array alive as long as the tensor."""
    if array.ctypes.data % 64:
        raise ConfigError("the array is not 64-byte aligned, on which TensorFlow would abort: repack the cache")
    return tf.experimental.dlpack.from_dlpack(array.__dlpack__())


def aligned_copy(array: np.ndarray) -> np.ndarray:
    """The array in memory, at an address that TensorFlow accepts."""
    buffer = np.empty(array.nbytes + 64, np.uint8)
    start = -buffer.ctypes.data % 64
    copy = buffer[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[:] = array
    return copy


def plan_tables(caches: Sequence[Cache], config: XTTSConfig, utterances: Sequence[Any] | None) -> list[BucketTable]:
    """One bucket table per cache; what is over the cap is reported."""
    data = config.data
    chosen = utterances or [None] * len(caches)
    tables = []
    for cache, rows in zip(caches, chosen, strict=True):
        count = len(cache) if rows is None else len(rows)
        tables.append(
            plan_buckets(
                cache.columns["n_frames"],
                cache.columns["n_tokens"],
                batch_size=min(data.batch_size, count),  # a corpus smaller than a batch would be mostly padding
                max_buckets=max(data.num_buckets // len(caches), 1),
                max_frames=data.max_mel_frames,
                frame_budget=data.frame_budget,
                utterances=rows,
            )
        )
        _report_over_cap(cache, tables[-1], data.max_mel_frames)
    return tables


def _report_over_cap(cache: Cache, table: BucketTable, max_mel_frames: int) -> None:
    if len(table.over_cap):
        names = ", ".join(cache.utterance_id(int(row)) for row in table.over_cap[:5])
        log.warning(
            "%d of %d utterances of %s are longer than data.max_mel_frames = %d and are left out: %s%s",
            len(table.over_cap), len(cache), cache.folder, max_mel_frames, names,
            " ..." if len(table.over_cap) > 5 else "",
        )  # fmt: skip
        current_monitor().count("utterances_over_cap", len(table.over_cap))


def useful_frame_share(tables: Sequence[BucketTable]) -> float:
    """Real frames / padded frames over all caches."""
    padded = sum(int((table.batches * table.batch * table.frames).sum()) for table in tables)
    return sum(int(table.real_frames.sum()) for table in tables) / padded


def _payload(caches: Sequence[Cache], mode: str, with_audio: bool) -> tuple[str, ...]:
    """What is gathered: mel rows, audio rows, or both."""
    if mode == "auto":
        mode = "precompute" if all(cache.mel is not None for cache in caches) else "on_the_fly"
    if mode == "on_the_fly":
        return ("audio",)
    for cache in caches:
        if cache.mel is None:
            raise CacheMismatch(
                f"{cache.folder} holds audio only, data.preprocessing_mode is precompute: set it to on_the_fly, or run "
                f"'myxtts pack --rebuild --mode precompute CORPUS -o {cache.folder}'"
            )
    return ("mel", "audio") if with_audio else ("mel",)


def _utterance_weights(cache: Cache, config: XTTSConfig, rows: Any) -> Any:
    """Weights [utterances] that balance speakers and languages among `rows`; None where all count the same."""
    speaker, language = config.data.speaker_temperature, config.data.language_temperature
    if speaker == 1.0 and language == 1.0:
        return None
    rows = np.arange(len(cache)) if rows is None else np.asarray(rows)
    weights = np.zeros(len(cache))
    weights[rows] = balance_weights(cache.columns["speaker"][rows], speaker)
    weights[rows] *= balance_weights(cache.columns["language"][rows], language)
    return weights
