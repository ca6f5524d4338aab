"""From a few seconds of a voice to what is constant in it: one vector, and a few latent tokens to look things up in."""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf

from myxtts.models.definition import PATCH_FRAMES
from myxtts.models.layers import Convolution, Linear, inside_of, lengths_of
from myxtts.models.sizes import Size
from myxtts.models.voice import Voice

_FAR = -1e9


class ReferenceEncoder(keras.layers.Layer):
    """reference [batch, frames, mels] (normalised), lengths int32 [batch] -> Voice."""

    def __init__(self, size: Size, n_mels: int, **options: Any):
        super().__init__(**options)
        dim, policy = size.voice_dim, self.dtype_policy
        self._n_mels, self._dim, self._tokens = n_mels, dim, size.latent_tokens
        self.patches = Linear(PATCH_FRAMES * n_mels, dim, gain=2.0, name="patches", dtype=policy)
        self.along = [Convolution(dim, dim, 5, name=f"along_{n}", dtype=policy) for n in range(2)]
        self.importance = Linear(dim, 1, bias=None, name="importance", dtype="float32")
        self.to_vector = Linear(2 * dim, dim, name="to_vector", dtype="float32")
        self.to_tokens = Linear(dim, dim, name="to_tokens", dtype="float32")

    def build(self, input_shape: Any = None) -> None:
        spread = keras.initializers.RandomNormal(stddev=1.0)
        self.queries = self.add_weight((self._tokens, self._dim), spread, name="queries")
        parts: tuple[Any, ...] = (self.patches, *self.along, self.importance, self.to_vector, self.to_tokens)
        for layer in parts:
            layer.build()

    def call(self, reference: Any, lengths: Any) -> Voice:
        x, inside = self._patch(reference, lengths)
        x = tf.nn.relu(self.patches(x)) * inside
        for convolution in self.along:
            x = (x + tf.nn.relu(convolution(x))) * inside
        return self._pool(tf.cast(x, tf.float32), tf.cast(inside, tf.float32))

    def _patch(self, reference: Any, lengths: Any) -> tuple[Any, Any]:
        """Groups of frames as one position each, and which positions hold at least one frame."""
        batch, frames, _ = lengths_of(reference)
        reference *= tf.cast(inside_of(lengths, frames), reference.dtype)
        reference = tf.pad(reference, [[0, 0], [0, -frames % PATCH_FRAMES], [0, 0]])
        positions = (frames + PATCH_FRAMES - 1) // PATCH_FRAMES
        x = tf.reshape(reference, [batch, positions, PATCH_FRAMES * self._n_mels])
        filled = (tf.cast(lengths, tf.int32) + PATCH_FRAMES - 1) // PATCH_FRAMES
        return x, tf.cast(inside_of(filled, positions), x.dtype)

    def _pool(self, x: Any, inside: Any) -> Voice:
        """Attention over time: mean and spread for the vector, one learnt question per latent token."""
        share = tf.nn.softmax(self.importance(x) + (1 - inside) * _FAR, axis=1)
        mean = tf.reduce_sum(share * x, axis=1)
        spread = tf.sqrt(tf.reduce_sum(share * tf.square(x - mean[:, None]), axis=1) + 1e-5)
        vector = self.to_vector(tf.concat([mean, spread], axis=-1))
        queries = tf.cast(self.queries, tf.float32) * self._dim**-0.5
        fit = tf.einsum("bpd,kd->bkp", x, queries) + tf.transpose(1 - inside, [0, 2, 1]) * _FAR
        return Voice(vector, self.to_tokens(tf.matmul(tf.nn.softmax(fit), x)))
