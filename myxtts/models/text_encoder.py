"""From tokens to what they mean here: a hidden vector and one mel frame, `mu`, per token."""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf

from myxtts.models.layers import Block, LatentAttention, Linear, fold
from myxtts.models.sizes import Size
from myxtts.models.voice import Voice


class TextEncoder(keras.layers.Layer):
    """tokens int32 [batch, tokens], language int32 [batch] -> hidden [batch, tokens, dim], mu float32 [.., mels]."""

    def __init__(self, size: Size, symbols: int, languages: int, n_mels: int, **options: Any):
        super().__init__(**options)
        self._tables = {"symbols": (symbols, size.dim), "languages": (languages, size.dim)}
        policy = self.dtype_policy
        self.attention = LatentAttention(size.dim, size.voice_dim, name="attention", dtype=policy)
        kind = (size.dim, size.encoder_kernel, size.expansion, size.voice_dim, size.encoder_dropout)
        self.blocks = [Block(*kind, name=f"block_{n}", dtype=policy) for n in range(size.encoder_blocks)]
        self.to_mu = Linear(size.dim, n_mels, gain=0.1, name="to_mu", dtype="float32")

    def build(self, input_shape: Any = None) -> None:
        # Small numbers, scaled up in use: a gradient that passes through a product is dense, not IndexedSlices.
        spread = keras.initializers.RandomNormal(stddev=0.1)
        self.symbols = self.add_weight(self._tables["symbols"], spread, name="symbols")
        self.languages = self.add_weight(self._tables["languages"], spread, name="languages")
        parts: tuple[Any, ...] = (self.attention, *self.blocks, self.to_mu)
        for layer in parts:
            layer.build()

    def call(self, tokens: Any, inside: Any, language: Any, voice: Voice, seed: Any = None) -> tuple[Any, Any]:
        x = tf.gather(self.symbols * 10.0, tokens) + tf.gather(self.languages * 10.0, language)[:, None]
        x = self.attention(x * inside, inside, voice.tokens)
        for number, block in enumerate(self.blocks):
            x = block(x, inside, voice.vector, fold(seed, number))
        return x, self.to_mu(x)
