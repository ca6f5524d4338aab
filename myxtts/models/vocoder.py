"""Our vocoder: pulses and breath, shaped frame by frame. Log-mel in, 256 samples of sound out for each frame.

mel -> pitch -> pulses, noise        mel, pitch -> network -> a filter for each of them        filtered, added -> sound

The filters begin as the mel's own envelope and the phase as the least that such an envelope has, so the network starts
from a classic vocoder and learns what is missing.
"""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from myxtts.features.mel import N_MELS
from myxtts.models.definition import HARMONIC_FEATURES
from myxtts.models.excitation import noise_of, pulses_of, samples_of, spectra_of
from myxtts.models.layers import Linear, PlainBlock, lengths_of
from myxtts.models.pitch import harmonics_of, pitch_of
from myxtts.models.vocoder_table import BINS, BLOCKS, DIM, EXPANSION, KERNEL, LOUDEST, clear, least_phase, spread


class Vocoder(keras.Model):
    """`call(mel)` is the sound; `excite` and `shape` are its halves, for sound that is made piece by piece."""

    def __init__(self) -> None:
        super().__init__(name="vocoder", dtype="float32")
        self.enter = Linear(N_MELS + HARMONIC_FEATURES, DIM, name="enter")
        self.blocks = [PlainBlock(DIM, KERNEL, EXPANSION, name=f"block_{n}") for n in range(BLOCKS)]
        self.leave = Linear(DIM, 3 * BINS, gain=0.01, name="leave")
        self.build()

    def build(self, input_shape: Any = None) -> None:
        parts: tuple[Any, ...] = (self.enter, *self.blocks, self.leave)
        for layer in parts:
            layer.build()

    def call(self, mel: Any) -> Any:
        """[batch, frames, mels] -> [batch, frames * 256]."""
        pitch = self.pitch(mel)
        return self.shape(mel, pitch, *self.excite(pitch))

    def pitch(self, mel: Any) -> Any:
        return pitch_of(mel, tf.ones_like(mel[..., :1]))

    def excite(self, pitch: Any, seed: Any = None) -> tuple[Any, Any]:
        """Spectra of pulses and noise [batch, frames, bins]. The pulses run through, so of a whole clip at once."""
        return spectra_of(pulses_of(pitch)), spectra_of(noise_of(pitch, seed))

    def filters(self, mel: Any, pitch: Any) -> tuple[Any, Any]:
        """complex64 [batch, frames, bins] for the pulses and for the noise."""
        x = self.enter(tf.concat([0.5 * (mel + 5.0), harmonics_of(pitch)], axis=-1))
        for block in self.blocks:
            x = block(x)
        louder, noisier, turn = tf.split(self.leave(x), 3, axis=-1)
        envelope = _envelope_of(mel)
        voiced, breath = (tf.minimum(envelope + by, LOUDEST) for by in (louder, noisier))
        phase = _through(voiced, least_phase()) + turn
        return _polar(voiced, phase), tf.complex(tf.exp(breath), tf.zeros_like(breath))

    def shape(self, mel: Any, pitch: Any, pulses: Any, noise: Any) -> Any:
        """The sound of excited frames, without the breath that training leaves in voiced ones."""
        voiced, breath = self.filters(mel, pitch)
        heard = 1.0 - tf.minimum(2.0 * pitch[..., 1:], 1.0) * clear()
        return samples_of(pulses * voiced + noise * breath * tf.complex(heard, tf.zeros_like(heard)))


def _polar(log_gain: Any, phase: Any) -> Any:
    gain = tf.exp(log_gain)
    return tf.complex(gain * tf.cos(phase), gain * tf.sin(phase))


def _through(x: Any, matrix: NDArray[np.float32]) -> Any:
    batch, frames, inputs = lengths_of(x)
    return tf.reshape(tf.matmul(tf.reshape(x, [-1, inputs]), matrix), [batch, frames, matrix.shape[1]])


def _envelope_of(mel: Any) -> Any:
    """The log gain that gives flat noise of power 1 a log-mel's level, along straight lines between the mel bins."""
    lines, level = spread()
    return _through(mel, lines) - level
