"""`Synthesizer.load(run).say(text, voice=clip)`: the door of this room.

All sentences of a text share one voice, so a long text does not drift; each is spoken by itself, so the first can be
heard before the last is computed, and memory does not grow with the text.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from myxtts.errors import SpeechError
from myxtts.features.mel import N_MELS
from myxtts.inference.reference import CROP_FRAMES, Reference, load_reference, read_references
from myxtts.inference.script import Line, Script
from myxtts.inference.speech import Speech, add_pause, join
from myxtts.inference.vocoder import DEFAULT_VOCODER, Vocoder, find_vocoder
from myxtts.models import weights
from myxtts.models.description import ModelDescription, find_checkpoint, weights_file
from myxtts.models.reference_encoder import Voice
from myxtts.models.xtts import XTTS

FLOW_STEPS = 8
TEMPERATURE = 0.667
_SLOWEST, _FASTEST = 0.25, 4.0
_MOST_STEPS = 256

AnyVoice = str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | Voice | None


class _Request(NamedTuple):
    """Everything about a request that is the same for each of its sentences."""

    language: int
    voice: Voice
    speed: float
    steps: int
    temperature: float
    seed: int
    vocoder: Vocoder


class Synthesizer:
    """A model and what it needs to speak. A trainer hands over its own model and hears its present weights."""

    def __init__(self, model: XTTS, reference: Reference | None = None):
        self.model, self.description, self._reference = model, model.description, reference
        self._script = Script(model.description)
        self._speakers: dict[int, Any] = {}  # one graph for each number of flow steps, for texts of any length
        spec = tf.TensorSpec
        signature = [spec([None, CROP_FRAMES, N_MELS], tf.float32), spec([None], tf.int32)]
        self._hear = tf.function(model.voice, input_signature=signature, autograph=False)

    @classmethod
    def load(cls, path: Path | str) -> Synthesizer:
        """The model of a run directory (its best checkpoint), a checkpoint or an exported model."""
        folder = find_checkpoint(path)
        model = XTTS(ModelDescription.load(folder))
        weights.set_weights(model, weights.load(weights_file(folder)))
        return cls(model, load_reference(folder))

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

    def stream(
        self,
        text: str,
        voice: AnyVoice = None,
        *,
        language: str | None = None,
        speed: float = 1.0,
        steps: int | None = None,
        temperature: float = TEMPERATURE,
        seed: int = 0,
        vocoder: str = DEFAULT_VOCODER,
    ) -> Iterator[Speech]:
        """One sentence after the other, each as soon as it is done, with the pause that follows it.

        `voice` is one recording, several (which are averaged), or a `Voice` of `hear`; without it the model's own.
        `steps` are those of the flow head; without them the regression head speaks where there is one.
        The request is checked before this returns.
        """
        _check_range("speed", speed, _SLOWEST, _FASTEST)
        _check_range("temperature", temperature, 0.0, 2.0)
        wanted, sound = self._steps(steps), find_vocoder(vocoder)
        position = self._script.language(language)
        started = time.perf_counter()
        lines = self._script.lines(text, position)
        text_ms, started = _since(started), time.perf_counter()
        spoken_in = voice if isinstance(voice, Voice) else self.hear(voice)
        timings = {"text_ms": text_ms, "voice_ms": _since(started)}
        return self._speak(lines, _Request(position, spoken_in, speed, wanted, temperature, seed, sound), timings)

    def hear(self, voice: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None = None) -> Voice:
        """The voice of one or several recordings, or the model's own: hand it to `say` to hear them only once."""
        if voice is not None:
            reference = read_references(voice, self.description.audio)
        elif self._reference is not None:
            reference = self._reference
        else:
            raise SpeechError("this model has no voice of its own: give a recording of the wanted voice with --voice")
        return Voice(*self._hear(*reference))

    def _speak(self, lines: list[Line], request: _Request, timings: dict[str, float]) -> Iterator[Speech]:
        for number, line in enumerate(lines):
            started = time.perf_counter()
            mel = self._mel(line, number, request)
            mel_ms, started = _since(started), time.perf_counter()
            audio = request.vocoder(mel)
            spent = {"mel_ms": mel_ms, "vocoder_ms": _since(started)}
            yield add_pause(Speech(audio, mel, line.text, timings | spent, line.skipped), line.pause_seconds)
            timings = {}  # the text was read and the voice heard once, for the first sentence

    def _mel(self, line: Line, number: int, request: _Request) -> np.ndarray:
        if request.steps not in self._speakers:
            self._speakers[request.steps] = _graph(self.model, request.steps)
        mel, lengths, _ = self._speakers[request.steps](
            line.tokens[None],
            np.array([len(line.tokens)], np.int32),
            np.array([request.language], np.int32),
            *request.voice,
            np.float32(request.speed),
            np.float32(request.temperature),
            np.array([request.seed & 0x7FFFFFFF, number], np.int32),
        )
        return mel.numpy()[0, : int(lengths[0])]

    def _steps(self, steps: int | None) -> int:
        head = self.description.head
        if steps is None:
            return FLOW_STEPS if head == "flow" else 0
        if head == "regression":
            raise SpeechError(f"found {steps} flow steps, but this model has a regression head only: leave --steps out")
        _check_range("steps", steps, 1 if head == "flow" else 0, _MOST_STEPS)
        return int(steps)


def _graph(model: XTTS, steps: int) -> Any:
    """The model for one text of any length in one voice: traced once, never again."""
    spec = tf.TensorSpec

    def speak(tokens: Any, lengths: Any, language: Any, vector: Any, latents: Any, *options: Any) -> Any:
        speed, temperature, seed = options
        return model.synthesize(tokens, lengths, language, Voice(vector, latents), speed, steps, temperature, seed)

    signature = [
        spec([1, None], tf.int32),
        spec([1], tf.int32),
        spec([1], tf.int32),
        spec([1, None], tf.float32),
        spec([1, None, None], tf.float32),
        spec([], tf.float32),
        spec([], tf.float32),
        spec([2], tf.int32),
    ]
    return tf.function(speak, input_signature=signature, autograph=False)


def _check_range(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise SpeechError(f"found {name} {value:g}, expected {low:g} to {high:g}")


def _since(started: float) -> float:
    return (time.perf_counter() - started) * 1e3
