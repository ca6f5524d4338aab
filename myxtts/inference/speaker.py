"""Text and voice in, sound out, whatever computes it: `Synthesizer` with TensorFlow, `Exported` with ONNX Runtime.

All sentences of a text share one voice, so a long text does not drift; each is spoken by itself, so the first can be
heard before the last is computed, and memory does not grow with the text.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myxtts.errors import SpeechError
from myxtts.features.mel import HOP_SAMPLES, LOG_FLOOR, N_MELS
from myxtts.inference.colour import Spectrum, mean_spectrum, within_colours
from myxtts.inference.reference import AnyReference, Reference, read_voice, voice_frames
from myxtts.inference.rehearsal import SENTENCES, rehearse
from myxtts.inference.request import Manner, Request, make_request
from myxtts.inference.script import Line, Script
from myxtts.inference.speech import Audio, Speech, add_pause, join, with_pause
from myxtts.inference.vocoder import DEFAULT_VOCODER, Vocoder, find_vocoder
from myxtts.models.description import ModelDescription
from myxtts.models.voice import Voice, follow

AnyVoice = AnyReference | Voice | None
_WARM_UP_TOKENS, _WARM_UP_FRAMES = 8, 32
_MUTE = (
    "the model makes no sound of this text: its weights or the voice are not what was trained; give another --voice "
    "or another checkpoint of the run"
)


class Speaker(ABC):
    """A model and what it needs to speak. `vocoder` is the one that speaks where a request names none."""

    def __init__(
        self, description: ModelDescription, reference: Reference | None, vocoder: str | Vocoder = DEFAULT_VOCODER
    ):
        self.description, self.vocoder, self._reference = description, vocoder, reference
        self._script = Script(description)
        self._own: tuple[Voice, Spectrum] | None = None  # heard once, where strangers are followed within a reach

    def warm_up(self, vocoder: str | Vocoder | None = None) -> None:
        """Do now what the first text would wait for: with TensorFlow 2.5 s of tracing, and the vocoder's weights."""
        self._script.warm_up()
        frames = self.description.reference_frames
        voice = self.encode(Reference(np.zeros([1, frames, N_MELS], np.float32), np.array([frames], np.int32)))
        self._frames(Line("", np.ones(_WARM_UP_TOKENS, np.int32), 0.0, ""), Manner(0), voice)
        find_vocoder(vocoder or self.vocoder)(np.full([_WARM_UP_FRAMES, N_MELS], LOG_FLOOR, np.float32))

    def say(self, text: str, voice: AnyVoice = None, **options: Any) -> Speech:
        """The whole text as one sound. Options as in `stream`."""
        started = time.perf_counter()
        pieces, first_ms = [], 0.0
        for piece in self.stream(text, voice, **options):
            first_ms = first_ms or _since(started)
            pieces.append(piece)
        speech = join(pieces)
        speech.timings["first_audio_ms"] = first_ms
        return speech

    def stream(self, text: str, voice: AnyVoice = None, **options: Any) -> Iterator[Speech]:
        """One sentence after the other, each as soon as it is done, with the pause that follows it.

        `voice` is one recording, several (which are averaged), or a `Voice` of `hear`; without it the model's own.
        Options are those of `make_request`: language, speed, pitch, seed, vocoder.
        The request is checked before this returns.
        """
        return self.speak(self._request(text, options), voice)

    def speak(self, request: Request, voice: AnyVoice = None) -> Iterator[Speech]:
        """The same for a request that was checked before the model was there."""
        started = time.perf_counter()
        spoken_in = voice if isinstance(voice, Voice) else self.hear(voice)
        timings = {"text_ms": request.text_ms, "voice_ms": _since(started)}
        return self._speak(request, spoken_in, timings)

    def sound(self, text: str, voice: AnyVoice = None, **options: Any) -> Iterator[Audio]:
        """The samples of `stream` as soon as the vocoder has them, also inside a sentence. Options as there."""
        return self._sound(self._request(text, options), voice)

    def hear(self, voice: AnyReference | None = None) -> Voice:
        """The voice of one or several recordings, or the model's own: hand it to `say` to hear them only once."""
        reference = read_voice(voice, self._reference, self.description)
        if voice is None or self._reference is None or not self.description.voice_reach:
            return self.encode(reference)
        (own, spectrum), heard = self._hear_own(), self.hear_within_colours(reference)
        followed = follow(heard, own, self.description.voice_reach, self.description.follows_pitch)
        return rehearse(followed, reference, spectrum, self._rehearsed)

    def hear_within_colours(self, reference: Reference) -> Voice:
        """A recording as the encoder hears it, in the nearest colour that it knows."""
        _, spectrum = self._hear_own()
        return self.encode(within_colours(reference, spectrum))

    def _hear_own(self) -> tuple[Voice, Spectrum]:
        if self._reference is None:
            raise SpeechError("this model has no voice of its own, whose colour others could be compared with")
        if self._own is None:
            self._own = self.encode(self._reference), mean_spectrum(self._reference.spoken)
        return self._own

    def _rehearsed(self, voice: Voice) -> NDArray[np.float32]:
        """The frames of sentences that nobody asked for, without those of which the model makes no sound."""
        plainly = Manner(self._script.language(None))
        lines = (self._sounding(line, plainly, voice) for line in self._script.lines_of_symbols(SENTENCES))
        spoken = [voice_frames(mel) for mel in lines if mel is not None]
        return np.concatenate([np.zeros([0, N_MELS], np.float32), *spoken])

    @abstractmethod
    def encode(self, reference: Reference) -> Voice:
        """What the model's encoder makes of a recording, be it near to what was learnt or far."""

    @abstractmethod
    def _frames(self, line: Line, manner: Manner, voice: Voice) -> NDArray[np.float32] | None:
        """Log-mel [frames, mels] of a line; None where the model cannot compute any."""

    def _request(self, text: str, options: dict[str, Any]) -> Request:
        return make_request(self._script, text, **{"vocoder": self.vocoder} | options)

    def _sound(self, request: Request, voice: AnyVoice) -> Iterator[Audio]:
        spoken_in = voice if isinstance(voice, Voice) else self.hear(voice)
        for line in request.lines:
            mel = self._mel(line, request, spoken_in)
            pieces = request.vocoder.stream(mel, seed=request.seed)
            yield from with_pause(pieces, len(mel) * HOP_SAMPLES, line.pause_seconds)

    def _speak(self, request: Request, voice: Voice, timings: dict[str, float]) -> Iterator[Speech]:
        for line in request.lines:
            started = time.perf_counter()
            mel = self._mel(line, request, voice)
            mel_ms, started = _since(started), time.perf_counter()
            audio = request.vocoder(mel, request.seed)
            spent = {"mel_ms": mel_ms, "vocoder_ms": _since(started)}
            yield add_pause(Speech(audio, mel, line.text, timings | spent, line.skipped), line.pause_seconds)
            timings = {}  # the text was read and the voice heard once, for the first sentence

    def _mel(self, line: Line, request: Request, voice: Voice) -> NDArray[np.float32]:
        spoken = self._sounding(line, request.manner, voice)
        if spoken is None:
            raise SpeechError(_MUTE)
        return spoken if voice.colour is None else np.maximum(spoken + voice.colour, np.float32(LOG_FLOOR))

    def _sounding(self, line: Line, manner: Manner, voice: Voice) -> NDArray[np.float32] | None:
        """The frames of a line at the voice's pitch, without its colour; None if they are no sound."""
        octaves_up = manner.octaves_up + float(voice.octaves_up or 0.0)
        spoken = self._frames(line, manner._replace(octaves_up=octaves_up), voice)
        return None if spoken is None or not len(spoken) or not np.isfinite(spoken).all() else spoken


def _since(started: float) -> float:
    return (time.perf_counter() - started) * 1e3
