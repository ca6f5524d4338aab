"""A voice says some sentences before anybody hears it, and what it lacks of its recording is measured and made up for.

A model follows only a part of a voice: of how far a recording's pitch is from the usual one, the base speaks two
thirds, and its colour comes out between that of the recording and its own. Both are known exactly once it has spoken.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from myxtts.inference.colour import Spectrum, lacking, mean_spectrum, spectrum_of
from myxtts.inference.reference import Reference
from myxtts.models.pitch_table import (
    AROUND_FRAMES,
    HARDLY_VOICED,
    PULL,
    QUIET,
    UNVOICED,
    VOICED,
    matcher,
    table_octaves,
)
from myxtts.models.voice import Voice

_MOST_OCTAVES = 0.35  # nine tenths of 120 voices lack less; where more seems to be missing, one was misheard
_LEAST_VOICED = 20  # frames, a quarter of a second: of less no pitch is told
_FAINT = 1e-6

Frames = NDArray[np.float32]  # log-mel [frames, mels]


def rehearse(voice: Voice, reference: Reference, own: Spectrum, say: Callable[[Voice], Frames]) -> Voice:
    """The voice with the pitch and the colour of the recording. `say` gives the frames of some sentences, or none."""
    pitch = pitch_of(_frames_of(reference))
    said = say(voice)
    if pitch is not None and (spoken := pitch_of(said)) is not None:
        voice = voice._replace(octaves_up=float(np.clip(pitch - spoken, -_MOST_OCTAVES, _MOST_OCTAVES)))
        said = say(voice)
    return voice._replace(colour=lacking(spectrum_of(reference), mean_spectrum(said) if len(said) else own, own))


def pitch_of(frames: Frames) -> float | None:
    """The mean over the voiced frames, in octaves; None where hardly any are.

    Each frame's pitch is what `models.pitch` reads from it to half a step of the table: an octave away from what lies
    around costs fit.
    """
    if not len(frames):
        return None
    octaves = table_octaves()
    fit = _fit(frames)
    sure = np.square(np.maximum(fit.max(axis=1) - HARDLY_VOICED, 0.0)) + _FAINT
    around = _sum_around(octaves[fit.argmax(axis=1)] * sure) / _sum_around(sure)
    best = np.argmax(fit - PULL * np.abs(octaves - around[:, None]), axis=1)
    height = np.take_along_axis(fit, best[:, None], axis=1)[:, 0]
    voiced = np.clip((height - UNVOICED) / (VOICED - UNVOICED), 0.0, 1.0)
    return float(octaves[best] @ voiced / voiced.sum()) if voiced.sum() >= _LEAST_VOICED else None


def _fit(frames: Frames) -> NDArray[np.float32]:
    """How well each frame fits each pitch of the table [frames, pitches]."""
    envelope, table = matcher()
    ripple = frames @ envelope
    length = np.linalg.norm(ripple, axis=1, keepdims=True)
    fit: NDArray[np.float32] = (ripple / (length + QUIET)) @ table.T
    return fit


def _sum_around(values: NDArray[np.floating]) -> NDArray[np.float64]:
    sums = np.convolve(values, np.ones(2 * AROUND_FRAMES + 1))
    return sums[AROUND_FRAMES : AROUND_FRAMES + len(values)]


def _frames_of(reference: Reference) -> Frames:
    crops = zip(reference.crops, reference.lengths, strict=True)
    return np.concatenate([crop[:length] for crop, length in crops])
