"""The colour of a recording: how its mean spectrum differs from that of the model's own voice.

Room, microphone and the length of a throat all change it, and far more between people than between the voices that a
model has learnt. So the encoder is shown a reference in the colour that it knows, and what was taken away is added to
what is spoken: neither the words nor the voice have to suffer for a colour that nobody in the training had.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from myxtts.features.mel import N_MELS
from myxtts.inference.reference import Reference

# Cosine coefficients, the level among them; 5 follow less, 12 and 20 no better (docs/log.md, 2026-11-18).
_COEFFICIENTS = 8
_SPEECH_DEPTH = 2.0  # nepers below the loudest twentieth of the frames: there vowels are, pauses and breath are not
_MOST = 3.0  # nepers: what has more is no recording of a voice
_WAVES = np.cos(np.pi * np.arange(_COEFFICIENTS)[:, None] * (np.arange(N_MELS) + 0.5) / N_MELS)


def colour_of(reference: Reference, own: Reference) -> NDArray[np.float32]:
    """A smooth curve over the mel bins, in nepers [mels]."""
    away = _mean_spectrum(reference) - _mean_spectrum(own)
    coefficients = _WAVES @ away / np.square(_WAVES).sum(axis=1)
    return np.clip(coefficients @ _WAVES, -_MOST, _MOST).astype(np.float32)


def without_colour(reference: Reference, colour: NDArray[np.float32]) -> Reference:
    return Reference(reference.crops - colour, reference.lengths)


def _mean_spectrum(reference: Reference) -> NDArray[np.float32]:
    """Of its loud frames, each once: crops of a clip overlap, and what is in two of them would count twice."""
    crops = zip(reference.crops, reference.lengths, strict=True)
    frames = np.unique(np.concatenate([crop[:length] for crop, length in crops]), axis=0)
    level = frames.mean(axis=1)
    spectrum: NDArray[np.float32] = frames[level >= np.percentile(level, 95) - _SPEECH_DEPTH].mean(axis=0)
    return spectrum
