"""What the reference encoder makes of a voice, and what the rest of the model is shown of it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Voice(NamedTuple):
    vector: Any  # [batch, dim]; where a model follows the pitch of a reference, that is the last number
    tokens: Any  # [batch, tokens, dim]
    colour: Any = None  # log-mel [mels] to add to what is spoken: what the encoder was not shown of a recording


def distance(voice: Voice, other: Voice, follows_pitch: bool) -> float:
    """Between two voices, their pitch aside."""
    return float(np.linalg.norm(_flat(voice, follows_pitch) - _flat(other, follows_pitch)))


def within_reach(voice: Voice, own: Voice, reach: float, follows_pitch: bool) -> Voice:
    """A voice as far from the model's own as voices that it has learnt, in the same direction and of the same pitch.

    Beyond that the encoder has seen nothing, and the text is spoken badly (docs/log.md, 2026-11-18).
    """
    far = distance(voice, own, follows_pitch)
    if far <= reach:
        return voice
    vector, tokens = (
        np.asarray(start, np.float32) + np.float32(reach / far) * (np.asarray(end, np.float32) - np.asarray(start))
        for start, end in ((own.vector, voice.vector), (own.tokens, voice.tokens))
    )
    if follows_pitch:
        vector[:, -1] = np.asarray(voice.vector)[:, -1]
    return Voice(vector, tokens, voice.colour)


def _flat(voice: Voice, follows_pitch: bool) -> NDArray[np.float32]:
    vector = np.asarray(voice.vector, np.float32)
    parts = vector[:, :-1] if follows_pitch else vector, np.asarray(voice.tokens, np.float32)
    return np.concatenate([part.ravel() for part in parts])
