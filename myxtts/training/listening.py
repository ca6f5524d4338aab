"""What is listened to during a run: which sentences or clips, and who judges them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from myxtts.config.config import TrainingConfig
from myxtts.errors import TrainingError
from myxtts.evaluation.judges import JUDGES
from myxtts.files import write_whole
from myxtts.models.description import ModelDescription
from myxtts.training.copies import Copies
from myxtts.training.judging import GUARDS, Judging, held_back
from myxtts.training.run_log import START_SCORES
from myxtts.training.samples import Samples
from myxtts.training.start_from import SCRATCH

_GUARD_STEPS = 1000


def speaks(model: Any) -> bool:
    """Whether it is a voice that is trained, not a vocoder."""
    return isinstance(model.description, ModelDescription)


def starts_from_another(training: TrainingConfig) -> bool:
    return training.start_from not in (None, SCRATCH)


def choose_samples(model: Any, source: Any, folder: Path) -> Samples | Copies:
    """Of the first batch of a source."""
    batches = source.one_pass(1)
    kind = Samples if speaks(model) else Copies
    samples = kind(model, next(batches), folder)
    batches.close()
    return samples


def judge_steps(training: TrainingConfig, model: Any, source: Any, validation: Any) -> int:
    """How often judges hear the voice. Where it is not given: one that starts from another, which could become worse,
    if sentences are held back."""
    if training.evaluation_steps is not None:
        return training.evaluation_steps
    return _GUARD_STEPS if starts_from_another(training) and speaks(model) and held_back(source, validation) else 0


def choose_judges(
    training: TrainingConfig,
    model: Any,
    source: Any,
    validation: Any,
    voice: dict[str, np.ndarray] | None,
    start: Path | None,
    say: Callable[[str], None],
) -> Judging | None:
    """Those that are installed; of the others it is said how to get them. They hear first what is started from, and
    what they say of that is kept in `start`. Where nobody asked for judges, they are the guards."""
    if not speaks(model):
        raise TrainingError("a vocoder does not speak texts: set training.evaluation_steps to 0")
    among = GUARDS if training.evaluation_steps is None else tuple(JUDGES)
    judging = Judging(model, source, validation, voice, say, among)
    for how in judging.missing.values():
        say(how)
    if not judging.judges:
        return None
    if start is not None:
        if not start.is_file():
            write_whole(start, json.dumps(judging.hear()).encode())
        judging.start = json.loads(start.read_bytes())
    return judging


def start_scores(training: TrainingConfig, run: Path, at: int) -> Path | None:
    """Where the scores of the model are kept that a run starts from; None where there is none, or it is gone."""
    path = run / START_SCORES
    return path if starts_from_another(training) and (at == 0 or path.is_file()) else None
