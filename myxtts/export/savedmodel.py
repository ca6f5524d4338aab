"""A model as a SavedModel for TensorFlow Serving: text to sound in one call, and a clip to its voice in another.

DIR/1/                   the SavedModel, version 1 as TensorFlow Serving counts
DIR/model.json           symbols, languages, how texts are read
DIR/voices.safetensors   the model's own voice as `speak` takes it: vector, latents
DIR/weights.safetensors  what another training can start from
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from myxtts.errors import SpeechError
from myxtts.export.export import GRIFFIN_LIM, copy_what_speaks, make_empty, vocoder_folder
from myxtts.features.mel import N_MELS
from myxtts.inference.neural_vocoder import load_model, sound_of
from myxtts.inference.synthesizer import Synthesizer
from myxtts.models import weights
from myxtts.models.description import find_checkpoint, weights_file
from myxtts.models.format import VOICE, WEIGHTS
from myxtts.models.voice import Voice

VOICES = "voices.safetensors"
_VERSION = "1"


def export_savedmodel(model: Path, folder: Path, vocoder: str = "neural", start: bool = True) -> list[str]:
    """Returns the names of the signatures. `start`: as in `export_onnx`."""
    sound = vocoder_folder(vocoder)
    if sound is None:
        raise SpeechError(f"a SavedModel holds networks, {GRIFFIN_LIM} is none: choose another --vocoder")
    checkpoint = find_checkpoint(model)
    speaker = Synthesizer.load(checkpoint)
    module = _Spoken(speaker, load_model(sound))
    make_empty(folder)
    signatures = {"serving_default": module.speak, "hear": module.hear}
    tf.saved_model.save(module, str(folder / _VERSION), signatures=signatures)
    copy_what_speaks(checkpoint, speaker.description, folder)
    if start:
        weights.save(folder / WEIGHTS, weights.halved(weights.load(weights_file(checkpoint))))
    if (checkpoint / VOICE).is_file():
        own = speaker.hear()
        weights.save(folder / VOICES, {"vector": np.asarray(own.vector), "latents": np.asarray(own.tokens)})
    return [*signatures]


class _Spoken(tf.Module):
    """`speak` and `hear` with the variables that they use."""

    def __init__(self, speaker: Synthesizer, vocoder: Any):
        super().__init__(name="myxtts")
        self.kept = [variable.value for part in (speaker.model, vocoder) for variable in part.variables]
        spec, frames = tf.TensorSpec, speaker.description.reference_frames
        dim = speaker.model.reference_encoder.queries.shape[1]

        def speak(tokens: Any, language: Any, vector: Any, latents: Any, speed: Any, octaves_up: Any, seed: Any) -> Any:
            lengths = tf.shape(tokens)[1:]
            voice = Voice(vector, latents)
            mel, frames, _ = speaker.model.synthesize(tokens, lengths, language, voice, speed, octaves_up)
            mel = mel[:, : frames[0]]  # without the frame that makes their number even
            return {"mel": mel, "audio": sound_of(vocoder, mel, seed)}

        def hear(reference: Any, lengths: Any) -> Any:
            voice = speaker.model.voice(reference, lengths)
            return {"vector": voice.vector, "tokens": voice.tokens}

        self.speak = tf.function(
            speak,
            input_signature=[
                spec([1, None], tf.int32, "tokens"),
                spec([1], tf.int32, "language"),
                spec([1, dim], tf.float32, "vector"),
                spec([1, None, dim], tf.float32, "latents"),
                spec([], tf.float32, "speed"),
                spec([], tf.float32, "octaves_up"),
                spec([2], tf.int64, "seed"),
            ],
            autograph=False,
        )
        self.hear = tf.function(
            hear,
            input_signature=[
                spec([None, frames, N_MELS], tf.float32, "reference"),
                spec([None], tf.int32, "lengths"),
            ],
            autograph=False,
        )
