"""HiFi-GAN's generator (Kong, Kim and Bae, 2020), version V1: log-mel in, 256 samples of sound out for each frame.

A convolution, then four times: upsample by 8, 8, 2, 2 with a transposed convolution and take the mean of three stacks
of dilated convolutions (kernels 3, 7, 11).
"""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf

from myxtts.models.hifigan_layers import DILATIONS, KERNELS, LAST_SLOPE, RATES, SLOPE, layers


class HiFiGAN(keras.Model):
    """[batch, frames, mels] -> [batch, frames * 256], both float32."""

    def __init__(self) -> None:
        super().__init__(name="hifigan", dtype="float32")
        self._shapes = {name: shape for name, _, shape in layers()}
        self.build()

    def build(self, input_shape: Any = None) -> None:
        self._kernels = {name: self.add_weight(shape, "zeros", name=name) for name, shape in self._shapes.items()}
        self._biases = {
            name: self.add_weight((shape[-2 if name.startswith("ups") else -1],), "zeros", name=f"{name}.bias")
            for name, shape in self._shapes.items()
        }

    def call(self, mel: Any) -> Any:
        x = self._convolve(tf.cast(mel, tf.float32), "conv_pre")
        for level, rate in enumerate(RATES):
            x = self._upsample(tf.nn.leaky_relu(x, SLOPE), f"ups.{level}", rate)
            stacks = [self._stack(x, f"resblocks.{level * len(KERNELS) + n}") for n in range(len(KERNELS))]
            x = tf.add_n(stacks) / len(KERNELS)
        return tf.tanh(self._convolve(tf.nn.leaky_relu(x, LAST_SLOPE), "conv_post"))[..., 0]

    def _stack(self, x: Any, name: str) -> Any:
        for n, dilation in enumerate(DILATIONS):
            y = self._convolve(tf.nn.leaky_relu(x, SLOPE), f"{name}.convs1.{n}", dilation)
            x = x + self._convolve(tf.nn.leaky_relu(y, SLOPE), f"{name}.convs2.{n}")
        return x

    def _convolve(self, x: Any, name: str, dilation: int = 1) -> Any:
        y = tf.nn.conv1d(x, self._kernels[name], 1, "SAME", dilations=dilation)
        return tf.nn.bias_add(y, self._biases[name])

    def _upsample(self, x: Any, name: str, rate: int) -> Any:
        kernel = tf.convert_to_tensor(self._kernels[name])
        shape = [tf.shape(x)[0], tf.shape(x)[1] * rate, kernel.shape[1]]
        return tf.nn.bias_add(tf.nn.conv1d_transpose(x, kernel, shape, rate, "SAME"), self._biases[name])
