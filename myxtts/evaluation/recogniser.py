"""Ears: a recogniser is anything that turns sound into text. Moonshine's tiny English one comes with its package."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from myxtts.errors import MissingExtra, SpeechError

_RATE = 16000
# Moonshine looks for speech before it listens. Of clips trimmed to their first sound it loses whole sentences now and
# then, and with 0.2 s of silence it hears a "You" before many; 1 s is long enough. On 40 recordings: WER 0.043, 0.091,
# 0.036 and 0.019 with 0, 0.2, 0.5 and 1 s.
_SILENCE_SECONDS = 1.0


class Recogniser(Protocol):
    def __call__(self, audio: NDArray[np.float32], sample_rate: int) -> str:
        """What is heard in float samples [samples]."""


def moonshine() -> Recogniser:
    """Moonshine's bundled English recogniser, about 14x real time. One clip uses every core: run one at a time."""
    try:
        from moonshine_voice import ModelArch, Transcriber
        from moonshine_voice.utils import get_model_path
    except ImportError:
        raise MissingExtra("moonshine-voice", "evaluation", "hearing how well a voice is understood") from None
    model = get_model_path("tiny-en")
    if not model.is_dir():
        raise SpeechError(
            f"{model} is missing, later releases do not bundle it: run pip install moonshine-voice==0.0.65"
        )
    return _Moonshine(Transcriber(model, ModelArch.TINY, options={"return_audio_data": "false"}))


class _Moonshine:
    def __init__(self, transcriber: Any):
        self._transcriber = transcriber

    def __call__(self, audio: NDArray[np.float32], sample_rate: int) -> str:
        import soxr

        audio = soxr.resample(np.asarray(audio, np.float32), sample_rate, _RATE)
        padded = np.pad(audio, int(_SILENCE_SECONDS * _RATE))
        found = self._transcriber.transcribe_without_streaming(padded.tolist(), _RATE)
        return " ".join(line.text.strip() for line in found.lines)
