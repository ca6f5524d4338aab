"""How natural does it sound, 1 to 5? DistillMOS (B. Stahl and H. Gamper, 2025), rebuilt here from its own weights.

Its package needs PyTorch; here only its file of weights is read, by a reader that runs nothing, and the network is
TensorFlow's. Scores differ from the package's by less than 1e-3.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from myxtts.evaluation.front_end import at_16_khz, file_in
from myxtts.models.torch_file import read_tensors

COMMAND = "pip install --no-deps distillmos==0.9.1"

_CLIP_SAMPLES = 122_880  # 7.68 s: what it was trained on; a shorter clip is padded, a longer one cut into several
_HOP_SAMPLES = 16_000  # at most, from one cut to the next
_WINDOW, _STEP = 320, 160
_HEADS = 8
_LEAK = 0.1
_EPSILON = 1e-5  # of PyTorch's normalisations

Weights = Mapping[str, NDArray[Any]]


class DistillMos:
    """audio [samples] -> its score."""

    def __init__(self) -> None:
        path = file_in("distillmos", "weights/distill_mos_v7.pt", "hearing how natural a voice sounds", COMMAND)
        self._network = tf.function(
            functools.partial(_score, read_tensors(path, under="model")),
            input_signature=[tf.TensorSpec([1, _CLIP_SAMPLES], tf.float32)],
            autograph=False,
        )

    def __call__(self, audio: NDArray[np.float32], sample_rate: int) -> float:
        return float(np.mean([self._network(cut[None]) for cut in _cuts(at_16_khz(audio, sample_rate))]))


def _cuts(audio: NDArray[np.float32]) -> list[NDArray[np.float32]]:
    """Evenly spread, each as loud as it can be."""
    audio = np.pad(audio, (0, max(_CLIP_SAMPLES - len(audio), 0)))
    over = len(audio) - _CLIP_SAMPLES
    starts = (np.linspace(0, 1, -(-over // _HOP_SAMPLES) + 1) * over).astype(int)
    cuts = [audio[start : start + _CLIP_SAMPLES] for start in starts]
    return [cut / (np.abs(cut).max() + 1e-8) for cut in cuts]


def _score(weights: Weights, audio: Any) -> Any:
    x = _convolutions(weights, _compressed_spectrum(audio))
    under = "transformer_pool_attn."
    x = _batch_norm(weights, f"{under}norm_input", x)
    x = _batch_norm(weights, f"{under}transformer.norm", x)
    x = _linear(weights, f"{under}transformer.linear_proj", x) + weights[f"{under}transformer.position_encoding.pe"]
    for layer in range(_count(weights, f"{under}transformer.transformer_encoder.layers.")):
        x = _encoder_layer(weights, f"{under}transformer.transformer_encoder.layers.{layer}.", x)
    x = _batch_norm(weights, f"{under}norm_trans", x)
    return 1.0 + 4.0 * tf.sigmoid(_pool(weights, f"{under}pool.", x))


def _compressed_spectrum(audio: Any) -> Any:
    """[batch, frames, bins, 2]: real and imaginary parts whose magnitude is taken to the power of 0.3."""
    edge = (_WINDOW - _STEP) // 2
    padded = tf.pad(audio, [[0, 0], [edge, edge]], "REFLECT")
    spectrum = tf.signal.stft(padded, _WINDOW, _STEP, _WINDOW, tf.signal.hann_window)
    magnitude = tf.maximum(tf.abs(spectrum), 1e-12)
    return tf.stack([tf.math.real(spectrum), tf.math.imag(spectrum)], axis=-1) * (magnitude**-0.7)[..., None]


def _convolutions(weights: Weights, x: Any) -> Any:
    """[batch, frames, bins, 2] -> [batch, frames / 2, channels * bins]; time is padded, frequency is not."""
    numbers = sorted(int(name.split(".")[2]) for name in weights if name.startswith("cnn.") and name.endswith("bias"))
    for n in numbers:
        kernel = weights[f"cnn.cnn.{n}.weight"].transpose(3, 2, 1, 0)  # theirs is [out, in, bins, frames]
        strides = [1, 2 if n == numbers[-1] else 1, 2 if n > 0 else 1, 1]
        x = tf.nn.conv2d(x, kernel, strides, [[0, 0], [1, 1], [0, 0], [0, 0]])
        x = tf.nn.leaky_relu(x + weights[f"cnn.cnn.{n}.bias"], _LEAK)
    batch, frames, bins, channels = x.shape
    return tf.reshape(tf.transpose(x, [0, 1, 3, 2]), [batch, frames, channels * bins])


def _encoder_layer(weights: Weights, name: str, x: Any) -> Any:
    x = _layer_norm(weights, f"{name}norm1", x + _attention(weights, f"{name}self_attn.", x))
    inner = tf.nn.relu(_linear(weights, f"{name}linear1", x))
    return _layer_norm(weights, f"{name}norm2", x + _linear(weights, f"{name}linear2", inner))


def _attention(weights: Weights, name: str, x: Any) -> Any:
    batch, frames, dim = x.shape
    all_three = x @ weights[f"{name}in_proj_weight"].T + weights[f"{name}in_proj_bias"]
    heads = tf.reshape(all_three, [batch, frames, 3, _HEADS, dim // _HEADS])
    query, key, value = tf.unstack(tf.transpose(heads, [2, 0, 3, 1, 4]))
    look = tf.nn.softmax(tf.matmul(query, key, transpose_b=True) / np.sqrt(dim / _HEADS).astype(np.float32))
    seen = tf.reshape(tf.transpose(look @ value, [0, 2, 1, 3]), [batch, frames, dim])
    return _linear(weights, f"{name}out_proj", seen)


def _pool(weights: Weights, name: str, x: Any) -> Any:
    """The mean of the frames, each as important as attention finds it: [batch, 1]."""
    important = _linear(weights, f"{name}linear2", tf.nn.relu(_linear(weights, f"{name}linear1", x)))
    return _linear(weights, f"{name}linear3", tf.reduce_sum(tf.nn.softmax(important, axis=1) * x, axis=1))


def _linear(weights: Weights, name: str, x: Any) -> Any:
    return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def _layer_norm(weights: Weights, name: str, x: Any) -> Any:
    mean, variance = tf.nn.moments(x, axes=[-1], keepdims=True)
    return (x - mean) * tf.math.rsqrt(variance + _EPSILON) * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def _batch_norm(weights: Weights, name: str, x: Any) -> Any:
    scale = weights[f"{name}.weight"] / np.sqrt(weights[f"{name}.running_var"] + np.float32(_EPSILON))
    return (x - weights[f"{name}.running_mean"]) * scale + weights[f"{name}.bias"]


def _count(weights: Weights, prefix: str) -> int:
    return len({name[len(prefix) :].partition(".")[0] for name in weights if name.startswith(prefix)})
