"""What is listened to during a run: which sentences or clips, and who judges them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from myxtts.errors import TrainingError
from myxtts.models.description import ModelDescription
from myxtts.training.copies import Copies
from myxtts.training.judging import Judging
from myxtts.training.samples import Samples


def speaks(model: Any) -> bool:
    """Whether it is a voice that is trained, not a vocoder."""
    return isinstance(model.description, ModelDescription)


def choose_samples(model: Any, source: Any, folder: Path) -> Samples | Copies:
    """Of the first batch of a source."""
    batches = source.one_pass(1)
    kind = Samples if speaks(model) else Copies
    samples = kind(model, next(batches), folder)
    batches.close()
    return samples


def choose_judges(
    model: Any, source: Any, validation: Any, voice: dict[str, np.ndarray] | None, say: Callable[[str], None]
) -> Judging:
    """Those that are installed; of the others it is said how to get them."""
    if not speaks(model):
        raise TrainingError("a vocoder does not speak texts: set training.evaluation_steps to 0")
    judging = Judging(model, source, validation, voice)
    for how in judging.missing.values():
        say(how)
    return judging
