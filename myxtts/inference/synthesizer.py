"""`Synthesizer.load(run).say(text, voice=clip)`: the door of this room, a trained model that speaks with TensorFlow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from myxtts.features.mel import N_MELS
from myxtts.inference.reference import Reference, load_reference
from myxtts.inference.request import Manner
from myxtts.inference.script import Line
from myxtts.inference.speaker import Speaker
from myxtts.models import weights
from myxtts.models.description import ModelDescription, find_checkpoint, weights_file
from myxtts.models.voice import Voice
from myxtts.models.xtts import XTTS


class Synthesizer(Speaker):
    """A trainer hands over its own model and hears its present weights."""

    def __init__(self, model: XTTS, reference: Reference | None = None):
        super().__init__(model.description, reference)
        self.model = model
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

    def encode(self, reference: Reference) -> Voice:
        heard = self._hear(reference.crops, reference.lengths)
        return Voice(heard.vector, heard.tokens)

    def _frames(self, line: Line, manner: Manner, voice: Voice) -> NDArray[np.float32] | None:
        try:
            mel, lengths, _ = self._synthesize(
                line.tokens[None],
                np.array([len(line.tokens)], np.int32),
                np.array([manner.language], np.int32),
                (voice.vector, voice.tokens, voice.reader.vector, voice.reader.tokens),
                np.float32(manner.speed),
                np.float32(manner.octaves_up),
            )
        except (tf.errors.InvalidArgumentError, tf.errors.ResourceExhaustedError, tf.errors.InternalError):
            return None
        spoken: NDArray[np.float32] = mel.numpy()[0, : int(lengths[0])]
        return spoken


def _graph(model: XTTS) -> Any:
    """The model for one text of any length in one voice: traced once, never again."""
    spec = tf.TensorSpec
    vector, latents = spec([1, None], tf.float32), spec([1, None, None], tf.float32)

    def speak(tokens: Any, lengths: Any, language: Any, voice: Any, *options: Any) -> Any:
        vector, latents, *reading = voice
        return model.synthesize(tokens, lengths, language, Voice(vector, latents, None, *reading), *options)

    signature = [
        spec([1, None], tf.int32),
        spec([1], tf.int32),
        spec([1], tf.int32),
        (vector, latents, vector, latents),
        spec([], tf.float32),
        spec([], tf.float32),
    ]
    return tf.function(speak, input_signature=signature, autograph=False)
