"""The feed: from a step number to a batch at memory speed. Arithmetic, then one gather from mapped files.

    feed = Feed(Cache("voice.cache"), config)
    for batch in feed.dataset(start_step=1200): ...

A batch is a dict; B, F and T are its bucket's batch size, frames and tokens, R is `data.reference_frames`:
    tokens int32 [B, T], token_lengths int32 [B], mel float16 [B, F, 80] or audio int16 [B, F, 256] (or both),
    frame_lengths int32 [B], speaker int32 [B], language int32 [B], weight float32 [B] (0 for rows that only fill up),
    reference float16 [B, R, 80] or reference_audio int16 [B, R + 4, 256], reference_lengths int32 [B] (unless R is 0),
    utterances int64 [B] (positions in their cache), step, epoch, cache, bucket int64 [].
"""

from __future__ import annotations

import os
from collections.abc import Generator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import tensorflow as tf

from myxtts.cache.format import TRACKS
from myxtts.cache.mirrored import MirroredCache
from myxtts.cache.reader import Cache
from myxtts.config.config import XTTSConfig
from myxtts.data.ahead import ahead, elements
from myxtts.data.device import stage
from myxtts.data.gate import GATE, Gate
from myxtts.data.graph import GraphOrder, Tensors, tensorflow_arrays
from myxtts.data.memory import aligned_copy, keep_freed_batches
from myxtts.data.order import END_OF_TIME, shard_rows
from myxtts.data.plan import COLUMNS, Plan
from myxtts.data.threads import MAX_THREADS
from myxtts.errors import ConfigError
from myxtts.features.mel import CONTEXT_ROWS
from myxtts.monitor import current_monitor

_BLOCK_STEPS = 64

# What travels from the order to the gather, packed by type: per step, per row, and per row as it goes into the batch.
_SHAPE = ("step", "epoch", "cache", "bucket", "frames", "tokens", "batch")
_PLACE = ("utterances", "first_row", "n_frames", "first_token", "n_tokens")
_REFERENCE_PLACE = ("reference_first", "reference_start", "reference_end")
_SMALL = ("frame_lengths", "token_lengths", "speaker", "language")


class Feed(Plan):
    """A plan that TensorFlow carries out: all that a trainer needs of the data."""

    def __init__(self, caches: Cache | Sequence[Cache], config: XTTSConfig, **options: Any):
        """Options are those of `Plan`."""
        super().__init__(caches, config, **options)
        self._gate: Gate | None = None
        self._mirrored = any(isinstance(cache, MirroredCache) for cache in self.caches)
        if self._mirrored and self._in_memory:
            raise ConfigError("a cache at an address is mirrored, not read into memory: set data.memory_cache to false "
                              "and data.enable_memory_mapping to true")  # fmt: skip
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
        stop = END_OF_TIME if stop_step is None else stop_step
        # By blocks of steps: 12 us a step and not 350 us, as ops are dear. Converting Python control flow, of which
        # there is none in what is mapped, would take 2 s of start-up.
        plain = tf.autograph.experimental.do_not_convert
        blocks = tf.data.Dataset.range(start_step, stop, _BLOCK_STEPS)
        if self._mirrored:
            self._gate = Gate(self.order, self.caches, self.payload, replica, replicas)
            blocks = blocks.map(plain(_passing(self._gate, stop)))
        steps = blocks.map(plain(lambda first: self._locate(tf.range(first, tf.minimum(first + _BLOCK_STEPS, stop)))))
        steps = steps.unbatch()
        if replicas > 1:
            steps = steps.map(plain(lambda step: self._shard(step, replica, replicas)))
        batches = steps.map(plain(self._gather), num_parallel_calls=self._threads, deterministic=True)
        if self._overlaps:
            batches = batches.prefetch(self.data.prefetch_buffer_size)
        return stage(batches.with_options(self.options()), device, self.data)

    def batches(self, start_step: int = 0, stop_step: int | None = None, **options: Any) -> Generator[Tensors]:
        """The same batches for a loop in Python: taken out ahead, so that it never waits, for a fifth less CPU.

        Where the settings forbid to make batches ahead (`optimize_cpu_gpu_overlap`), each is made when it is asked for.
        """
        taken = elements(self.dataset(start_step, stop_step, **options))
        if self._gate is not None:
            taken = self._gate.guard(taken)
        return ahead(taken) if self._overlaps else taken

    def batch_specs(self, replicas: int = 1) -> list[dict[str, tf.TensorSpec]]:
        """The shapes that batches have, or a replica's part of them, one per bucket: what to compile a step for before
        the first batch."""
        spec = self.dataset().element_spec
        whole = (shape for table in self.tables for shape in table.shapes)
        shapes = dict.fromkeys((-(-batch // replicas), *lengths) for batch, *lengths in whole)
        return [{name: _sized(name, part, *shape) for name, part in spec.items()} for shape in shapes]

    def _locate(self, numbers: Any) -> Tensors:
        """Where the utterances and references of some steps lie. Looking up many steps costs as much as one, and
        few wide tensors cost less than many narrow ones: 250 us a step with eighteen of them."""
        steps = self._graph.batches(numbers)
        columns, bases = self._index
        base = tf.gather(bases, steps["cache"])[:, None]
        own = dict(zip(COLUMNS, tf.unstack(tf.gather(columns, base + steps["utterances"]), axis=2), strict=True))
        fields = steps | own | {"frame_lengths": own["n_frames"], "token_lengths": own["n_tokens"]}
        if self.data.reference_frames:
            clip = tf.gather(columns[:, :2], base + steps["reference"])
            fields |= _crop(clip, steps["crop"], self.data.reference_frames)
        return {
            "shape": tf.stack([fields[name] for name in _SHAPE], axis=1),
            "place": tf.cast(tf.stack([fields[name] for name in self._place], axis=2), self._index_type),
            "small": tf.cast(tf.stack([fields[name] for name in self._small], axis=2), tf.int32),
            "weight": steps["weight"],
        }

    @property
    def _place(self) -> tuple[str, ...]:
        return _PLACE + _REFERENCE_PLACE if self.data.reference_frames else _PLACE

    @property
    def _small(self) -> tuple[str, ...]:
        return (*_SMALL, "reference_lengths") if self.data.reference_frames else _SMALL

    @property
    def _index_type(self) -> tf.DType:
        """Row numbers in 32 bits where they fit: half the bytes to work out."""
        most = max(max(cache.audio.shape[0], cache.tokens.shape[0]) for cache in self.caches)
        return tf.int32 if most < 2**31 else tf.int64

    def _gather(self, located: Tensors) -> Tensors:
        """One step's batch, from the one cache that it comes from."""
        step = dict(zip(_SHAPE, tf.unstack(located["shape"]), strict=True))
        rows = {name: located[name] for name in ("place", "small", "weight")}
        if not self.order.one_size:
            rows = {name: field[: step["batch"]] for name, field in rows.items()}
        small = dict(zip(self._small, tf.unstack(rows["small"], axis=1), strict=True))
        step |= dict(zip(self._place, tf.unstack(rows["place"], axis=1), strict=True))
        branches = [lambda source=source: source.gather(step, self.data.reference_frames) for source in self._sources]
        made = branches[0]() if len(branches) == 1 else tf.switch_case(tf.cast(step["cache"], tf.int32), branches)
        position = {name: step[name] for name in ("step", "epoch", "cache", "bucket")}
        return made | small | position | {"utterances": tf.cast(step["utterances"], tf.int64), "weight": rows["weight"]}

    def _shard(self, located: Tensors, replica: int, replicas: int) -> Tensors:
        """A replica's part of a step's rows. References were drawn for the global batch, so they stay the same."""
        size = located["shape"][_SHAPE.index("batch")]
        cut, weight = {"shape": located["shape"]}, located["weight"][:size]
        for name in ("place", "small"):
            cut[name], cut["weight"] = shard_rows(located[name][:size], weight, replica, replicas, tensorflow_arrays())
        part = tf.shape(cut["weight"], out_type=tf.int64)[0]
        cut["shape"] = tf.tensor_scatter_nd_update(cut["shape"], [[_SHAPE.index("batch")]], [part])
        return cut

    @cached_property
    def _graph(self) -> GraphOrder:
        return GraphOrder(self.order, self.references if self.data.reference_frames else None)

    @cached_property
    def _index(self) -> tuple[tf.Tensor, tf.Tensor]:
        with tf.init_scope(), tf.device("CPU:0"):  # first asked for while `map` traces, but it belongs to no graph
            return tf.constant(self.columns), tf.constant(self.bases)

    @cached_property
    def _sources(self) -> list[Source]:
        with tf.init_scope(), tf.device("CPU:0"):
            return [Source(cache, self.payload, self._in_memory) for cache in self.caches]

    @property
    def _in_memory(self) -> bool:
        return self.data.memory_cache or not self.data.enable_memory_mapping

    @property
    def _overlaps(self) -> bool:
        return self.data.optimize_cpu_gpu_overlap and self.data.prefetch_buffer_size > 0

    @property
    def _threads(self) -> int:
        """A gather is bound by memory: threads beyond the cores only hold more batches."""
        return min(self.data.num_workers, MAX_THREADS, len(os.sched_getaffinity(0)))

    def options(self) -> tf.data.Options:
        options = tf.data.Options()
        # The default optimisations copy captured tensors, that is the whole file, into memory.
        options.experimental_optimization.apply_default_optimizations = False
        options.autotune.enabled = False
        # Sixteen threads for two parallel gathers on two cores cost 44 us of CPU per utterance, two threads 36 us.
        options.threading.private_threadpool_size = self._threads
        options.threading.max_intra_op_parallelism = 1
        return options

    def describe(self) -> dict[str, Any]:
        running = {"loader": "mapped", "threads": self._threads, "prefetch": self.data.prefetch_buffer_size}
        return running | {"shuffle_buffer": "none needed: the order is computed"} | super().describe()


class Source:
    """One cache as tensors over its mapped files, without a copy."""

    def __init__(self, cache: Cache, payload: Sequence[str], in_memory: bool):
        # Alive as long as the tensors.
        self._maps = {name: cache.tracks[name] for name in payload} | {"tokens": cache.tokens}
        if in_memory:
            self._maps = {name: aligned_copy(array) for name, array in self._maps.items()}
        self.payload = {name: as_tensor(self._maps[name]) for name in payload}
        self.tokens = as_tensor(self._maps["tokens"])

    def gather(self, step: Tensors, reference_frames: int) -> Tensors:
        """What a batch takes from the files."""
        with tf.device("CPU:0"):
            rows = _rows(step["first_row"], step["n_frames"], step["frames"])
            batch = {name: tf.gather(table, rows) for name, table in self.payload.items()}
            batch["tokens"] = self._gather_tokens(step)
            return batch | self._gather_reference(step, reference_frames) if reference_frames else batch

    def _gather_tokens(self, step: Tensors) -> Any:
        """Tokens have no padding row: read the first token there, then put <pad>, which is 0, in its place."""
        place = tf.range(tf.cast(step["tokens"], step["first_token"].dtype))[None]
        inside = place < step["n_tokens"][:, None]
        rows = tf.where(inside, step["first_token"][:, None] + place, 0)
        return tf.where(inside, tf.gather(self.tokens, rows), 0)

    def _gather_reference(self, step: Tensors, length: int) -> Tensors:
        """A crop of another clip of the speaker; of audio with context around it, so that its frames stay the same."""
        first, start, end = (step[name] for name in _REFERENCE_PLACE)
        if "mel" in self.payload:
            return {"reference": tf.gather(self.payload["mel"], _rows(first + start, end - start, length))}
        place = start[:, None] + tf.range(-CONTEXT_ROWS, length + CONTEXT_ROWS, dtype=start.dtype)[None]
        inside = (place >= 0) & (place < end[:, None])
        return {"reference_audio": tf.gather(self.payload["audio"], tf.where(inside, first[:, None] + place, 0))}


def _passing(gate: Gate, stop: int) -> Any:
    """From the first step of a block to itself, when its shards are here. The one call of Python in the feed, once in
    64 steps and for a cache at an address only: while it waits, it holds no lock that others need."""

    def wait(first: np.int64) -> np.int64:
        gate.wait(int(first), min(int(first) + _BLOCK_STEPS, stop))
        return first

    def pass_gate(first: Any) -> Any:
        passed = tf.numpy_function(wait, [first], tf.int64)
        passed.set_shape([])
        return passed

    pass_gate.__name__ = GATE
    return pass_gate


def _sized(name: str, spec: tf.TensorSpec, batch: int, frames: int, tokens: int) -> tf.TensorSpec:
    """A field's shape in a bucket. Every field with rows has `batch` of them; tracks and tokens have a length."""
    shape = spec.shape.as_list()
    if shape:
        shape[0] = batch
    if name == "tokens" or name in TRACKS:
        shape[1] = tokens if name == "tokens" else frames
    return tf.TensorSpec(shape, spec.dtype, name)


def _rows(first_row: Any, n_rows: Any, length: Any) -> Any:
    """Row numbers [batch, length]: an utterance's rows, then row 0, which is padding. One gather reads and pads."""
    place = tf.range(tf.cast(length, first_row.dtype))[None]
    return tf.where(place < n_rows[:, None], first_row[:, None] + place, 0)


def _crop(clip: Any, share: Any, length: int) -> Tensors:
    """Where crops of `length` frames lie in clips [..., (first row, frames)], `share` of the way to the last place."""
    first_row, n_frames = tf.unstack(clip, axis=2)
    spare = tf.maximum(n_frames - length, 0)
    start = tf.cast(share * tf.cast(spare + 1, tf.float32), tf.int64)
    place = dict(zip(_REFERENCE_PLACE, (first_row, start, n_frames), strict=True))
    return place | {"reference_lengths": tf.minimum(n_frames - start, length)}


def as_tensor(array: np.ndarray) -> tf.Tensor:
    """The array's own memory as a tensor, by DLPack. The caller keeps the array alive as long as the tensor."""
    if array.ctypes.data % 64:
        raise ConfigError("the array is not 64-byte aligned, on which TensorFlow would abort: repack the cache")
    return tf.experimental.dlpack.from_dlpack(array.__dlpack__())
