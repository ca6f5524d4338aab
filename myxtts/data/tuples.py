"""A feed as the documented dataset: (tokens, mel, text_len, mel_len), an epoch with each iteration.

The dataset remembers the feed that it was made of. A trainer or a doctor that is given the dataset takes the feed: the
same utterances in static shapes, and the mel made on the device. By hand, `feed_behind(dataset).batches()` does so too.
"""

from __future__ import annotations

import os
from typing import Any

import tensorflow as tf

from myxtts.config.config import DataConfig
from myxtts.data.device import stage, widen
from myxtts.data.file_feed import FileFeed
from myxtts.data.pipeline import Feed


def tuples_of(feed: Feed | FileFeed, device: str | None = None) -> tf.data.Dataset:
    """(tokens int32 [B, T], mel float32 [B, F, 80], text_len int32 [B], mel_len int32 [B]), real rows only.

    Each iteration over it (`repeat` too) is the next epoch, in another order. Its length is known.
    """
    epochs = feed.epoch() if isinstance(feed, FileFeed) else _epochs(feed)
    tuples = epochs.map(_as_tuple, **_parallel(feed.data))
    tuples = tuples.apply(tf.data.experimental.assert_cardinality(feed.steps_per_epoch))
    if isinstance(feed, FileFeed):
        tuples = feed.finish(tuples, device)
    else:
        # Options do not reach out of a `flat_map`, and without the feed's own its whole cache is copied into memory.
        tuples = stage(tuples.with_options(feed.options()), device, feed.data)
    tuples.feed = feed
    tuples.cardinality = lambda: tf.constant(feed.steps_per_epoch, tf.int64)  # which the copy to a device forgets
    return tuples


def feed_behind(data: Any) -> Feed | FileFeed | None:
    """A feed itself, or that of a dataset of `tuples_of`. A dataset derived from one (`take`, `map`) has none."""
    return data if isinstance(data, Feed | FileFeed) else getattr(data, "feed", None)


def _epochs(feed: Feed) -> tf.data.Dataset:
    """The next epoch of the feed with each iteration. Only the number of the epoch is state; the feed has none."""
    started = tf.Variable(-1, dtype=tf.int64)
    first_step = tf.data.Dataset.range(1).map(lambda _: started.assign_add(1) * feed.steps_per_epoch)
    return first_step.flat_map(lambda step: feed.dataset(step, step + feed.steps_per_epoch))


def _parallel(data: DataConfig) -> dict[str, Any]:
    """Several at once and so ahead of the loop, unless the settings forbid it."""
    if not data.optimize_cpu_gpu_overlap:
        return {}
    return {"num_parallel_calls": min(data.num_workers, len(os.sched_getaffinity(0))), "deterministic": True}


@tf.autograph.experimental.do_not_convert
def _as_tuple(batch: dict[str, Any]) -> tuple[Any, Any, Any, Any]:
    """The real rows, which come first; those of weight 0 only fill up, and a tuple has no place to say so."""
    real = tf.math.count_nonzero(batch["weight"])
    rows = widen({name: field[:real] for name, field in batch.items() if field.shape.rank})
    return rows["tokens"], rows["mel"], rows["token_lengths"], rows["frame_lengths"]
