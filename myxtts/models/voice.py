"""What the reference encoder makes of a voice, and what the rest of the model is shown of it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

# How a stranger is followed; the numbers are in docs/log.md (2026-11-18). What reads the text (encoder, durations) sees
# its voice within this share of the model's reach: further away words are lost. What draws the frames (pitch, decoder)
# does not lose them, and says less of a voice than it is shown: it sees it this much further from the model's own.
_READ, _DRAWN, _EMPHASIS = 0.6, 1.6, 1.2
FOLLOWING = 2  # counts the ways of following: a voice that was heard in another way is not taken for one of this


class Voice(NamedTuple):
    vector: Any  # [batch, dim]; where a model follows the pitch of a reference, that is the last number
    tokens: Any  # [batch, tokens, dim]
    colour: Any = None  # log-mel [mels] to add to what is spoken: what the encoder was not shown of a recording
    reading: Any = None  # [batch, dim]: the vector that the text is read with; None: the same

    @property
    def reader(self) -> Voice:
        """The voice as what reads the text sees it."""
        return self if self.reading is None else self._replace(vector=self.reading)


def distance(voice: Voice, other: Voice, follows_pitch: bool) -> float:
    """Between two voices, their pitch aside."""
    return float(np.linalg.norm(_flat(voice, follows_pitch) - _flat(other, follows_pitch)))


def follow(voice: Voice, own: Voice, reach: float, follows_pitch: bool) -> Voice:
    """A stranger's voice as a model can speak it that has learnt voices within a reach of its own."""
    far = distance(voice, own, follows_pitch) or 1.0
    read, drawn = min(1.0, _READ * reach / far), _EMPHASIS * min(1.0, _DRAWN * reach / far)
    return _between(own, voice, drawn, follows_pitch)._replace(reading=_between(own, voice, read, follows_pitch).vector)


def _between(own: Voice, voice: Voice, share: float, follows_pitch: bool) -> Voice:
    """So far on the way from the own voice to another; its pitch stays."""
    vector, tokens = (
        np.asarray(start, np.float32) + np.float32(share) * (np.asarray(end, np.float32) - np.asarray(start))
        for start, end in ((own.vector, voice.vector), (own.tokens, voice.tokens))
    )
    if follows_pitch:
        vector[:, -1] = np.asarray(voice.vector)[:, -1]
    return voice._replace(vector=vector, tokens=tokens)


def _flat(voice: Voice, follows_pitch: bool) -> NDArray[np.float32]:
    vector = np.asarray(voice.vector, np.float32)
    parts = vector[:, :-1] if follows_pitch else vector, np.asarray(voice.tokens, np.float32)
    return np.concatenate([part.ravel() for part in parts])
