"""`Exported.load(folder).say(text)`: an exported model speaks with ONNX Runtime. TensorFlow is never imported."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from myxtts.inference.export_description import ACOUSTIC, REFERENCE, ExportDescription
from myxtts.inference.onnx_session import compute, open_session
from myxtts.inference.reference import Reference, load_reference
from myxtts.inference.request import Manner
from myxtts.inference.script import Line
from myxtts.inference.speaker import Speaker
from myxtts.inference.vocoder import default_vocoder
from myxtts.models.description import ModelDescription
from myxtts.models.voice import Voice


class Exported(Speaker):
    def __init__(self, folder: Path):
        export, description = ExportDescription.load(folder), ModelDescription.load(folder)
        super().__init__(description, load_reference(folder, description.reference_frames), default_vocoder(folder))
        self._acoustic = open_session(export.checked(folder, ACOUSTIC))
        self._reference_encoder = open_session(export.checked(folder, REFERENCE))

    @classmethod
    def load(cls, folder: Path | str) -> Exported:
        return cls(Path(folder))

    def encode(self, reference: Reference) -> Voice:
        values = {"reference": reference.crops, "lengths": reference.lengths.astype(np.int64)}
        vector, latents = self._reference_encoder.run(None, values)
        return Voice(vector, latents[None])

    def _frames(self, line: Line, manner: Manner, voice: Voice) -> NDArray[np.float32] | None:
        values = {
            "tokens": line.tokens.astype(np.int64),
            "language": np.array([manner.language], np.int64),
            "vector": np.asarray(voice.vector, np.float32),
            "latents": np.asarray(voice.tokens, np.float32)[0],
            "reading_vector": np.asarray(voice.reader.vector, np.float32),
            "reading_latents": np.asarray(voice.reader.tokens, np.float32)[0],
            "speed": np.array([manner.speed], np.float32),
            "octaves_up": np.array([manner.octaves_up], np.float32),
        }
        outputs = compute(self._acoustic, values)
        return None if outputs is None else outputs[0]
