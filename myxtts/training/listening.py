"""What is listened to during a run: which sentences or clips, and who judges them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from myxtts.config.config import TrainingConfig
from myxtts.errors import TrainingError
from myxtts.files import write_whole
from myxtts.models.description import ModelDescription
from myxtts.training.copies import Copies
from myxtts.training.judging import Judging
from myxtts.training.samples import Samples
from myxtts.training.start_from import SCRATCH

START_SCORES = "start_scores.json"


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
    model: Any,
    source: Any,
    validation: Any,
    voice: dict[str, np.ndarray] | None,
    start: Path | None,
    say: Callable[[str], None],
) -> Judging:
    """Those that are installed; of the others it is said how to get them. They hear first what is started from, and
    what they say of that is kept in `start`."""
    if not speaks(model):
        raise TrainingError("a vocoder does not speak texts: set training.evaluation_steps to 0")
    judging = Judging(model, source, validation, voice, say)
    for how in judging.missing.values():
        say(how)
    if start is not None:
        if not start.is_file():
            write_whole(start, json.dumps(judging.hear()).encode())
        judging.start = json.loads(start.read_bytes())
    return judging


def start_scores(training: TrainingConfig, run: Path, at: int) -> Path | None:
    """Where the scores of the model are kept that a run starts from; None where there is none, or it is gone."""
    path = run / START_SCORES
    begun = training.start_from not in (None, SCRATCH)
    return path if begun and (at == 0 or path.is_file()) else None
