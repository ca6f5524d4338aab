"""The models that come with the package: a voice to start from and the vocoder. See docs/model-card.md."""

from __future__ import annotations

from pathlib import Path

from myxtts.errors import CheckpointError
from myxtts.models.format import MODEL

BASE, VOCODER = "base", "vocoder"
_FOLDER = Path(__file__).parent.parent / "weights"


def shipped(name: str) -> Path:
    folder = _FOLDER / name
    if not (folder / MODEL).is_file():
        raise CheckpointError(f"{folder} is missing: install MyXTTS again")
    return folder
