"""The colour of a recording: how its mean spectrum differs from that of the model's own voice.

Room, microphone and the length of a throat all change it, and far more between people than between the voices that a
model has learnt. So the encoder is shown a reference in the colour that it knows, and what was taken away is added to
what is spoken: neither the words nor the voice have to suffer for a colour that nobody in the training had. The level
of a recording is part of it, within bounds: a very quiet recording is no whisper.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from myxtts.features.mel import N_MELS
from myxtts.inference.reference import Reference

# Cosine coefficients besides the level; 5 follow less, 12 and 20 no better (docs/log.md, 2026-11-18).
_COEFFICIENTS = 7
_SPEECH_DEPTH = 2.0  # nepers below the loudest twentieth of the frames: there vowels are, pauses and breath are not
_MOST = 3.0  # nepers: what has more is no recording of a voice
_SOFTEST, _LOUDEST = -1.0, 2.0  # nepers of level that are followed: 22 people have -1.2 to 1.9
_WAVES = np.cos(np.pi * np.arange(1, _COEFFICIENTS + 1)[:, None] * (np.arange(N_MELS) + 0.5) / N_MELS)

Spectrum = NDArray[np.float32]


class Colour(NamedTuple):
    level: np.float32  # nepers
    curve: Spectrum  # nepers [mels], without the level

    @property
    def followed(self) -> Spectrum:
        """What is added to the spoken frames."""
        return self.curve + np.clip(self.level, _SOFTEST, _LOUDEST)


def colour_of(spectrum: Spectrum, own: Spectrum) -> Colour:
    """How one mean spectrum differs from another: smoothly, and by its level."""
    away = spectrum - own
    coefficients = _WAVES @ away * 2 / N_MELS
    return Colour(away.mean(), np.clip(coefficients @ _WAVES, -_MOST, _MOST).astype(np.float32))


def without_colour(reference: Reference, colour: Colour) -> Reference:
    return Reference(reference.crops - colour.level - colour.curve, reference.lengths)


def mean_spectrum(reference: Reference) -> Spectrum:
    """Of its loud frames [mels], each once: crops of a clip overlap, and what is in two of them would count twice."""
    crops = zip(reference.crops, reference.lengths, strict=True)
    frames = np.unique(np.concatenate([crop[:length] for crop, length in crops]), axis=0)
    level = frames.mean(axis=1)
    spectrum: Spectrum = frames[level >= np.percentile(level, 95) - _SPEECH_DEPTH].mean(axis=0)
    return spectrum
