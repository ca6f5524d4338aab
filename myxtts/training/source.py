"""Where a trainer's batches come from: a `Feed`, which any step can be asked of, or any dataset, which cannot."""

from __future__ import annotations

import logging
from collections.abc import Generator
from functools import cached_property
from typing import Any

import tensorflow as tf

from myxtts.data.ahead import ahead
from myxtts.data.device import first_gpu
from myxtts.data.pipeline import Feed
from myxtts.errors import TrainingError

log = logging.getLogger(__name__)

Batch = dict[str, Any]


class FeedSource:
    """Batches by arithmetic: going on at a step costs nothing, and the names behind a batch are known."""

    def __init__(self, feed: Feed):
        self.feed, self.steps_per_epoch = feed, feed.steps_per_epoch
        self._passes: dict[int, tf.data.Dataset] = {}

    def batches(self, start_step: int) -> Generator[Batch]:
        """From a step on, without end."""
        return self.feed.batches(start_step, device=first_gpu())

    def one_pass(self, most: int | None = None) -> Generator[Batch]:
        """Each utterance once, or the first `most` batches of that."""
        stop = self.steps_per_epoch if most is None else min(most, self.steps_per_epoch)
        if stop not in self._passes:  # building it takes 0.4 s, and every validation asks for it
            self._passes[stop] = self.feed.dataset(0, stop, device=first_gpu())
        return ahead(self._passes[stop])

    @cached_property
    def specs(self) -> list[dict[str, tf.TensorSpec]]:
        return self.feed.batch_specs()

    def state(self, step: int) -> dict[str, Any]:
        return self.feed.state(step)

    def resume(self, state: dict[str, Any]) -> int:
        return self.feed.resume(state)

    def utterance_ids(self, step: int) -> list[str]:
        return self.feed.utterance_ids(step)

    def describe(self) -> dict[str, Any]:
        return self.feed.describe()


class DatasetSource:
    """A plain dataset, of batches like a feed's or of (tokens, mel, token lengths, frame lengths)."""

    def __init__(self, dataset: tf.data.Dataset):
        self.dataset = dataset.map(as_batch)
        length = int(dataset.cardinality())
        self.steps_per_epoch = length if length > 0 else None
        self.endless = length == tf.data.INFINITE_CARDINALITY
        log.warning("a plain dataset cannot be asked for a step: a resumed run begins it anew; a Feed goes on in place")

    def batches(self, start_step: int) -> Generator[Batch]:
        """Over and over, from its beginning whatever the step."""
        return ahead(self.dataset if self.endless else self.dataset.repeat())

    def one_pass(self, most: int | None = None) -> Generator[Batch]:
        if self.endless and most is None:
            raise TrainingError("the dataset for validation repeats without end: give one that ends, or .take(n) of it")
        return ahead(self.dataset if most is None else self.dataset.take(most))

    @property
    def specs(self) -> list[dict[str, tf.TensorSpec]]:
        """Its shape if it has only one; others are compiled as they come."""
        spec = self.dataset.element_spec
        return [spec] if all(part.shape.is_fully_defined() for part in spec.values()) else []

    def state(self, step: int) -> dict[str, Any]:
        return {"step": step}

    def resume(self, state: dict[str, Any]) -> int:
        return int(state["step"])

    def utterance_ids(self, step: int) -> list[str]:
        return []

    def describe(self) -> dict[str, Any]:
        return {"loader": "dataset", "steps_per_epoch": self.steps_per_epoch}


def source_of(data: Feed | tf.data.Dataset) -> FeedSource | DatasetSource:
    if isinstance(data, Feed):
        return FeedSource(data)
    if isinstance(data, tf.data.Dataset):
        return DatasetSource(data)
    raise TrainingError(f"cannot train on a {type(data).__name__}: give a Feed or a tf.data.Dataset")


def as_batch(*parts: Any) -> Batch:
    """What a step needs, from a dict of it or from the façade's four tensors."""
    if len(parts) == 1 and isinstance(parts[0], dict):
        return parts[0]
    if len(parts) != 4:
        raise TrainingError(
            f"found batches of {len(parts)} parts, expected (tokens, mel, token lengths, frame lengths)"
        )
    tokens, mel, token_lengths, frame_lengths = parts
    nobody = tf.zeros_like(token_lengths)
    return {
        "tokens": tokens, "mel": mel, "token_lengths": token_lengths, "frame_lengths": frame_lengths,
        "speaker": nobody, "language": nobody, "weight": tf.ones_like(token_lengths, tf.float32),
    }  # fmt: skip
