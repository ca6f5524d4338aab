"""The colour of a recording: how its mean spectrum differs from that of the model's own voice.

Room, microphone and the length of a throat all change it, and far more between people than between the voices that a
model has learnt. So the encoder is shown a reference in the colour that it knows, and what is spoken gets the colour
of the recording: neither the words nor the voice have to suffer for a colour that nobody in the training had. How much
it lacks is measured by how the voice says some sentences, because a model follows only a part of a voice. The level of
a recording is part of it, within bounds: a very quiet recording is no whisper.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from myxtts.features.mel import N_MELS
from myxtts.inference.reference import Reference

# Cosine coefficients besides the level (docs/log.md, 2026-11-18 and 2026-11-19): what the encoder is not shown, and
# what is added to what is spoken.
_NOT_SHOWN, _ADDED = 7, 20
_SPEECH_DEPTH = 2.0  # nepers below the loudest twentieth of the frames: there vowels are, pauses and breath are not
_MOST = 3.0  # nepers: what has more is no recording of a voice
_SOFTEST, _LOUDEST = -1.0, 2.0  # nepers of level that are followed: 22 people have -1.2 to 1.9
_WAVES = np.cos(np.pi * np.arange(1, N_MELS)[:, None] * (np.arange(N_MELS) + 0.5) / N_MELS)

Spectrum = NDArray[np.float32]


def without_colour(reference: Reference, own: Spectrum) -> Reference:
    """A recording in the own voice's colour."""
    level, curve = _difference(spectrum_of(reference), own, _NOT_SHOWN)
    return Reference(reference.crops - level - curve, reference.lengths)


def lacking(wanted: Spectrum, spoken: Spectrum, own: Spectrum) -> Spectrum:
    """What to add to what is spoken, so that its colour is the wanted one; its level within bounds of the own one's."""
    level, curve = _difference(wanted, spoken, _ADDED)
    within = np.clip((wanted - own).mean(), _SOFTEST, _LOUDEST) - (wanted - own).mean()
    return curve + level + within


def _difference(spectrum: Spectrum, other: Spectrum, coefficients: int) -> tuple[np.float32, Spectrum]:
    """Level, and a curve over the bins that is as smooth as its number of coefficients allows."""
    away, waves = spectrum - other, _WAVES[:coefficients]
    curve = (waves @ away * 2 / N_MELS) @ waves
    return away.mean(), np.clip(curve, -_MOST, _MOST).astype(np.float32)


def spectrum_of(reference: Reference) -> Spectrum:
    """A recording's mean spectrum: crops of a clip overlap, and what is in two of them counts once."""
    crops = zip(reference.crops, reference.lengths, strict=True)
    return mean_spectrum(np.unique(np.concatenate([crop[:length] for crop, length in crops]), axis=0))


def mean_spectrum(frames: NDArray[np.float32]) -> Spectrum:
    """Of the loud frames [mels] among some [frames, mels]."""
    level = frames.mean(axis=1)
    spectrum: Spectrum = frames[level >= np.percentile(level, 95) - _SPEECH_DEPTH].mean(axis=0)
    return spectrum
