"""Our vocoder: pulses and breath, shaped frame by frame. Log-mel in, 256 samples of sound out for each frame.

mel -> pitch -> pulses, noise        mel, pitch -> network -> a filter for each of them        filtered, added -> sound

The filters begin as the mel's own envelope and the phase as the least that such an envelope has, so the network starts
from a classic vocoder and learns what is missing.
"""

from __future__ import annotations

import functools
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from myxtts.features.mel import FFT_SAMPLES, N_MELS, SAMPLE_RATE, mel_filters
from myxtts.models.excitation import BINS, noise_of, pulses_of, samples_of, spectra_of
from myxtts.models.layers import Linear, PlainBlock, lengths_of
from myxtts.models.pitch import HARMONIC_FEATURES, harmonics_of, pitch_of

DIM, BLOCKS, KERNEL, EXPANSION = 288, 6, 7, 3
CONTEXT_FRAMES = BLOCKS * (KERNEL // 2) + 2  # how far the filters and the overlapping windows look
_CLEAR_HZ, _CLEAR_EDGE_HZ, _CLEAR_SHARE = 4000.0, 400.0, 0.95
_LOUDEST = 6.0  # natural log of a filter's gain: nothing real is louder


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
        voiced, breath = (tf.minimum(envelope + by, _LOUDEST) for by in (louder, noisier))
        phase = _through(voiced, _least_phase()) + turn
        return _polar(voiced, phase), tf.complex(tf.exp(breath), tf.zeros_like(breath))

    def shape(self, mel: Any, pitch: Any, pulses: Any, noise: Any) -> Any:
        """The sound of excited frames, without the breath that training leaves in voiced ones."""
        voiced, breath = self.filters(mel, pitch)
        heard = 1.0 - tf.minimum(2.0 * pitch[..., 1:], 1.0) * _clear()
        return samples_of(pulses * voiced + noise * breath * tf.complex(heard, tf.zeros_like(heard)))


def _polar(log_gain: Any, phase: Any) -> Any:
    gain = tf.exp(log_gain)
    return tf.complex(gain * tf.cos(phase), gain * tf.sin(phase))


def _through(x: Any, matrix: NDArray[np.float32]) -> Any:
    batch, frames, inputs = lengths_of(x)
    return tf.reshape(tf.matmul(tf.reshape(x, [-1, inputs]), matrix), [batch, frames, matrix.shape[1]])


def _envelope_of(mel: Any) -> Any:
    """The log gain that gives flat noise of power 1 a log-mel's level, along straight lines between the mel bins."""
    spread, level = _spread()
    return _through(mel, spread) - level


@functools.cache
def _spread() -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    filters = mel_filters().astype(np.float64)
    middles = (filters * np.arange(BINS)[:, None]).sum(axis=0) / filters.sum(axis=0)
    spread = np.stack([np.interp(np.arange(BINS), middles, one) for one in np.eye(N_MELS)])
    flat = 0.89 * np.sqrt(0.375 * FFT_SAMPLES)  # the mean magnitude of windowed noise
    return spread.astype(np.float32), (np.log(filters.sum(axis=0) * flat) @ spread).astype(np.float32)


@functools.cache
def _clear() -> NDArray[np.float32]:
    """[bins]: how much of its breath a voiced frame lacks, almost all below 4 kHz and none far above.

    Losses on spectrograms fill the valleys between harmonics with noise, and listeners hear it: without it the same
    weights had naturalness 3.80 instead of 3.56 (copies) and 3.26 instead of 2.98 (spoken frames). Trained without it
    they had 3.40 and 2.76: the harmonics then grow into the valleys.
    """
    hertz = np.linspace(0.0, SAMPLE_RATE / 2, BINS)
    return (_CLEAR_SHARE / (1.0 + np.exp((hertz - _CLEAR_HZ) / _CLEAR_EDGE_HZ))).astype(np.float32)


@functools.cache
def _least_phase() -> NDArray[np.float32]:
    """[bins, bins]: from log gains to the phase of the filter that has them and rings least (minimum phase)."""
    cepstra = np.fft.irfft(np.eye(BINS), axis=1)
    cepstra[:, 1 : FFT_SAMPLES // 2] *= 2.0
    cepstra[:, FFT_SAMPLES // 2 + 1 :] = 0.0
    return np.fft.rfft(cepstra, axis=1).imag.astype(np.float32)
