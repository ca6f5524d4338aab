"""From tokens to frames: who is speaking at a frame, how far along it is, and pieces of a clip to train on."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from myxtts.models.definition import TYPICAL_FRAMES
from myxtts.models.layers import lengths_of
from myxtts.models.replica import drawn


def tokens_at(durations: Any, frames: Any) -> tuple[Any, Any]:
    """For frame numbers int32 [batch, n]: the token there, int32 [batch, n], and where in it, float32 [batch, n, 3]:
    share passed, frames since its start, frames to its end. After the last token, the last token."""
    ends = tf.cumsum(durations, axis=1)
    last = tf.maximum(ends[:, -1:] - 1, 0)
    token = tf.minimum(tf.searchsorted(ends, tf.minimum(frames, last), side="right"), lengths_of(durations)[1] - 1)
    spoken, end = (tf.gather(values, token, batch_dims=1) for values in (durations, ends))
    since = tf.cast(frames - (end - spoken), tf.float32) + 0.5
    length = tf.cast(tf.maximum(spoken, 1), tf.float32)
    until = length - since
    place = tf.stack([since / length, since / TYPICAL_FRAMES, until / TYPICAL_FRAMES], axis=-1)
    return token, tf.clip_by_value(place, -4.0, 4.0)


def crop_frames(frame_lengths: Any, longest: int, length: int, seed: Any | None) -> Any:
    """Frame numbers int32 [batch, length] of one piece of each clip, from a random even frame on (0 without a seed)."""
    start = tf.zeros_like(frame_lengths)
    if seed is not None and longest > length:
        spare = tf.clip_by_value(frame_lengths - length, 0, longest - length)
        rows = [lengths_of(frame_lengths)[0]]
        share = drawn(lambda shape: tf.random.stateless_uniform(shape, seed, alg="philox"), rows)
        start = 2 * tf.cast(share * tf.cast(spare // 2 + 1, tf.float32), tf.int32)
    return start[:, None] + tf.range(length)[None]
