"""How sharp frames are beside the real ones, in the graph of a validation; `evaluation/sharpness.py` in TensorFlow."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

_TINY = 1e-6


def sharpness_of(made: Any, real: Any, weight: Any) -> dict[str, Any]:
    """Log-mel [batch, frames, mels] with weight [batch, frames, 1]: made over real, 1 is as sharp, less is blurred."""

    def over_real(part: Any) -> Any:
        return _spread(part(made), weight) / tf.maximum(_spread(part(real), weight), _TINY)

    return {
        "sharpness_bins": over_real(lambda mel: mel[..., 1:] - mel[..., :-1]),
        "sharpness_time": over_real(tf.identity),
    }


def _spread(values: Any, weight: Any) -> Any:
    """Standard deviation over each clip's frames, its mean over bins and, by frames, over clips."""
    frames = tf.reduce_sum(weight, axis=1, keepdims=True)
    mean = tf.reduce_sum(values * weight, axis=1, keepdims=True) / tf.maximum(frames, 1.0)
    variance = tf.reduce_sum(tf.square(values - mean) * weight, axis=1) / tf.maximum(frames[:, 0], 1.0)
    by_clip = tf.reduce_mean(tf.sqrt(variance), axis=1)
    return tf.reduce_sum(by_clip * frames[:, 0, 0]) / tf.maximum(tf.reduce_sum(frames), 1.0)
