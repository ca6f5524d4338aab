"""Where a trainer's batches come from: a feed, or the documented dataset that was made of one; or any other dataset.

Whatever comes, nothing is done to a dataset behind its copy to the device: repeating, stopping and naming the parts of
a batch happen in Python, on batches that are already there.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Generator, Iterable
from functools import cached_property
from typing import Any

import numpy as np
import tensorflow as tf

from myxtts.config.config import DataConfig
from myxtts.data.ahead import ahead, elements
from myxtts.data.device import first_gpu, staged_on
from myxtts.data.file_feed import FileFeed
from myxtts.data.pipeline import Feed
from myxtts.data.tuples import feed_behind
from myxtts.errors import TrainingError
from myxtts.models.description import ModelDescription
from myxtts.training.replicas import Replicas
from myxtts.training.voice import voice_of_batch, voice_of_feed

log = logging.getLogger(__name__)

Batch = dict[str, Any]
_FOUR = ("tokens", "mel", "token_lengths", "frame_lengths")


class FeedSource:
    """Batches of a feed: their number and shapes are known before the first; of a packed one also their names."""

    def __init__(self, feed: Feed | FileFeed):
        self.feed, self.steps_per_epoch = feed, feed.steps_per_epoch
        self._passes: dict[int, tf.data.Dataset] = {}

    def batches(self, start_step: int) -> Generator[Any]:
        """From a step on, without end."""
        return self.feed.batches(start_step, device=self._device())

    def _device(self) -> str | None:
        """Where whole batches go."""
        return first_gpu()

    def shape(self, batch: Any) -> tuple[int, int]:
        """Rows of the global batch, and frames of each."""
        return shape_of(batch)

    def one_pass(self, most: int | None = None) -> Generator[Batch]:
        """Each utterance once, or the first `most` batches of that."""
        stop = self.steps_per_epoch if most is None else min(most, self.steps_per_epoch)
        if stop not in self._passes:  # building it takes 0.4 s, and every validation asks for it
            self._passes[stop] = self.feed.dataset(0, stop, device=self._device())
        return _taken(elements(self._passes[stop]), self.feed.data)

    @cached_property
    def specs(self) -> list[dict[str, tf.TensorSpec]]:
        """Of whole batches, as they are validated."""
        return self.feed.batch_specs()

    @property
    def step_specs(self) -> list[dict[str, tf.TensorSpec]]:
        """Of what one device has of them."""
        return self.specs

    def voice(self, frames: int) -> dict[str, np.ndarray] | None:
        return voice_of_feed(self.feed, frames) if isinstance(self.feed, Feed) else _first_voice(self, frames)

    def state(self, step: int) -> dict[str, Any]:
        return self.feed.state(step)

    def resume(self, state: dict[str, Any]) -> int:
        return self.feed.resume(state)

    def utterance_ids(self, step: int) -> list[str]:
        return self.feed.utterance_ids(step)

    def describe(self) -> dict[str, Any]:
        return self.feed.describe()


class PartsSource(FeedSource):
    """The same for several devices: a batch is a list of parts, one on each device of this process."""

    feed: Feed

    def __init__(self, feed: Feed, replicas: Replicas):
        super().__init__(feed)
        self._replicas = replicas

    def batches(self, start_step: int) -> Generator[list[Batch]]:
        count = self._replicas.count
        parts = [
            self.feed.batches(start_step, replica=number, replicas=count, device=staged_on(device))
            for number, device in enumerate(self._replicas.devices, self._replicas.first)
        ]
        return _side_by_side(parts)

    def _device(self) -> str | None:
        return staged_on(self._replicas.devices[0])

    def shape(self, batch: Any) -> tuple[int, int]:
        bucket = self.feed.order.buckets[int(batch[0]["bucket"])]
        return bucket.batch, bucket.frames

    @cached_property
    def step_specs(self) -> list[dict[str, tf.TensorSpec]]:
        return self.feed.batch_specs(self._replicas.count)


class DatasetSource:
    """Any other dataset, of batches like a feed's or of (tokens, mel, token lengths, frame lengths)."""

    def __init__(self, dataset: tf.data.Dataset, data: DataConfig):
        self.dataset, self._data = dataset, data
        self._spec = named(dataset.element_spec)
        length = int(dataset.cardinality())
        self.steps_per_epoch = length if length > 0 else None
        self.endless = length == tf.data.INFINITE_CARDINALITY
        log.warning("a resumed run starts a plain dataset from its beginning; a Feed resumes in place")

    def batches(self, start_step: int) -> Generator[Batch]:
        """Over and over, from its beginning whatever the step."""
        return _taken(self._endless(), self._data)

    def _endless(self) -> Generator[Batch]:
        """Begun anew in Python where batches lie on a device already; else `repeat`, which never waits for a start."""
        again = self.dataset if self.endless or self._staged else self.dataset.repeat()
        some = True
        while some:
            some = False
            for batch in again:
                some = True
                yield as_batch(batch)

    @property
    def _staged(self) -> bool:
        return not tf.data.experimental.to_variant(self.dataset).device.endswith("CPU:0")

    def one_pass(self, most: int | None = None) -> Generator[Batch]:
        if self.endless and most is None:
            raise TrainingError("the dataset for validation repeats without end: give one that ends, or .take(n) of it")
        return _taken((as_batch(batch) for batch in itertools.islice(self.dataset, most)), self._data)

    @property
    def specs(self) -> list[dict[str, tf.TensorSpec]]:
        """Its shape if it has only one; others are compiled as they come."""
        return [self._spec] if all(part.shape.is_fully_defined() for part in self._spec.values()) else []

    @property
    def step_specs(self) -> list[dict[str, tf.TensorSpec]]:
        return self.specs

    def shape(self, batch: Batch) -> tuple[int, int]:
        return shape_of(batch)

    def voice(self, frames: int) -> dict[str, np.ndarray] | None:
        return _first_voice(self, frames)

    def state(self, step: int) -> dict[str, Any]:
        return {"step": step}

    def resume(self, state: dict[str, Any]) -> int:
        return int(state["step"])

    def utterance_ids(self, step: int) -> list[str]:
        return []

    def describe(self) -> dict[str, Any]:
        return {"loader": "dataset", "steps_per_epoch": self.steps_per_epoch}


def source_of(
    data: Any, settings: DataConfig, texts: ModelDescription | None, replicas: Replicas | None = None
) -> FeedSource | DatasetSource:
    """`settings`: the trainer's. `texts`: of the model that must be able to read them; None where none does."""
    if (feed := feed_behind(data)) is not None:
        if texts is not None:
            _fit(feed, texts)
        if replicas is None:
            return FeedSource(feed)
        if isinstance(feed, Feed):
            return PartsSource(feed, replicas)
    if replicas is not None:
        raise TrainingError("several devices need packed data: run 'myxtts pack CORPUS', then train on the cache")
    if isinstance(data, tf.data.Dataset):
        return DatasetSource(data, settings)
    raise TrainingError(f"cannot train on a {type(data).__name__}: give a Feed or a tf.data.Dataset")


def _fit(feed: Feed | FileFeed, description: ModelDescription) -> None:
    """Number the languages as the model does. One that it does not know, or other symbols, would train nonsense."""
    strange = sorted(set(feed.own_languages) - set(description.languages))
    if strange:
        raise TrainingError(
            f"the data has {', '.join(strange)}, the model was built for {', '.join(description.languages)}: leave "
            "those rows out, or build the model from this data"
        )
    if any(list(table.symbols) != description.token_table[: len(table)] for table in feed.token_tables):
        raise TrainingError(
            "the data numbers its tokens differently from the model: build the model from this data, or pack it with "
            "--set data.token_table=CACHE of the data that the model was built from"
        )
    if list(feed.languages) != list(description.languages):
        feed.number_languages(description.languages)


def _taken(batches: Generator[Batch], data: DataConfig) -> Generator[Batch]:
    """Taken out ahead of the loop, unless the settings forbid to make batches ahead."""
    return ahead(batches) if data.optimize_cpu_gpu_overlap and data.prefetch_buffer_size else batches


def _side_by_side(parts: list[Generator[Batch]]) -> Generator[list[Batch]]:
    try:
        while batch := [part for part in (next(each, None) for each in parts) if part is not None]:
            yield batch
    finally:
        for each in parts:
            each.close()


def shape_of(batch: Batch) -> tuple[int, int]:
    rows, frames = (batch["mel"] if "mel" in batch else batch["audio"]).shape[:2]
    return rows, frames


def _first_voice(source: FeedSource | DatasetSource, frames: int) -> dict[str, np.ndarray] | None:
    batches = source.one_pass(1)
    batch = next(batches, None)
    batches.close()
    return None if batch is None else voice_of_batch(batch, frames)


def named(parts: Any) -> dict[str, Any]:
    """The fields of a step, for the specs of a dataset: a dict as it is, four parts by their names."""
    if isinstance(parts, dict):
        return parts
    four = _four(parts)
    rows = tf.TensorSpec(four["token_lengths"].shape, tf.int32)
    return four | {"speaker": rows, "language": rows, "weight": tf.TensorSpec(rows.shape, tf.float32)}


def as_batch(parts: Any) -> Batch:
    """The same for a batch: what a step needs, from a dict of it or from the four tensors."""
    if isinstance(parts, dict):
        return parts
    four = _four(parts)
    nobody = tf.zeros_like(four["token_lengths"], tf.int32)
    return four | {"speaker": nobody, "language": nobody, "weight": tf.ones_like(nobody, tf.float32)}


def _four(parts: Any) -> dict[str, Any]:
    if not isinstance(parts, Iterable) or len(parts := tuple(parts)) != len(_FOUR):
        count = len(parts) if isinstance(parts, tuple) else 1
        raise TrainingError(f"found batches of {count} parts, expected (tokens, mel, token lengths, frame lengths)")
    return dict(zip(_FOUR, parts, strict=True))
