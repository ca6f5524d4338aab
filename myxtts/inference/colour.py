"""The colour of a recording: how its mean spectrum differs from that of the model's own voice.

Room, microphone and the length of a throat all change it, and far more between people than between the voices that a
model has learnt. So the encoder is shown a reference in the nearest colour that it knows, and what is spoken gets the
colour of the recording: neither the words nor the voice have to suffer for a colour that nobody in the training had.
How much it lacks is measured by how the voice says some sentences, because a model follows only a part of a voice. The
level of a recording is part of it, within bounds: a very quiet recording is no whisper.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from myxtts.features.mel import N_MELS
from myxtts.inference.reference import Reference

# A colour is told by cosine coefficients besides the level. The encoder is shown the first seven only as far as the
# voices that the base has learnt have them (spread 0.34, 0.17, 0.23, 0.21, 0.11, 0.18, 0.14). What is added to what is
# spoken may be finer, since that was measured. Both are chosen in docs/log.md (2026-11-19).
_SHOWN = np.array([0.35, 0.35, 0.25, 0.25, 0.15, 0.15, 0.15])
_COARSE, _FINE = len(_SHOWN), 20
_SPEECH_DEPTH = 2.0  # nepers below the loudest twentieth of the frames: there vowels are, pauses and breath are not
_MOST = 3.0  # nepers: what has more is no recording of a voice
_SOFTEST, _LOUDEST = -1.0, 2.0  # nepers of level that are followed: 22 people have -1.2 to 1.9
_WAVES = np.cos(np.pi * np.arange(1, N_MELS)[:, None] * (np.arange(N_MELS) + 0.5) / N_MELS)

Spectrum = NDArray[np.float32]


def within_colours(reference: Reference, own: Spectrum) -> Reference:
    """A recording in the nearest colour that the encoder knows, at the own voice's level."""
    level, curve = _unknown(mean_spectrum(reference.spoken), own)
    return Reference(reference.crops - level - curve, reference.lengths)


def colour_unknown(wanted: Spectrum, own: Spectrum) -> Spectrum:
    """What the encoder is not shown of a recording, with a level that is followed only so far from the own voice's."""
    level, curve = _unknown(wanted, own)
    return curve + np.clip(level, _SOFTEST, _LOUDEST)


def _unknown(spectrum: Spectrum, own: Spectrum) -> tuple[np.float32, Spectrum]:
    coefficients = _coefficients(spectrum - own, _COARSE)
    return (spectrum - own).mean(), _curve(coefficients - np.clip(coefficients, -_SHOWN, _SHOWN))


def colour_lacking(wanted: Spectrum, spoken: Spectrum, own: Spectrum, trust: float) -> Spectrum:
    """What to add to what is spoken, so that its colour is the wanted one. `trust`, 0 to 1, is how much of what is
    fine in the wanted spectrum is the voice's, and not that of the few sounds that were recorded."""
    away, own_level = wanted - spoken, (wanted - own).mean()
    coefficients = _coefficients(away, _FINE)
    coefficients[_COARSE:] *= trust
    return _curve(coefficients) + away.mean() + np.clip(own_level, _SOFTEST, _LOUDEST) - own_level


def _coefficients(away: Spectrum, count: int) -> NDArray[np.float64]:
    coefficients: NDArray[np.float64] = _WAVES[:count] @ away * 2 / N_MELS
    return coefficients


def _curve(coefficients: NDArray[np.float64]) -> Spectrum:
    """Over the bins, as smooth as the number of its coefficients allows."""
    curve: Spectrum = np.clip(coefficients @ _WAVES[: len(coefficients)], -_MOST, _MOST).astype(np.float32)
    return curve


def mean_spectrum(frames: NDArray[np.float32]) -> Spectrum:
    """Of the loud frames [mels] among some [frames, mels]."""
    level = frames.mean(axis=1)
    spectrum: Spectrum = frames[level >= np.percentile(level, 95) - _SPEECH_DEPTH].mean(axis=0)
    return spectrum
