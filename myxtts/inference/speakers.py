"""Which program speaks for a folder: an exported model needs ONNX Runtime, a run or a checkpoint TensorFlow."""

from __future__ import annotations

from pathlib import Path

from myxtts.errors import SpeechError
from myxtts.inference.export_description import is_exported
from myxtts.inference.speaker import Speaker
from myxtts.inference.vocoder import Vocoder
from myxtts.models.description import find_checkpoint


def find_speaker(path: Path | str) -> Path:
    """The folder of an exported model, or of the checkpoint that a run directory means."""
    if is_exported(Path(path)):
        return Path(path)
    if any(Path(path).glob("*/saved_model.pb")):
        raise SpeechError(
            f"{path} is a SavedModel, which TensorFlow Serving speaks: give the run that it was made of, or export "
            "that as ONNX; a training can start from this one (--from)"
        )
    return find_checkpoint(path)


def load_speaker(folder: Path, vocoder: Vocoder | None = None) -> Speaker:
    """Of a folder that `find_speaker` found, ready to speak with this vocoder (or its default) without more delay."""
    speaker = _loaded(folder)
    speaker.warm_up(vocoder)
    return speaker


def _loaded(folder: Path) -> Speaker:
    if is_exported(folder):
        from myxtts.inference.exported import Exported

        return Exported.load(folder)
    from myxtts.inference.synthesizer import Synthesizer

    return Synthesizer.load(folder)
