"""How long each token lasts: predicted from its meaning and the voice, rounded so that errors do not add up."""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf

from myxtts.models.definition import LONGEST_LOG
from myxtts.models.layers import Convolution, Linear, VoiceNorm, drop, fold
from myxtts.models.sizes import Size

_USUAL_LOG = 1.4  # 4 frames per token: where the predictor begins


class DurationPredictor(keras.layers.Layer):
    """hidden [batch, tokens, dim] -> log of frames, float32 [batch, tokens].

    The hidden vectors are looked at, not shaped: no gradient goes back into the text encoder. One does go into the
    voice, whose tempo is part of it.
    """

    def __init__(self, size: Size, **options: Any):
        super().__init__(**options)
        policy, dim = self.dtype_policy, size.duration_dim
        self._dropout = size.duration_dropout
        widths = (size.dim, dim)
        self.along = [Convolution(width, dim, 5, name=f"along_{n}", dtype=policy) for n, width in enumerate(widths)]
        self.norms = [VoiceNorm(dim, size.voice_dim, name=f"norm_{n}", dtype=policy) for n in range(2)]
        self.to_log = Linear(dim, 1, gain=0.01, bias=_USUAL_LOG, name="to_log", dtype="float32")

    def build(self, input_shape: Any = None) -> None:
        parts: tuple[Any, ...] = (*self.along, *self.norms, self.to_log)
        for layer in parts:
            layer.build()

    def call(self, hidden: Any, inside: Any, voice: Any, seed: Any = None) -> Any:
        x = tf.stop_gradient(hidden)
        for number, (convolution, norm) in enumerate(zip(self.along, self.norms, strict=True)):
            x = norm(tf.nn.relu(convolution(x)), voice)
            x = drop(x, self._dropout, fold(seed, number)) * inside
        return tf.minimum(self.to_log(x)[..., 0], LONGEST_LOG)


def whole_frames(durations: Any, inside: Any) -> Any:
    """Durations in frames, float [batch, tokens], as whole numbers of at least 1; 0 where there is no token.

    Ends are rounded, not durations, so that the errors of rounding do not add up over a sentence.
    """
    ends = tf.floor(tf.cumsum(durations * inside, axis=1) + 0.5)  # tf.round would send 1.5 and 2.5 both to 2
    starts = tf.pad(ends[:, :-1], [[0, 0], [1, 0]])
    return tf.cast(tf.maximum(ends - starts, 1.0) * inside, tf.int32)
