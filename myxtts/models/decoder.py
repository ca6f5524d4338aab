"""From upsampled text to mel: one backbone, and on it a regression head, a conditional flow matching head, or both."""

from __future__ import annotations

import math
from typing import Any

import keras
import tensorflow as tf

from myxtts.models.layers import Block, LatentAttention, Linear, fold, lengths_of
from myxtts.models.reference_encoder import Voice
from myxtts.models.sizes import Size

STRIDE = 2  # frames per decoder position: half the work, and a frame pair of 23 ms is still short for a phone
_PLACE_FEATURES = 3
_TIME_WAVES = 32


class Decoder(keras.layers.Layer):
    """Estimates frames or, with `time`, the flow's velocity, both as what is to be added to mu.

    hidden [batch, frames, dim], mu and noisy float32 [batch, frames, mels], place [batch, frames, 3] and
    inside [batch, frames, 1] have an even number of frames; the answer is float32 [batch, frames, mels].
    """

    def __init__(self, size: Size, n_mels: int, head: str, **options: Any):
        super().__init__(autocast=False, **options)  # half a precision would blur `time`; the layers inside cast
        policy = self.dtype_policy
        self.head, self._n_mels, self._voice_dim = head, n_mels, size.voice_dim
        inputs = size.dim + n_mels + _PLACE_FEATURES + (n_mels if head != "regression" else 0)
        self.enter = Linear(STRIDE * inputs, size.dim, name="enter", dtype=policy)
        self.attention = LatentAttention(size.dim, size.voice_dim, name="attention", dtype=policy)
        kind = (size.dim, size.decoder_kernel, size.expansion, size.voice_dim, size.decoder_dropout)
        self.blocks = [Block(*kind, name=f"block_{n}", dtype=policy) for n in range(size.decoder_blocks)]
        self.leave = Linear(size.dim, STRIDE * n_mels, gain=0.1, name="leave", dtype="float32")
        if head != "regression":
            self.time_in = Linear(2 * _TIME_WAVES, size.voice_dim, gain=2.0, name="time_in", dtype="float32")
            self.time_out = Linear(size.voice_dim, size.voice_dim, name="time_out", dtype="float32")

    def build(self, input_shape: Any = None) -> None:
        if self.head == "both":
            spread = keras.initializers.RandomNormal(stddev=0.1)
            self.timeless = self.add_weight((self._voice_dim,), spread, autocast=False, name="timeless")
        clock = [] if self.head == "regression" else [self.time_in, self.time_out]
        parts: tuple[Any, ...] = (self.enter, self.attention, *self.blocks, self.leave, *clock)
        for layer in parts:
            layer.build()

    def call(
        self, hidden: Any, mu: Any, place: Any, inside: Any, voice: Voice, noisy: Any = None, time: Any = None,
        seed: Any = None,
    ) -> Any:  # fmt: skip
        seen = [hidden, mu, place]
        if self.head != "regression":
            seen.append(tf.zeros_like(mu) if noisy is None else noisy)
        seen = [tf.cast(each, self.compute_dtype) for each in seen]
        inside = tf.cast(inside[:, ::STRIDE], self.compute_dtype)
        x = self.enter(_pair(tf.concat(seen, axis=-1))) * inside
        x = self.attention(x, inside, voice.tokens)
        vector = voice.vector + self._moment(time)
        for number, block in enumerate(self.blocks):
            x = block(x, inside, vector, fold(seed, number))
        batch, pairs, _ = lengths_of(x)
        return tf.reshape(self.leave(x), [batch, pairs * STRIDE, self._n_mels])

    def _moment(self, time: Any | None) -> Any:
        """What is added to the voice vector: the moment of the flow, [batch, dim]; for the regression its own mark."""
        if time is None:
            return self.timeless[None] if self.head == "both" else 0.0
        waves = tf.exp(tf.range(_TIME_WAVES, dtype=tf.float32) * (-math.log(1000.0) / (_TIME_WAVES - 1))) * 1000.0
        angles = time[:, None] * waves[None]
        return self.time_out(tf.nn.relu(self.time_in(tf.concat([tf.sin(angles), tf.cos(angles)], axis=-1))))


def _pair(x: Any) -> Any:
    """[batch, frames, channels] -> [batch, frames / 2, 2 channels]."""
    batch, frames, channels = lengths_of(x)
    return tf.reshape(x, [batch, frames // STRIDE, STRIDE * channels])
