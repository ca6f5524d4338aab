"""The pieces every part is made of: linear maps, convolutions along time, norms led by a voice, stateless dropout.

Sequences are [batch, length, channels]; `inside` [batch, length, 1] is 1 where a sequence is and 0 where it is padded.
A layer makes its variables in `build`, which its owner calls, so that a variable's path says where it belongs.
"""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf

from myxtts.models.replica import drawn

_POLICIES = {"float32": "float32", "bfloat16": "mixed_bfloat16", "float16": "mixed_float16"}


def policy_of(precision: str) -> str:
    """Keras' name for computing in `precision` with float32 variables."""
    if precision not in _POLICIES:
        raise ValueError(f"precision is '{precision}', expected one of {', '.join(_POLICIES)}")
    return _POLICIES[precision]


def lengths_of(x: Any) -> list[Any]:
    """The dimensions of a tensor: numbers where they are known when tracing, else scalar tensors."""
    dynamic = tf.shape(x)
    return [dynamic[axis] if size is None else size for axis, size in enumerate(x.shape)]


def inside_of(lengths: Any, longest: Any) -> Any:
    """float32 [batch, longest, 1]: 1 inside a sequence of its row's length, else 0."""
    return tf.cast(tf.range(longest)[None] < tf.cast(lengths, tf.int32)[:, None], tf.float32)[..., None]


def drop(x: Any, share: float, seed: Any | None) -> Any:
    """Dropout that is a function of its seed. Without a seed, as when speaking, nothing is dropped."""
    if seed is None or share == 0:
        return x
    shape = lengths_of(x)  # channels are a multiple of 4: a random word makes four random bytes
    words = drawn(
        lambda rows: tf.random.stateless_uniform(rows, seed, None, None, tf.uint32, alg="philox"),
        [*shape[:-1], shape[-1] // 4],
    )
    kept = tf.reshape(tf.bitcast(words, tf.uint8), shape) >= round(256 * share)
    return x * (tf.cast(kept, x.dtype) * tf.cast(256 / (256 - round(256 * share)), x.dtype))


def fold(seed: Any | None, number: int) -> Any | None:
    """Another seed for each number, so that no two draws of a step are alike."""
    return None if seed is None else tf.random.experimental.stateless_fold_in(seed, number, alg="philox")


class Linear(keras.layers.Layer):
    """x W + b over the last axis. One matrix product of two dimensions, which TensorFlow fuses with the bias.

    `bias` is what b begins with; None for no bias, as before a softmax, which would not notice it.
    """

    def __init__(self, inputs: int, units: int, *, gain: float = 1.0, bias: float | None = 0.0, **options: Any):
        super().__init__(**options)
        self.inputs, self.units = inputs, units
        self._gain, self._bias = gain, bias

    def build(self, input_shape: Any = None) -> None:
        spread = keras.initializers.VarianceScaling(self._gain, "fan_in", "truncated_normal")
        self.kernel = self.add_weight((self.inputs, self.units), spread, name="kernel")
        if self._bias is not None:
            self.bias = self.add_weight((self.units,), keras.initializers.Constant(self._bias), name="bias")

    def call(self, x: Any) -> Any:
        flat = tf.matmul(tf.reshape(x, [-1, self.inputs]), self.kernel)
        if self._bias is not None:
            flat = tf.nn.bias_add(flat, self.bias)
        return tf.reshape(flat, [*lengths_of(x)[:-1], self.units])


class DepthwiseConvolution(keras.layers.Layer):
    """Each channel along time by itself.

    Forward and backward of [16, 96, 192], kernel 5, on a CPU: 2.8 CPU-ms with this op, 19 as shift-and-add, and a
    grouped convolution has no gradient there. Under XLA on a CPU it was 10-70x slower: keep XLA for GPUs.
    """

    def __init__(self, channels: int, kernel: int, **options: Any):
        super().__init__(**options)
        self._shape = (kernel, channels)

    def build(self, input_shape: Any = None) -> None:
        spread = keras.initializers.RandomNormal(stddev=self._shape[0] ** -0.5)
        self.kernel = self.add_weight(self._shape, spread, name="kernel")

    def call(self, x: Any) -> Any:
        # Not x[:, :, None]: the gradient of a slice copies the whole tensor, that of expand_dims nothing.
        kernel = tf.reshape(self.kernel, [self._shape[0], 1, self._shape[1], 1])
        return tf.squeeze(tf.nn.depthwise_conv2d(tf.expand_dims(x, 2), kernel, [1, 1, 1, 1], "SAME"), 2)


class Convolution(keras.layers.Layer):
    """Along time, then across channels.

    A full convolution of the same reach costs three times the arithmetic, and on a CPU without bfloat16 units
    `tf.nn.conv1d` in bfloat16 takes 265 CPU-ms for [16, 96, 192], kernel 3, forward and backward (19 in float32).
    """

    def __init__(self, inputs: int, units: int, kernel: int, **options: Any):
        super().__init__(**options)
        self.along = DepthwiseConvolution(inputs, kernel, name="along", dtype=self.dtype_policy)
        self.across = Linear(inputs, units, gain=2.0, name="across", dtype=self.dtype_policy)

    def build(self, input_shape: Any = None) -> None:
        self.along.build()
        self.across.build()

    def call(self, x: Any) -> Any:
        return self.across(self.along(x))


class VoiceNorm(keras.layers.Layer):
    """Brings each position to unit root mean square, then scales and shifts it as the voice [batch, dim] wants.

    Without taking the mean off first it costs 1.9 instead of 2.6 CPU-ms (shape as above). The map from the voice does
    not begin at zero: the reference encoder would get no gradient from it.
    """

    def __init__(self, channels: int, voice_dim: int, **options: Any):
        super().__init__(**options)
        self.from_voice = Linear(voice_dim, 2 * channels, gain=0.02, name="from_voice", dtype=self.dtype_policy)

    def build(self, input_shape: Any = None) -> None:
        self.from_voice.build()

    def call(self, x: Any, voice: Any) -> Any:
        scale, shift = tf.split(tf.expand_dims(self.from_voice(voice), 1), 2, axis=-1)
        power = tf.reduce_mean(tf.square(tf.cast(x, tf.float32)), axis=-1, keepdims=True)
        return x * tf.cast(tf.math.rsqrt(power + 1e-5), x.dtype) * (1 + scale) + shift


class Block(keras.layers.Layer):
    """ConvNeXt in one dimension: look along time, norm, think in a wider space, add."""

    def __init__(self, channels: int, kernel: int, expansion: int, voice_dim: int, dropout: float, **options: Any):
        super().__init__(**options)
        self._dropout = dropout
        policy = self.dtype_policy
        self.along = DepthwiseConvolution(channels, kernel, name="along", dtype=policy)
        self.norm = VoiceNorm(channels, voice_dim, name="norm", dtype=policy)
        self.expand = Linear(channels, channels * expansion, gain=2.0, name="expand", dtype=policy)
        self.contract = Linear(channels * expansion, channels, gain=0.1, name="contract", dtype=policy)

    def build(self, input_shape: Any = None) -> None:
        for layer in (self.along, self.norm, self.expand, self.contract):
            layer.build()

    def call(self, x: Any, inside: Any, voice: Any, seed: Any = None) -> Any:
        y = self.norm(self.along(x), voice)
        y = self.contract(tf.nn.relu(self.expand(y)))
        return (x + drop(y, self._dropout, seed)) * inside


class PlainBlock(keras.layers.Layer):
    """The same without a voice that leads it, and without padding: for frames that are all there."""

    def __init__(self, channels: int, kernel: int, expansion: int, **options: Any):
        super().__init__(**options)
        self._channels = channels
        self.along = DepthwiseConvolution(channels, kernel, name="along")
        self.expand = Linear(channels, channels * expansion, gain=2.0, name="expand")
        self.contract = Linear(channels * expansion, channels, gain=0.1, name="contract")

    def build(self, input_shape: Any = None) -> None:
        self.scale = self.add_weight((self._channels,), "ones", name="scale")
        for layer in (self.along, self.expand, self.contract):
            layer.build()

    def call(self, x: Any) -> Any:
        y = self.along(x)
        y = y * tf.math.rsqrt(tf.reduce_mean(tf.square(y), axis=-1, keepdims=True) + 1e-5) * self.scale
        return x + self.contract(tf.nn.relu(self.expand(y)))


class LatentAttention(keras.layers.Layer):
    """Each position takes what it needs from the few latent tokens of the voice [batch, tokens, dim], and adds it."""

    def __init__(self, channels: int, voice_dim: int, **options: Any):
        super().__init__(**options)
        policy = self.dtype_policy
        self._scale = voice_dim**-0.5
        self.query = Linear(channels, voice_dim, name="query", dtype=policy)
        self.key = Linear(voice_dim, voice_dim, bias=None, name="key", dtype=policy)
        self.value = Linear(voice_dim, channels, gain=0.1, name="value", dtype=policy)

    def build(self, input_shape: Any = None) -> None:
        for layer in (self.query, self.key, self.value):
            layer.build()

    def call(self, x: Any, inside: Any, tokens: Any) -> Any:
        fit = tf.matmul(self.query(x), self.key(tokens), transpose_b=True) * tf.cast(self._scale, x.dtype)
        return (x + tf.matmul(tf.nn.softmax(fit), self.value(tokens))) * inside
