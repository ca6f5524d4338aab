"""Small networks that learn to tell recordings from a vocoder's sound, each on spectrograms of one resolution."""

from __future__ import annotations

from typing import Any, NamedTuple

import keras
import tensorflow as tf

from myxtts.models.spectral import magnitudes

_WINDOWS = (1024, 512, 256, 128)
_CHANNELS = (16, 24, 32, 32)
_KERNELS = ((3, 9), (3, 5), (3, 5), (3, 3))  # frames x bins
_SLOPE = 0.15


class Verdicts(NamedTuple):
    """What the discriminators said of pairs of sounds: the terms of both sides' losses."""

    caught: Any  # the discriminators': small where they tell the two apart
    deceived: Any  # the vocoder's: small where they do not
    features: Any  # how unlike their inner pictures of the two are


class SpectrogramDiscriminator(keras.layers.Layer):
    """Convolutions over log magnitudes; the answer is for each region, not for the whole."""

    def __init__(self, window: int, **options: Any):
        super().__init__(**options)
        self._window = window
        self._strides = (4, 2, 2, 1, 1)  # over bins

    def build(self, input_shape: Any = None) -> None:
        spread = keras.initializers.VarianceScaling(2.0, "fan_in", "truncated_normal")
        outputs, inputs = (*_CHANNELS, 1), (1, *_CHANNELS)
        shapes = [(*kernel, a, b) for kernel, a, b in zip((*_KERNELS, (3, 3)), inputs, outputs, strict=True)]
        self.kernels = [self.add_weight(shape, spread, name=f"kernel_{n}") for n, shape in enumerate(shapes)]
        self.biases = [self.add_weight(shape[-1:], "zeros", name=f"bias_{n}") for n, shape in enumerate(shapes)]

    def call(self, audio: Any) -> tuple[Any, list[Any]]:
        """Answers [batch, frames, regions, 1], 1 for real, and the features of each layer before them."""
        x = tf.expand_dims(0.4 * (tf.math.log(magnitudes(audio, self._window, self._window // 2) + 1e-4) + 5.0), -1)
        features: list[Any] = []
        for kernel, bias, stride in zip(self.kernels, self.biases, self._strides, strict=True):
            x = tf.nn.bias_add(tf.nn.conv2d(x, kernel, [1, 1, stride, 1], "SAME"), bias)
            if len(features) < len(_CHANNELS):
                x = tf.nn.leaky_relu(x, _SLOPE)
                features.append(x)
        return x, features


class Discriminators(keras.layers.Layer):
    def __init__(self, **options: Any):
        super().__init__(**options)
        self.members = [SpectrogramDiscriminator(window, name=f"window_{window}") for window in _WINDOWS]

    def build(self, input_shape: Any = None) -> None:
        for member in self.members:
            member.build()

    def call(self, real: Any, made: Any) -> Verdicts:
        """Both sounds [batch, samples] in one pass: two backward passes share it, one for each side."""
        said = [self._judge(member, real, made) for member in self.members]
        return Verdicts(*(tf.add_n(list(terms)) / len(said) for terms in zip(*said, strict=True)))

    def _judge(self, member: SpectrogramDiscriminator, real: Any, made: Any) -> Verdicts:
        answers, features = member(tf.concat([real, made], axis=0))
        of_real, of_made = tf.split(answers, 2)
        unlike = [_unlike(*tf.split(each, 2)) for each in features]
        caught = _mean_square(of_real - 1.0) + _mean_square(of_made)
        return Verdicts(caught, _mean_square(of_made - 1.0), tf.add_n(unlike) / len(unlike))


def _unlike(real: Any, made: Any) -> Any:
    real = tf.stop_gradient(real)
    return tf.reduce_mean(tf.abs(made - real)) / (tf.reduce_mean(tf.abs(real)) + 1e-3)


def _mean_square(x: Any) -> Any:
    return tf.reduce_mean(tf.square(x))
