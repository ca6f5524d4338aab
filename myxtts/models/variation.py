"""Voices that nobody has: the colour of some rows of a batch is changed, in the clip and in its reference alike.

A few hundred synthetic voices were recorded in the same silence by the same microphone. People were not: their mean
spectra differ by twice as much (cosine coefficients of 22 people and of 20 voices of Kokoro). A model that has never
seen a reference of another colour does not follow it. Some references also get noise, which is not to be followed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from myxtts.features.mel import N_MELS
from myxtts.models.layers import fold, lengths_of
from myxtts.models.replica import drawn

# Spread of the cosine coefficients of a colour, in nepers, from the level on; as between people.
_COLOUR = (0.2, 0.5, 0.3, 0.3, 0.3, 0.15, 0.15, 0.12, 0.12, 0.1)
_NOISE_SHARE = 0.8  # of as many references as rows in other colours, but not of the same ones
_QUIETEST_NOISE, _LOUDEST_NOISE = -10.0, -6.0  # log-mel; speech has -4 in the mean, digital silence -11.5
_WHICH, _CURVES, _LEVELS, _NOISES = range(4)


def vary(batch: dict[str, Any], share: float, seed: Any) -> dict[str, Any]:
    """The batch with this share of its rows in other colours. Without references there is nobody to follow."""
    if not share or "reference" not in batch:
        return batch
    rows = lengths_of(batch["mel"])[0]
    chosen = tf.cast(_uniform(rows, fold(seed, _WHICH)) < share, tf.float32)
    colour = (_colours(rows, fold(seed, _CURVES)) * chosen[:, None])[:, None]
    return batch | {"mel": batch["mel"] + colour, "reference": _noisy(batch["reference"] + colour, rows, share, seed)}


def _noisy(reference: Any, rows: Any, share: float, seed: Any) -> Any:
    which, how_loud = tf.split(_uniform(rows, fold(seed, _LEVELS), 2), 2, axis=1)
    level = _QUIETEST_NOISE + (_LOUDEST_NOISE - _QUIETEST_NOISE) * how_loud
    noise = (level + _colours(rows, fold(seed, _NOISES)))[:, None]
    louder = tf.math.log(tf.exp(reference) + tf.exp(noise))
    return tf.where((which < _NOISE_SHARE * share)[:, None], louder, reference)


def _colours(rows: Any, seed: Any) -> Any:
    """Smooth curves over the mel bins, [rows, mels]."""
    waves = np.cos(np.pi * np.arange(len(_COLOUR))[:, None] * (np.arange(N_MELS) + 0.5) / N_MELS)
    curves = tf.constant((np.array(_COLOUR)[:, None] * waves).astype(np.float32))
    normal = drawn(lambda shape: tf.random.stateless_normal(shape, seed, alg="philox"), [rows, len(_COLOUR)])
    return tf.matmul(normal, curves)


def _uniform(rows: Any, seed: Any, columns: int | None = None) -> Any:
    shape = [rows] if columns is None else [rows, columns]
    return drawn(lambda wanted: tf.random.stateless_uniform(wanted, seed, alg="philox"), shape)
