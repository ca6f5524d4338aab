"""Keeps voices apart: pieces of one speaker must sound alike to the reference encoder, pieces of two must not.

Without it the encoder learns of a voice only what the decoder asks for: one that reads the text's frames well enough
leaves it idle.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from myxtts.models.replica import all_rows, replica

_TEMPERATURE = 0.1
_FAR = -1e9


def voice_term(reference: Any, pieces: Any, speaker: Any, weight: Any) -> Any:
    """How hard it is to tell, among the references of a batch, whose voice each piece has (InfoNCE, in nats).

    Vectors [batch, dim], speaker int32 [batch], weight [batch]. Other rows of the same speaker do not count.
    """
    shown, speakers, weights, first = _of_all(_unit(reference), speaker, weight)
    fit = tf.matmul(_unit(pieces), shown, transpose_b=True) / _TEMPERATURE
    rows, columns = (tf.range(tf.shape(fit)[axis]) for axis in (0, 1))
    rows += first
    other = (speaker[:, None] != speakers[None]) & (weights[None] > 0)
    counted = other | (rows[:, None] == columns[None])
    fit = tf.where(counted, fit, _FAR)
    missed = tf.nn.sparse_softmax_cross_entropy_with_logits(rows, fit)
    return tf.reduce_sum(missed * weight) / tf.maximum(tf.reduce_sum(weight), 1.0)


def _of_all(reference: Any, speaker: Any, weight: Any) -> tuple[Any, Any, Any, Any]:
    """The same of the whole batch where it is spread over devices, and at which of its rows these begin."""
    if replica() is None:
        return reference, speaker, weight, 0
    columns = tf.stack([tf.cast(speaker, tf.float32), weight], axis=1)
    shown, first = all_rows(tf.concat([reference, columns], axis=1))
    return shown[:, :-2], tf.cast(shown[:, -2], speaker.dtype), shown[:, -1], first


def _unit(vectors: Any) -> Any:
    return tf.math.l2_normalize(tf.cast(vectors, tf.float32), axis=-1)
