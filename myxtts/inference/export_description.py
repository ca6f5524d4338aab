"""What an exported model is: `export.json`, and the files beside it.

export.json         format, the kind of vocoder, how its pieces overlap, the hash of every other file
model.json          the model's description, as in a checkpoint: symbols, languages, how texts are read, the mel
acoustic.onnx       tokens, language, voice, speed, pitch -> log-mel
reference.onnx      crops of recordings -> voice
excitation.onnx     log-mel of a clip -> pitch and pulses         } our own vocoder
vocoder.onnx        log-mel, pitch, pulses, noise -> sound        } (HiFi-GAN: log-mel -> sound; none: Griffin-Lim)
voice.safetensors   crops of the model's own voice, where it has one
weights.safetensors the model in half precision, which another training can start from; nobody speaks with it
LICENSE, NOTICE     of MyXTTS and of what its own weights were made from
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from myxtts.errors import CheckpointDamaged, CheckpointError
from myxtts.files import hash_file, read_regular, write_whole
from myxtts.models.vocoder_description import KINDS
from myxtts.shapes import COUNT, Each, misfit
from myxtts.version import __version__

EXPORT = "export.json"
ACOUSTIC, REFERENCE, EXCITATION, VOCODER = "acoustic.onnx", "reference.onnx", "excitation.onnx", "vocoder.onnx"
FORMAT = 2  # 2: the text is read with a vector and latents of its own
_MOST_BYTES = 1 << 20
VOCODER_KINDS = frozenset({*KINDS, "griffin-lim"})
_SHAPE = {
    "format": COUNT, "myxtts": str, "vocoder": VOCODER_KINDS, "context_frames": COUNT, "int8": bool, "files": Each(str),
}  # fmt: skip


@dataclass
class ExportDescription:
    vocoder: str  # excitation, hifigan or griffin-lim
    context_frames: int  # how far to either side the vocoder looks
    int8: bool = False
    files: dict[str, str] = field(default_factory=dict)  # name -> hash
    format: int = FORMAT
    myxtts: str = __version__

    def save(self, folder: Path) -> None:
        """Last: it holds the hashes of the files that are there."""
        self.files = {path.name: hash_file(path) for path in sorted(folder.iterdir()) if path.name != EXPORT}
        write_whole(folder / EXPORT, (json.dumps(asdict(self), indent=1) + "\n").encode())

    @classmethod
    def load(cls, folder: Path) -> ExportDescription:
        path = folder / EXPORT
        try:
            values: Any = json.loads(read_regular(path, _MOST_BYTES))
        except (OSError, ValueError, RecursionError) as error:
            raise CheckpointDamaged(f"{path} cannot be read ({error}): export the model again") from None
        if isinstance(values, dict) and type(found := values.get("format")) is int and found != FORMAT:
            cure = "upgrade MyXTTS" if found > FORMAT else "export the model again"
            raise CheckpointError(f"{path} is format {found}, this code reads {FORMAT}: {cure}")
        if unfit := misfit(values, _SHAPE):
            raise CheckpointDamaged(f"{path}: {unfit}: export the model again")
        return cls(**{name: values[name] for name in _SHAPE})

    def checked(self, folder: Path, name: str) -> Path:
        """A file of the export, which must be the one that was written."""
        path = folder / name
        if not path.is_file():
            raise CheckpointDamaged(f"{path} is missing: export the model again")
        if self.files.get(name) != hash_file(path):
            raise CheckpointDamaged(f"{path} is not what was exported (its checksum differs): export the model again")
        return path


def is_exported(path: Path) -> bool:
    """Also one that has lost its description: the weights beside its graphs are no reason to speak with TensorFlow."""
    return any((path / name).is_file() for name in (EXPORT, ACOUSTIC))
