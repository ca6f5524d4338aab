"""From upsampled text and its pitch to mel frames."""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf

from myxtts.models.definition import HARMONIC_FEATURES, PLACE_FEATURES, STRIDE
from myxtts.models.layers import Block, LatentAttention, Linear, fold, lengths_of
from myxtts.models.sizes import Size
from myxtts.models.voice import Voice


class Decoder(keras.layers.Layer):
    """Estimates what is to be added to mu.

    hidden [batch, frames, dim], mu float32 [batch, frames, mels], place [batch, frames, 3], harmonics [batch, frames,
    mels + 2] and inside [batch, frames, 1] have an even number of frames; the answer is float32 [batch, frames, mels].
    """

    def __init__(self, size: Size, n_mels: int, **options: Any):
        super().__init__(autocast=False, **options)
        policy = self.dtype_policy
        self._n_mels = n_mels
        inputs = size.dim + n_mels + PLACE_FEATURES + HARMONIC_FEATURES
        self.enter = Linear(STRIDE * inputs, size.dim, name="enter", dtype=policy)
        self.attention = LatentAttention(size.dim, size.voice_dim, name="attention", dtype=policy)
        kind = (size.dim, size.decoder_kernel, size.expansion, size.voice_dim, size.decoder_dropout)
        self.blocks = [Block(*kind, name=f"block_{n}", dtype=policy) for n in range(size.decoder_blocks)]
        self.leave = Linear(size.dim, STRIDE * n_mels, gain=0.1, name="leave", dtype="float32")

    def build(self, input_shape: Any = None) -> None:
        parts: tuple[Any, ...] = (self.enter, self.attention, *self.blocks, self.leave)
        for layer in parts:
            layer.build()

    def call(
        self, hidden: Any, mu: Any, place: Any, harmonics: Any, inside: Any, voice: Voice, seed: Any = None
    ) -> Any:
        seen = [tf.cast(each, self.compute_dtype) for each in (hidden, mu, place, harmonics)]
        inside = tf.cast(inside[:, ::STRIDE], self.compute_dtype)
        x = self.enter(_pair(tf.concat(seen, axis=-1))) * inside
        x = self.attention(x, inside, voice.tokens)
        for number, block in enumerate(self.blocks):
            x = block(x, inside, voice.vector, fold(seed, number))
        batch, pairs, _ = lengths_of(x)
        return tf.reshape(self.leave(x), [batch, pairs * STRIDE, self._n_mels])


def _pair(x: Any) -> Any:
    """[batch, frames, channels] -> [batch, frames / 2, 2 channels]."""
    batch, frames, channels = lengths_of(x)
    return tf.reshape(x, [batch, frames // STRIDE, STRIDE * channels])
