"""Keeps voices apart: pieces of one speaker must sound alike to the reference encoder, pieces of two must not.

Without it the encoder learns of a voice only what the decoder asks for: one that reads the text's frames well enough
leaves it idle.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

_TEMPERATURE = 0.1
_FAR = -1e9


def voice_term(reference: Any, pieces: Any, speaker: Any, weight: Any) -> Any:
    """How hard it is to tell, among the references of a batch, whose voice each piece has (InfoNCE, in nats).

    Vectors [batch, dim], speaker int32 [batch], weight [batch]. Other rows of the same speaker do not count.
    """
    fit = tf.matmul(_unit(pieces), _unit(reference), transpose_b=True) / _TEMPERATURE
    rows = tf.range(tf.shape(fit)[0])
    other = (speaker[:, None] != speaker[None]) & (weight[None] > 0)
    counted = other | (rows[:, None] == rows[None])
    fit = tf.where(counted, fit, _FAR)
    missed = tf.nn.sparse_softmax_cross_entropy_with_logits(rows, fit)
    return tf.reduce_sum(missed * weight) / tf.maximum(tf.reduce_sum(weight), 1.0)


def _unit(vectors: Any) -> Any:
    return tf.math.l2_normalize(tf.cast(vectors, tf.float32), axis=-1)
