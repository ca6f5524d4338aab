"""A small network that learns to tell real mel frames from the decoder's, so that it need not blur what it cannot know.

Both have the same text, voice, durations and pitch: what tells them apart is how sharp they are. It trains beside the
model, is kept in its checkpoint, and is not needed to speak.
"""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf

from myxtts.models.discriminators import Verdicts

_CHANNELS = (16, 32, 32, 32)
_KERNELS = ((3, 9), (3, 5), (3, 5), (3, 3), (3, 3))  # frames x bins
_STRIDES = ((1, 2), (2, 2), (2, 2), (1, 1), (1, 1))
_SLOPE = 0.15


class FrameDiscriminator(keras.layers.Layer):
    def build(self, input_shape: Any = None) -> None:
        spread = keras.initializers.VarianceScaling(2.0, "fan_in", "truncated_normal")
        channels = zip(_KERNELS, (1, *_CHANNELS), (*_CHANNELS, 1), strict=True)
        shapes = [(*kernel, inputs, outputs) for kernel, inputs, outputs in channels]
        self.kernels = [self.add_weight(shape, spread, name=f"kernel_{n}") for n, shape in enumerate(shapes)]
        self.biases = [self.add_weight(shape[-1:], "zeros", name=f"bias_{n}") for n, shape in enumerate(shapes)]

    def call(self, real: Any, made: Any, weight: Any) -> Verdicts:
        """Of pieces [batch, frames, mels], zero where there is nothing to judge; `weight` [batch] of the rows."""
        answers, features = self._look(tf.concat([real, made], axis=0))
        of_real, of_made = tf.split(answers, 2)
        unlike = [_unlike(*tf.split(each, 2)) for each in features]
        terms = Verdicts(
            caught=_each(tf.square(of_real - 1.0)) + _each(tf.square(of_made)),
            deceived=_each(tf.square(of_made - 1.0)),
            features=tf.add_n(unlike) / len(unlike),
        )
        return Verdicts(*(tf.reduce_sum(term * weight) / tf.maximum(tf.reduce_sum(weight), 1.0) for term in terms))

    def _look(self, frames: Any) -> tuple[Any, list[Any]]:
        """Answers for each region, 1 for real, and the features of each layer before them."""
        x, features = tf.expand_dims(frames, -1), list[Any]()
        for kernel, bias, strides in zip(self.kernels, self.biases, _STRIDES, strict=True):
            x = tf.nn.bias_add(tf.nn.conv2d(x, kernel, [1, *strides, 1], "SAME"), bias)
            if len(features) < len(_CHANNELS):
                x = tf.nn.leaky_relu(x, _SLOPE)
                features.append(x)
        return x, features


def _unlike(real: Any, made: Any) -> Any:
    real = tf.stop_gradient(real)
    return _each(tf.abs(made - real)) / (_each(tf.abs(real)) + 1e-3)


def _each(x: Any) -> Any:
    """The mean of each row."""
    return tf.reduce_mean(x, axis=[1, 2, 3])
