"""The TensorFlow twin of the mel definition: the same frames from the same samples, on the device, inside the step.

Equal to `mel.log_mel` to 1e-4 of the peak magnitude, clip ends included; a test holds the two together.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from myxtts.features import mel

_HOPS_PER_FRAME = mel.FFT_SAMPLES // mel.HOP_SAMPLES


def log_mel(audio: Any, frame_lengths: Any = None) -> Any:
    """int16 or float rows [batch, frames, hop_samples] -> float32 [batch, frames, mels].

    Rows past `frame_lengths` [batch] are padding: their frames become the floor, as in a packed mel.
    """
    samples = tf.cast(audio, tf.float32) * (mel.INT16_SCALE if audio.dtype.is_integer else 1.0)
    batch, frames = tf.shape(samples)[0], tf.shape(samples)[1]
    flat = tf.reshape(samples, [batch, frames * mel.HOP_SAMPLES])
    padded = tf.pad(flat, [[0, 0], [mel.EDGE_SAMPLES, mel.EDGE_SAMPLES]])
    hops = tf.reshape(padded, [batch, frames + _HOPS_PER_FRAME - 1, mel.HOP_SAMPLES])
    # Frame n is hops n to n + 3 side by side: four slices, no gather, which XLA fuses.
    windows = tf.concat([hops[:, n : n + frames] for n in range(_HOPS_PER_FRAME)], axis=-1) * mel.hann_window()
    magnitude = tf.abs(tf.signal.rfft(windows))
    logs = tf.math.log(tf.maximum(tf.matmul(magnitude, mel.mel_filters()), mel.FLOOR))
    if frame_lengths is None:
        return logs
    inside = tf.sequence_mask(frame_lengths, frames)[..., None]
    return tf.where(inside, logs, tf.constant(mel.LOG_FLOOR, tf.float32))
