"""What a voice begins with: pulses at the pitch, and breath. Both flat in their spectrum, framed as the mel is.

A vocoder that is handed the harmonics at their places need not learn to keep a phase going from frame to frame, which
is what takes phase-predicting vocoders weeks of adversarial training.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from myxtts.features.mel import EDGE_SAMPLES, FFT_SAMPLES, HOP_SAMPLES, SAMPLE_RATE, hann_window
from myxtts.models.layers import lengths_of
from myxtts.models.pitch_table import BASE_HZ
from myxtts.models.replica import drawn
from myxtts.models.vocoder_table import NOISE_SEED, OVERLAP

_HOPS = FFT_SAMPLES // HOP_SAMPLES


def pulses_of(pitch: Any) -> Any:
    """Pulses float32 [batch, frames * hop] at a pitch [batch, frames, 2]: every harmonic below half the sampling rate,
    as strong together as white noise of power 1."""
    hertz = _every_sample(BASE_HZ * tf.pow(2.0, pitch[..., 0]))
    cycles = tf.math.floormod(tf.cumsum(tf.cast(hertz, tf.float64) / SAMPLE_RATE, axis=1), 1.0)
    angle = np.pi * (tf.cast(cycles, tf.float32) - 0.5)  # the pulse is in the middle, away from where cycles wrap
    harmonics = tf.floor(0.5 * SAMPLE_RATE / hertz)
    # The sum of `harmonics` cosines, in closed form.
    many, below = 2.0 * harmonics + 1.0, tf.sin(angle)
    peak = tf.abs(below) < 1e-5  # where the quotient is `many`
    comb = tf.where(peak, many, tf.sin(many * angle) / tf.where(peak, 1.0, below)) - 1.0
    return 0.5 * comb * tf.sqrt(2.0 / harmonics)


def noise_of(pitch: Any, seed: Any = None) -> Any:
    """White noise of power 1, as long as the pulses."""
    batch, frames, _ = lengths_of(pitch)
    used = NOISE_SEED if seed is None else seed
    return drawn(lambda shape: tf.random.stateless_normal(shape, used), [batch, frames * HOP_SAMPLES])


def spectra_of(samples: Any) -> Any:
    """complex64 [batch, frames, bins] of samples [batch, frames * hop], windowed as for the mel."""
    batch, length = lengths_of(samples)
    frames = length // HOP_SAMPLES
    padded = tf.pad(samples, [[0, 0], [EDGE_SAMPLES, EDGE_SAMPLES]])
    hops = tf.reshape(padded, [batch, frames + _HOPS - 1, HOP_SAMPLES])
    windows = tf.concat([hops[:, n : n + frames] for n in range(_HOPS)], axis=-1) * hann_window()
    return tf.signal.rfft(windows)


def samples_of(spectra: Any) -> Any:
    """Its inverse: windowed again, added where frames overlap, cut to frames * hop samples."""
    windows = tf.signal.irfft(spectra, [FFT_SAMPLES]) * hann_window()
    batch, frames, _ = lengths_of(windows)
    parts = tf.reshape(windows, [batch, frames, _HOPS, HOP_SAMPLES])
    sums = tf.add_n([tf.pad(parts[:, :, n], [[0, 0], [n, _HOPS - 1 - n], [0, 0]]) for n in range(_HOPS)])
    whole = tf.reshape(sums, [batch, (frames + _HOPS - 1) * HOP_SAMPLES])
    return whole[:, EDGE_SAMPLES : EDGE_SAMPLES + frames * HOP_SAMPLES] / OVERLAP


def _every_sample(values: Any) -> Any:
    """Frame values [batch, frames] along straight lines between the middles of their hops: [batch, frames * hop]."""
    batch, frames = lengths_of(values)
    return tf.reshape(_lines(values[..., None], HOP_SAMPLES), [batch, frames * HOP_SAMPLES])


def _lines(values: Any, steps: int) -> Any:
    """[batch, n, channels] along straight lines from one to the next: [batch, n, steps, channels]."""
    before = tf.concat([values[:, :1], values[:, :-1]], axis=1)[:, :, None]
    after = tf.concat([values[:, 1:], values[:, -1:]], axis=1)[:, :, None]
    place = ((np.arange(steps, dtype=np.float32) + 0.5) / steps - 0.5)[:, None]
    here = values[:, :, None]
    return here + np.maximum(place, 0.0) * (after - here) + np.maximum(-place, 0.0) * (before - here)
