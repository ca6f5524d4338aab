"""What the reference encoder makes of a voice, and what the rest of the model is shown of it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

# How a stranger is followed, in shares of the model's reach; measured in docs/log.md (2026-11-18 and 2026-11-19). What
# reads the text (encoder, durations) loses words far from the own voice; what draws the frames does not.
_READ_VECTOR = 0.35
_READ_TOKENS = 1.0
_DRAWN = 1.6
_EMPHASIS = 1.2  # the decoder says less of a voice than it is shown, so it is shown one this much further away
FOLLOWING = 4  # counts the ways of following: a voice that was heard in another way is not taken for one of this


class Voice(NamedTuple):
    vector: Any  # [batch, dim]; where a model follows the pitch of a reference, that is the last number
    tokens: Any  # [batch, tokens, dim]
    colour: Any = None  # log-mel [mels] to add to what is spoken, so that it has the colour of the recording
    reading_vector: Any = None  # what the text is read with; None: the same
    reading_tokens: Any = None
    octaves_up: Any = None  # what the spoken pitch lacks of that of the recording

    @property
    def reader(self) -> Voice:
        """The voice as what reads the text sees it."""
        return self if self.reading_vector is None else Voice(self.reading_vector, self.reading_tokens)


def distance(voice: Voice, other: Voice, follows_pitch: bool) -> float:
    """Between two voices, their pitch aside."""
    return float(np.linalg.norm(_flat(voice, follows_pitch) - _flat(other, follows_pitch)))


def follow(voice: Voice, own: Voice, reach: float, follows_pitch: bool) -> Voice:
    """A stranger's voice as it is spoken by a model that has learnt voices within `reach` of its own."""
    far = distance(voice, own, follows_pitch) or 1.0

    def within(share: float, emphasis: float = 1.0) -> Voice:
        return _between(own, voice, emphasis * min(1.0, share * reach / far), follows_pitch)

    return within(_DRAWN, _EMPHASIS)._replace(
        reading_vector=within(_READ_VECTOR).vector, reading_tokens=within(_READ_TOKENS).tokens
    )


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
