"""`Synthesizer.load(run).say(text, voice=clip)`: the door of this room.

All sentences of a text share one voice, so a long text does not drift; each is spoken by itself, so the first can be
heard before the last is computed, and memory does not grow with the text.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from myxtts.errors import SpeechError
from myxtts.features.mel import HOP_SAMPLES, N_MELS
from myxtts.inference.reference import AnyReference, Reference, load_reference, read_voice
from myxtts.inference.request import Request, make_request
from myxtts.inference.script import Line, Script
from myxtts.inference.speech import Audio, Speech, add_pause, join, with_pause
from myxtts.models import weights
from myxtts.models.description import ModelDescription, find_checkpoint, weights_file
from myxtts.models.reference_encoder import Voice
from myxtts.models.xtts import XTTS

AnyVoice = AnyReference | Voice | None
_MUTE = (
    "the model makes no sound of this text: its weights or the voice are not what was trained; give another --voice "
    "or another checkpoint of the run"
)


class Synthesizer:
    """A model and what it needs to speak. A trainer hands over its own model and hears its present weights."""

    def __init__(self, model: XTTS, reference: Reference | None = None):
        self.model, self.description, self._reference = model, model.description, reference
        self._script = Script(model.description)
        self._synthesize = _graph(model)
        spec = tf.TensorSpec
        signature = [spec([None, self.description.reference_frames, N_MELS], tf.float32), spec([None], tf.int32)]
        self._hear = tf.function(model.voice, input_signature=signature, autograph=False)

    @classmethod
    def load(cls, path: Path | str) -> Synthesizer:
        """The model of a run directory (its best checkpoint) or of a checkpoint."""
        folder = find_checkpoint(path)
        description = ModelDescription.load(folder)
        model = XTTS(description)
        weights.set_weights(model, weights.load(weights_file(folder)))
        return cls(model, load_reference(folder, description.reference_frames))

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
        Options are those of `make_request`: language, speed, pitch, vocoder.
        The request is checked before this returns.
        """
        return self.speak(make_request(self._script, text, **options), voice)

    def speak(self, request: Request, voice: AnyVoice = None) -> Iterator[Speech]:
        """The same for a request that was checked before the model was there."""
        started = time.perf_counter()
        spoken_in = voice if isinstance(voice, Voice) else self.hear(voice)
        timings = {"text_ms": request.text_ms, "voice_ms": _since(started)}
        return self._speak(request, spoken_in, timings)

    def sound(self, text: str, voice: AnyVoice = None, **options: Any) -> Iterator[Audio]:
        """The samples of `stream` as soon as the vocoder has them, also inside a sentence. Options as there."""
        return self._sound(make_request(self._script, text, **options), voice)

    def _sound(self, request: Request, voice: AnyVoice) -> Iterator[Audio]:
        spoken_in = voice if isinstance(voice, Voice) else self.hear(voice)
        for line in request.lines:
            mel = self._mel(line, request, spoken_in)
            yield from with_pause(request.vocoder.stream(mel), len(mel) * HOP_SAMPLES, line.pause_seconds)

    def hear(self, voice: AnyReference | None = None) -> Voice:
        """The voice of one or several recordings, or the model's own: hand it to `say` to hear them only once."""
        return Voice(*self._hear(*read_voice(voice, self._reference, self.description)))

    def _speak(self, request: Request, voice: Voice, timings: dict[str, float]) -> Iterator[Speech]:
        for line in request.lines:
            started = time.perf_counter()
            mel = self._mel(line, request, voice)
            mel_ms, started = _since(started), time.perf_counter()
            audio = request.vocoder(mel)
            spent = {"mel_ms": mel_ms, "vocoder_ms": _since(started)}
            yield add_pause(Speech(audio, mel, line.text, timings | spent, line.skipped), line.pause_seconds)
            timings = {}  # the text was read and the voice heard once, for the first sentence

    def _mel(self, line: Line, request: Request, voice: Voice) -> np.ndarray:
        try:
            mel, lengths, _ = self._synthesize(
                line.tokens[None],
                np.array([len(line.tokens)], np.int32),
                np.array([request.language], np.int32),
                *voice,
                np.float32(request.speed),
                np.float32(request.octaves_up),
            )
        except (tf.errors.InvalidArgumentError, tf.errors.ResourceExhaustedError, tf.errors.InternalError):
            raise SpeechError(_MUTE) from None
        spoken = mel.numpy()[0, : int(lengths[0])]
        if not len(spoken) or not np.isfinite(spoken).all():
            raise SpeechError(_MUTE)
        return spoken


def _graph(model: XTTS) -> Any:
    """The model for one text of any length in one voice: traced once, never again."""
    spec = tf.TensorSpec

    def speak(tokens: Any, lengths: Any, language: Any, vector: Any, latents: Any, *options: Any) -> Any:
        return model.synthesize(tokens, lengths, language, Voice(vector, latents), *options)

    signature = [
        spec([1, None], tf.int32),
        spec([1], tf.int32),
        spec([1], tf.int32),
        spec([1, None], tf.float32),
        spec([1, None, None], tf.float32),
        spec([], tf.float32),
        spec([], tf.float32),
    ]
    return tf.function(speak, input_signature=signature, autograph=False)


def _since(started: float) -> float:
    return (time.perf_counter() - started) * 1e3
