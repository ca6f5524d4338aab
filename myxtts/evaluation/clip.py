"""What a judge is given and what it gives back: the same sentence spoken, real and copied, and scores of each.

Before is the same sentence by another model, which the voice is compared with, such as the one it was started from.
The copy is the real audio's mel through the same vocoder: what is lost between real and copy is the vocoder's, what is
lost between copy and synthetic is the model's.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from myxtts.features.audio import resample, to_float
from myxtts.features.mel import SAMPLE_RATE, log_mel
from myxtts.inference.vocoder import Vocoder

KINDS = SYNTHETIC, REAL, COPY, BEFORE = "synthetic", "real", "copy", "before"
SPOKEN = SYNTHETIC, BEFORE

Audio = NDArray[np.float32]
Scores = dict[str, dict[str, float]]  # measure -> kind -> value


class Sentence(NamedTuple):
    """A text and its real recording, int16 or float [samples]."""

    text: str
    audio: NDArray[Any]
    sample_rate: int = SAMPLE_RATE
    speaker: str = ""
    language: str = "en"


class Sound(Protocol):
    """What a speaker gives back; `Speech` is one."""

    @property
    def audio(self) -> Audio: ...

    @property
    def sample_rate(self) -> int: ...


@dataclass
class Clip:
    """One sentence by kind, at 22,050 Hz. Without `same_text` the recording is of the same voice, but another text."""

    text: str
    sounds: dict[str, Audio]
    speaker: str = ""
    language: str = "en"
    same_text: bool = True
    speaking_seconds: float | None = None  # how long it took to speak
    spoken_mels: dict[str, NDArray[np.float32]] = field(default_factory=dict)  # as the models made them
    heard: dict[str, str] = field(default_factory=dict)  # what a recogniser wrote down

    @cached_property
    def mels(self) -> dict[str, NDArray[np.float32]]:
        """Log-mel frames [frames, mels] by kind."""
        made = self.spoken_mels
        return {kind: log_mel(audio) for kind, audio in self.sounds.items() if kind not in made} | made


class Judge(Protocol):
    """`name` is what `--judges` calls it; what it says of a clip may be nothing."""

    name: str

    def __call__(self, clip: Clip) -> Scores: ...


def make_clip(
    spoken: Sound, sentence: Sentence, vocoder: Vocoder, same_text: bool = True, before: Sound | None = None
) -> Clip:
    said = {SYNTHETIC: spoken} if before is None else {SYNTHETIC: spoken, BEFORE: before}
    real = _at_our_rate(sentence.audio, sentence.sample_rate)
    sounds = {kind: _at_our_rate(sound.audio, sound.sample_rate) for kind, sound in said.items()}
    mels = {kind: getattr(sound, "mel", None) for kind, sound in said.items()}
    spent = sum(getattr(spoken, "timings", {}).get(name, 0.0) for name in ("mel_ms", "vocoder_ms")) / 1e3
    return Clip(
        sentence.text,
        sounds | {REAL: real, COPY: vocoder(log_mel(real))},
        sentence.speaker,
        sentence.language,
        same_text,
        spent or None,
        {kind: mel for kind, mel in mels.items() if mel is not None},
    )


def _at_our_rate(audio: NDArray[Any], rate: int) -> Audio:
    audio = to_float(audio)
    return audio if rate == SAMPLE_RATE else resample(audio, rate)
