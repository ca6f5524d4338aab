"""The vocoder of an exported model, by ONNX Runtime: the samples that TensorFlow makes, to within 1e-3."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myxtts.features.mel import HOP_SAMPLES
from myxtts.inference.export_description import EXCITATION, VOCODER, ExportDescription
from myxtts.inference.noise import white_noise
from myxtts.inference.onnx_session import open_session
from myxtts.models.vocoder_description import OURS
from myxtts.models.vocoder_table import noise_seed

Audio = NDArray[np.float32]


def load_network(folder: Path) -> ExportedVocoder | ExportedHiFiGAN:
    export = ExportDescription.load(folder)
    shape = open_session(export.checked(folder, VOCODER))
    if export.vocoder != OURS:
        return ExportedHiFiGAN(shape, export.context_frames)
    return ExportedVocoder(open_session(export.checked(folder, EXCITATION)), shape, export.context_frames)


class ExportedVocoder:
    """Pitch and pulses of the whole clip at once; their shaping piece by piece."""

    def __init__(self, excite: Any, shape: Any, context_frames: int):
        self._excite, self._shape, self._context = excite, shape, context_frames

    def pieces(self, mel: NDArray[Any], chunk_frames: int, seed: int | None = None) -> Iterator[Audio]:
        mel = np.ascontiguousarray(mel, np.float32)
        pitch, pulses = self._excite.run(None, {"mel": mel})
        noise = white_noise(len(pulses), noise_seed(seed))
        for frames, samples, kept in _pieces(len(mel), chunk_frames, self._context):
            values = {"mel": mel[frames], "pitch": pitch[frames], "pulses": pulses[samples], "noise": noise[samples]}
            yield self._shape.run(None, values)[0][kept]


class ExportedHiFiGAN:
    def __init__(self, shape: Any, context_frames: int):
        self._shape, self._context = shape, context_frames

    def pieces(self, mel: NDArray[Any], chunk_frames: int) -> Iterator[Audio]:
        for frames, _, kept in _pieces(len(mel), chunk_frames, self._context):
            yield self._shape.run(None, {"mel": np.ascontiguousarray(mel[frames], np.float32)})[0][kept]


def _pieces(length: int, chunk_frames: int, context: int) -> Iterator[tuple[slice, slice, slice]]:
    """For each piece: its frames with those around it, their samples, and which of the samples made are the piece's."""
    for start in range(0, length, chunk_frames):
        first, end = max(start - context, 0), min(start + chunk_frames, length)
        last = min(end + context, length)
        kept = slice((start - first) * HOP_SAMPLES, (end - first) * HOP_SAMPLES)
        yield slice(first, last), slice(first * HOP_SAMPLES, last * HOP_SAMPLES), kept
