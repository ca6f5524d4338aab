"""A voice says some sentences before anybody hears it, and what it lacks of its recording is measured and made up for.

A model follows only a part of a voice: of how far a recording's pitch is from the usual one, the base speaks two
thirds, and its colour comes out between that of the recording and its own. Once it has spoken, both can be measured.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from myxtts.inference.colour import Spectrum, colour_lacking, colour_unknown, mean_spectrum
from myxtts.inference.reference import Reference
from myxtts.models.pitch_table import mean_pitch
from myxtts.models.voice import Voice

# 12 s of English in the symbols of eSpeak, whatever the model's languages are: most sounds of any of them.
SENTENCES = (
    "ðə pˈæθ wʌz stˈiːp ænd stˈoʊni, jˈɛt ðə vjˈuː mˌeɪd ˌʌp fɔːɹ ˈɛvɹɪθˌɪŋ.",
    "maɪ fˈeɪvɚɹᵻt hˈɑːbɪz ɑːɹ nˈɪɾɪŋ, wˈiːvɪŋ, ænd ɹˈaɪɾɪŋ.",
    "nˈɛvɚ pɹˈɪnt ðə ɹᵻmˈɑːɹkəbəl lˈɛdʒənd wɪðˌaʊt ˈæskɪŋ ɐ mˈɑːdɪst kəndˈʌktɚ fˈɜːst.",
)
# Nine tenths of 102 voices lack less. The decoder draws worse the further a pitch is from the one that it is told: the
# one person of 46 who lacked 0.64 was less well understood, and less natural, with all of it.
_MOST_OCTAVES = 0.35
_LEAST_VOICED = 20  # frames, a quarter of a second: less has no pitch
# Of 0.5 s of a clip the pitch is up to 0.3 octaves and the colour 0.9 nepers away from that of all of it, of 2 s 0.06
# and 0.4, of 3 s 0.05 and 0.14: what is shorter counts in part.
_ENOUGH = 172  # frames, 2 s

Frames = NDArray[np.float32]  # log-mel [frames, mels]


def rehearse(voice: Voice, reference: Reference, own: Spectrum, say: Callable[[Voice], Frames]) -> Voice:
    """The voice with the pitch and the colour of the recording. `say` gives the frames of `SENTENCES`, or none: then
    the colour is that by which the recording differs from the model's own voice."""
    recorded = reference.spoken
    wanted = mean_spectrum(recorded)
    said = say(voice)
    if not len(said):
        return voice._replace(colour=colour_unknown(wanted, own))
    if shift := _octaves_lacking(recorded, said):
        voice = voice._replace(octaves_up=shift)
        said = say(voice)
    trust = min(1.0, len(recorded) / _ENOUGH)
    return voice._replace(colour=colour_lacking(wanted, mean_spectrum(said), own, trust))


def _octaves_lacking(recorded: Frames, said: Frames) -> float:
    wanted, spoken = mean_pitch(recorded), mean_pitch(said)
    if min(wanted.voiced_frames, spoken.voiced_frames) < _LEAST_VOICED:
        return 0.0
    lacking = float(np.clip(wanted.octaves - spoken.octaves, -_MOST_OCTAVES, _MOST_OCTAVES))
    return lacking * min(1.0, wanted.voiced_frames / _ENOUGH)
