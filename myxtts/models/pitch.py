"""Pitch: read from mel frames, predicted from a text, and shown to the decoder as the harmonics it would have.

One table holds the ripple that each pitch's harmonics leave in a log-mel frame. Matched against a frame it tells the
pitch, which costs one matrix product; looked up for a pitch it tells where the harmonics are. Measured against the
autocorrelation of the audio on two human voices and two shifted synthetic ones: median distance 5 to 8 cents, 0.0 to
2.6 % of the voiced frames further away than a fifth of an octave. So no cache holds a pitch, and every mel has one.

A pitch is [batch, frames, 2]: octaves from 220 Hz, and how voiced the frame is, 0 to 1.
"""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from myxtts.models.layers import Block, Linear, fold, lengths_of
from myxtts.models.pitch_table import (
    AROUND_FRAMES,
    HARDLY_VOICED,
    LOWEST,
    NEAR_FRAMES,
    PULL,
    QUIET,
    STEPS,
    TYPICAL_OCTAVES,
    UNVOICED,
    USUAL_OCTAVES,
    USUAL_WEIGHT,
    VOICED,
    matcher,
    ripples,
    table_octaves,
)
from myxtts.models.sizes import Size
from myxtts.models.voice import Voice


def pitch_of(log_mel: Any, inside: Any) -> Any:
    """The pitch of log-mel frames float32 [batch, frames, mels], of which those `inside` [batch, frames, 1] count."""
    fit, octaves, inside = _fit(log_mel), tf.constant(table_octaves()), inside[..., 0]
    first = tf.gather(octaves, tf.argmax(fit, axis=-1))
    sure = tf.square(tf.maximum(tf.reduce_max(fit, axis=-1) - HARDLY_VOICED, 0.0)) + 1e-6
    around = _mean_around(first, sure * inside, np.ones(2 * AROUND_FRAMES + 1))
    best = tf.argmax(fit - PULL * tf.abs(octaves - around[..., None]), axis=-1)
    height = (tf.gather(fit, best, batch_dims=2) - UNVOICED) / (VOICED - UNVOICED)
    voiced = tf.clip_by_value(height, 0.0, 1.0) * inside
    own = tf.gather(octaves, best) + _between(fit, best) / STEPS
    near = _mean_around(own, (tf.square(voiced) + 1e-4) * inside, np.hanning(2 * NEAR_FRAMES + 3)[1:-1])
    return tf.stack([voiced * own + (1.0 - voiced) * near, voiced], axis=-1)


def typical_pitch(log_mel: Any, inside: Any) -> Any:
    """The pitch that a voice mostly has, octaves float32 [batch, 1]: a mean in which sure frames near it count most."""
    fit = _fit(log_mel)
    octaves = tf.gather(tf.constant(table_octaves()), tf.argmax(fit, axis=-1))
    sure = tf.square(tf.maximum(tf.reduce_max(fit, axis=-1) - HARDLY_VOICED, 0.0)) * inside[..., 0]
    middle = _usual(octaves, sure)
    return _usual(octaves, sure * tf.exp(-tf.square((octaves - middle) / TYPICAL_OCTAVES)))


def _usual(octaves: Any, weights: Any) -> Any:
    """The weighted mean over frames, drawn to a usual voice where hardly any frame has weight."""
    top = tf.reduce_sum(octaves * weights, axis=1, keepdims=True) + USUAL_WEIGHT * USUAL_OCTAVES
    return top / (tf.reduce_sum(weights, axis=1, keepdims=True) + USUAL_WEIGHT)


def harmonics_of(pitch: Any) -> Any:
    """What the decoder sees of a pitch: the ripple of its harmonics, as strong as it is voiced, and the pitch itself.

    float32 [batch, frames, HARMONIC_FEATURES of definition.py]
    """
    table = tf.constant(ripples())
    octaves, voiced = pitch[..., 0], pitch[..., 1:]
    place = tf.clip_by_value((octaves - LOWEST) * STEPS, 0.0, len(ripples()) - 1.001)
    below = tf.floor(
        tf.where(tf.math.is_finite(place), place, 0.0)
    )  # a NaN is no row, and shows in what it is added to
    share, row = (place - below)[..., None], tf.cast(below, tf.int32)
    ripple = tf.gather(table, row) * (1.0 - share) + tf.gather(table, row + 1) * share
    return tf.concat([ripple * voiced, octaves[..., None] * voiced, voiced], axis=-1)


def _fit(log_mel: Any) -> Any:
    """How well each frame fits each pitch of the table, [batch, frames, pitches]."""
    envelope, table = matcher()
    ripple = tf.einsum("bfm,mk->bfk", log_mel, envelope)
    return tf.einsum("bfk,pk->bfp", ripple / (tf.norm(ripple, axis=-1, keepdims=True) + QUIET), table)


def _between(fit: Any, best: Any) -> Any:
    """How many steps the top of a parabola through three fits lies from the best of them."""
    inner = tf.clip_by_value(best, 1, len(table_octaves()) - 2)
    low, middle, high = (tf.gather(fit, inner + by, batch_dims=2) for by in (-1, 0, 1))
    return tf.clip_by_value(0.5 * (low - high) / tf.minimum(low - 2.0 * middle + high, -1e-6), -0.5, 0.5)


def _mean_around(values: Any, weights: Any, kernel: NDArray[Any]) -> Any:
    """The weighted mean of the frames around each frame: all [batch, frames]."""
    both = tf.stack([values * weights, weights], axis=-1)
    batch, frames, _ = lengths_of(both)
    flat = tf.reshape(tf.transpose(both, [0, 2, 1]), [2 * batch, frames, 1])
    sums = tf.nn.conv1d(flat, kernel.astype(np.float32)[:, None, None], 1, "SAME")
    top, bottom = tf.unstack(tf.reshape(sums, [batch, 2, frames]), axis=1)
    return top / tf.maximum(bottom, 1e-9)


class PitchPredictor(keras.layers.Layer):
    """hidden [batch, frames, dim], place [batch, frames, n] -> octaves and logit of voicing, float32 [batch, frames].

    Frames come in pairs, as in the decoder. As with durations, no gradient goes back into the text encoder.
    """

    def __init__(self, size: Size, place_features: int, stride: int, **options: Any):
        super().__init__(autocast=False, **options)
        policy, dim = self.dtype_policy, size.duration_dim
        self._stride = stride
        self.enter = Linear(stride * (size.dim + place_features), dim, name="enter", dtype=policy)
        kind = (dim, 9, 2, size.voice_dim, size.encoder_dropout)
        self.blocks = [Block(*kind, name=f"block_{n}", dtype=policy) for n in range(3)]
        self.leave = Linear(dim, 2 * stride, gain=0.1, name="leave", dtype="float32")

    def build(self, input_shape: Any = None) -> None:
        parts: tuple[Any, ...] = (self.enter, *self.blocks, self.leave)
        for layer in parts:
            layer.build()

    def call(self, hidden: Any, place: Any, inside: Any, voice: Voice, seed: Any = None) -> tuple[Any, Any]:
        seen = [tf.cast(each, self.compute_dtype) for each in (tf.stop_gradient(hidden), place)]
        x = tf.concat(seen, axis=-1)
        batch, frames, channels = lengths_of(x)
        inside = tf.cast(inside[:, :: self._stride], self.compute_dtype)
        x = self.enter(tf.reshape(x, [batch, frames // self._stride, self._stride * channels])) * inside
        for number, block in enumerate(self.blocks):
            x = block(x, inside, voice.vector, fold(seed, number))
        made = tf.reshape(self.leave(x), [batch, frames, 2])
        return made[..., 0], made[..., 1]


def pitch_terms(octaves: Any, logit: Any, true: Any, weight: Any) -> dict[str, Any]:
    """How far the predicted pitch is away, in octaves, where there is one, and how sure its voicing; weight [.., 1].

    Means over all frames, so that a batch in parts has the gradient of the whole.
    """
    voiced, weight = true[..., 1], weight[..., 0]
    away = tf.abs(octaves - true[..., 0]) * voiced * weight
    unsure = tf.nn.sigmoid_cross_entropy_with_logits(voiced, logit) * weight
    total = tf.maximum(tf.reduce_sum(weight), 1.0)
    return {"pitch": tf.reduce_sum(away) / total, "voicing": tf.reduce_sum(unsure) / total}
