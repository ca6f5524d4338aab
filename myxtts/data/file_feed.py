"""A feed of single files, for a corpus that is not packed: the usual ways, and the yardstick of the mapped feed.

    native   wav files, decoded in the graph to 16-bit samples (files it cannot decode: in Python, loudly)
    npy      one `.npy` of float32 mel per utterance, read in the graph
    python   soundfile and numpy for every file, by `numpy_function`

A `FileFeed` has the doors of a `Feed` and its batches the same fields, without a reference clip: `native` gives
`audio` int16 [B, F, 256], whose mel the compiled step makes on the device, the others `mel` float32 [B, F, 80]. They
come in the few static shapes that a plan has, so nothing is compiled after the start, and their number is known. What
it cannot do is reach a step at once: files are shuffled in a buffer.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from myxtts.cache.format import HEADER_BYTES, npy_header
from myxtts.cache.settings import PackSettings
from myxtts.config.config import XTTSConfig
from myxtts.data.ahead import ahead, elements
from myxtts.data.buckets import plan_buckets
from myxtts.data.device import stage
from myxtts.data.listing import Listing
from myxtts.data.memory import keep_freed_batches
from myxtts.data.python_decoder import load_mel_in_python
from myxtts.data.tf_native_loader import TFNativeDataLoader, as_rows
from myxtts.data.threads import MAX_THREADS
from myxtts.errors import ConfigError
from myxtts.features.mel import HOP_SAMPLES, LOG_FLOOR, N_MELS
from myxtts.features.token_table import TokenTable
from myxtts.monitor import current_monitor

log = logging.getLogger(__name__)

KINDS = ("native", "npy", "python")

_NPY_START = npy_header("<f4", (0, N_MELS)).partition(b"(")[0]
_NUMBERS = ("token_lengths", "frame_lengths", "speaker", "language")

Tensors = dict[str, Any]


class FileFeed:
    """Batches of the loader `kind` over the files of a listing."""

    def __init__(self, kind: str, listing: Listing, config: XTTSConfig):
        if kind not in KINDS:
            raise ConfigError(f"found the loader {kind!r}, expected one of {', '.join(KINDS)}")
        self.kind, self.listing, self.data, self.seed = kind, listing, config.data, config.training.seed
        self.table = plan_buckets(
            listing.n_frames, listing.n_tokens,
            batch_size=min(self.data.batch_size, len(listing)), max_buckets=self.data.num_buckets,
            max_frames=self.data.max_mel_frames, frame_budget=self.data.frame_budget,
        )  # fmt: skip
        self.payload = ("audio", HOP_SAMPLES, tf.int16) if kind == "native" else ("mel", N_MELS, tf.float32)
        self.speakers, self.languages, self._language = listing.speakers, listing.languages, listing.language
        self.steps_per_epoch = int(self.table.batches.sum())
        current_monitor().count(f"loader.{kind}")
        self._report_over_cap()

    def _report_over_cap(self) -> None:
        if over := [self.listing.paths[row] for row in self.table.over_cap.tolist()]:
            log.warning("%d utterances are longer than data.max_mel_frames = %d and are left out: %s",
                        len(over), self.data.max_mel_frames, ", ".join(over[:5]))  # fmt: skip
            current_monitor().count("utterances_over_cap", len(over))

    # ---- the doors of a feed ----------------------------------------------------------------------------------------

    def dataset(
        self, start_step: int = 0, stop_step: int | None = None, *, device: str | None = None
    ) -> tf.data.Dataset:
        """Epoch after epoch, or as many batches as there are between the two steps; always from the beginning."""
        batches = self.epoch().repeat()
        if stop_step is not None:
            batches = batches.take(max(stop_step - start_step, 0))
        return self.finish(batches, device)

    def epoch(self) -> tf.data.Dataset:
        """Every utterance once; each iteration comes in another order. Not prefetched and not staged."""
        keep_freed_batches()
        positions = tf.data.Dataset.from_tensor_slices(np.sort(self.table.members).astype(np.int64))
        if not self.data.memory_cache:
            positions = self._shuffled(positions)  # of numbers, which cost no memory
        examples = positions.map(self._reader(), num_parallel_calls=self.data.num_workers, deterministic=True)
        if self.data.memory_cache:
            # Kept before the shuffle: behind it, the order of the first epoch would be kept too and return for ever.
            examples = self._shuffled(examples.cache())
        return self._grouped(examples)

    def finish(self, batches: tf.data.Dataset, device: str | None) -> tf.data.Dataset:
        """What comes last in every pipeline: prefetch, threads, and the copy to the device after all else."""
        if self.overlaps:
            batches = batches.prefetch(self.data.prefetch_buffer_size)
        options = tf.data.Options()
        options.threading.private_threadpool_size = min(self.data.num_workers, MAX_THREADS)
        options.threading.max_intra_op_parallelism = 1
        return stage(batches.with_options(options), device, self.data)

    def batches(
        self, start_step: int = 0, stop_step: int | None = None, *, device: str | None = None
    ) -> Generator[Tensors]:
        """The same for a loop in Python; taken out ahead, unless the settings forbid to make batches ahead."""
        taken = elements(self.dataset(start_step, stop_step, device=device))
        return ahead(taken) if self.overlaps else taken

    @property
    def overlaps(self) -> bool:
        return self.data.optimize_cpu_gpu_overlap and self.data.prefetch_buffer_size > 0

    def batch_specs(self) -> list[dict[str, tf.TensorSpec]]:
        """The shapes that batches have, one per bucket: what to compile a step for before the first batch."""
        return [self._spec(*shape) for shape in self.table.shapes]

    def _spec(self, batch: int, frames: int, tokens: int) -> dict[str, tf.TensorSpec]:
        name, width, kind = self.payload
        return {number: tf.TensorSpec([batch], tf.int32) for number in _NUMBERS} | {
            name: tf.TensorSpec([batch, frames, width], kind),
            "tokens": tf.TensorSpec([batch, tokens], tf.int32),
            "weight": tf.TensorSpec([batch], tf.float32),
        }

    @property
    def token_tables(self) -> list[TokenTable]:
        return [self.listing.table]

    @property
    def own_languages(self) -> list[str]:
        return self.listing.languages

    @property
    def main_language(self) -> str:
        """That of most frames."""
        members = self.table.members
        frames = np.bincount(self.listing.language[members], self.listing.n_frames[members])
        return self.listing.languages[int(frames.argmax())]

    def number_languages(self, names: Sequence[str]) -> None:
        """Let batches number their languages by these names, as the model does; all of the feed's must be there."""
        code = np.array([list(names).index(language) for language in self.listing.languages], np.int32)
        self.languages, self._language = list(names), code[self.listing.language]

    def state(self, step: int) -> dict[str, Any]:
        return {"step": step}

    def resume(self, state: dict[str, Any]) -> int:
        log.warning("plain files cannot resume inside an epoch: it starts over; a packed corpus resumes in place")
        return int(state["step"])

    def utterance_ids(self, step: int) -> list[str]:
        return []  # the order is that of a shuffle buffer, which nobody remembers

    def describe(self) -> dict[str, Any]:
        return {
            "loader": self.kind, "utterances": len(self.listing), "threads": self.data.num_workers,
            "prefetch": self.data.prefetch_buffer_size, "payload": [self.payload[0]],
            "shuffle_buffer": self._buffer, "steps_per_epoch": self.steps_per_epoch, "tables": [self.table.describe()],
        }  # fmt: skip

    # ---- from positions to batches ----------------------------------------------------------------------------------

    @property
    def _buffer(self) -> int:
        return self.data.shuffle_buffer_multiplier * self.data.batch_size

    def _shuffled(self, dataset: tf.data.Dataset) -> tf.data.Dataset:
        return dataset.shuffle(self._buffer, seed=self.seed, reshuffle_each_iteration=True)

    def _reader(self) -> Callable[[Any], Tensors]:
        """A position in the listing -> the fields of its utterance, without padding."""
        listing, load = self.listing, self._loader()
        paths, tokens = tf.constant(listing.paths), tf.constant(listing.tokens)
        ends, most = tf.constant(listing.token_ends), tf.constant(listing.n_frames, tf.int32)
        starts = tf.concat([[0], ends[:-1]], axis=0)
        columns = {"speaker": tf.constant(listing.speaker), "language": tf.constant(self._language)}

        @tf.autograph.experimental.do_not_convert  # nothing to convert, and it takes a second
        def read(position: Any) -> Tensors:
            own = tokens[starts[position] : ends[position]]
            rows, path = load(paths[position]), paths[position]
            fits = tf.debugging.Assert(tf.shape(rows)[0] <= most[position], [path, "has changed: start again"])
            with tf.control_dependencies([fits]):
                rows = tf.identity(rows)
            lengths = {"token_lengths": tf.size(own), "frame_lengths": tf.shape(rows)[0]}
            fields = {name: column[position] for name, column in columns.items()} | lengths
            return fields | {"position": position, "tokens": own, self.payload[0]: rows}

        return read

    def _loader(self) -> Callable[[Any], Any]:
        """A path -> the rows of the payload."""
        if self.kind == "npy":
            return read_npy
        if self.kind == "native":
            native = TFNativeDataLoader(self.data)
            return lambda path: as_rows(native.load_clip(path))
        settings = PackSettings.from_config(self.data).audio
        return lambda path: load_mel_in_python(path, settings, "chosen")

    def _grouped(self, examples: tf.data.Dataset) -> tf.data.Dataset:
        """Batches of examples of the same bucket, as soon as one is full; at the end those that are not."""
        bucket_of, shapes = tf.constant(self._bucket_of()), tf.constant(self.table.shapes, tf.int64)
        name, width, _ = self.payload
        padding = dict.fromkeys(examples.element_spec, 0.0) | ({"mel": LOG_FLOOR} if name == "mel" else {})

        @tf.autograph.experimental.do_not_convert
        def batch_of(bucket: Any, window: tf.data.Dataset) -> tf.data.Dataset:
            size, frames, tokens = tf.unstack(shapes[bucket])
            lengths = dict.fromkeys(padding, []) | {name: [frames, width], "tokens": [tokens]}
            fills = {field: tf.cast(padding[field], spec.dtype) for field, spec in window.element_spec.items()}
            padded = window.padded_batch(size, padded_shapes=lengths, padding_values=fills)
            return padded.map(tf.autograph.experimental.do_not_convert(lambda batch: _filled(batch, size)))

        return examples.group_by_window(
            lambda example: bucket_of[example["position"]],
            batch_of,
            window_size_func=lambda bucket: shapes[bucket, 0],
        )

    def _bucket_of(self) -> NDArray[np.int64]:
        """[utterances]; those over the cap are in none, and are never asked for."""
        return np.minimum(np.searchsorted(self.table.frames, self.listing.n_frames), len(self.table.frames) - 1)


def _filled(batch: Tensors, size: Any) -> Tensors:
    """The batch with all its `size` rows: in a last, short one its first rows again, with weight 0."""
    rows = tf.shape(batch.pop("position"), out_type=tf.int64)[0]
    repeated = tf.range(size) % rows
    full = tf.cond(
        tf.equal(rows, size),
        lambda: batch,
        lambda: {name: tf.gather(field, repeated) for name, field in batch.items()},
    )
    return full | {"weight": tf.cast(tf.range(size) < rows, tf.float32)}


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
