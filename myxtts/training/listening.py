"""What is listened to during a run: which sentences or clips, and who judges them."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from myxtts.config.config import TrainingConfig
from myxtts.errors import TrainingError
from myxtts.evaluation.clip import Scores
from myxtts.files import write_whole
from myxtts.models.description import ModelDescription
from myxtts.training.complaints import GUARDS
from myxtts.training.copies import Copies
from myxtts.training.judging import CANNOT_HEAR, Judging, check_is_heard, held_back
from myxtts.training.run_log import START_SCORES
from myxtts.training.samples import Samples
from myxtts.training.start_from import starts_from_another

log = logging.getLogger(__name__)

_GUARD_STEPS = 1000  # at least: hearing takes 5 s, as 30 steps of the small model do on two cores
_UNGUARDED = "nobody watches whether this voice becomes worse than what it starts from"


class Begun(NamedTuple):
    """A run, and the step that it goes on from."""

    run: Path
    step: int


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


def judge_steps(training: TrainingConfig, model: Any, source: Any, validation: Any) -> int:
    """How often judges hear the voice. Where it is not given: one that starts from another, which could become worse,
    if sentences are held back; with every so many of the validations, whose best they may refuse."""
    if training.evaluation_steps is not None:
        return training.evaluation_steps
    if not (starts_from_another(training) and speaks(model) and held_back(source, validation)):
        return 0
    return -(-_GUARD_STEPS // training.validation_steps) * training.validation_steps


def choose_judges(
    training: TrainingConfig,
    model: Any,
    source: Any,
    validation: Any,
    voice: dict[str, np.ndarray] | None,
    begun: Begun,
    say: Callable[[str], None],
) -> Judging | None:
    """Those that are installed; of the others it is said how to get them. They hear first what is started from. None
    where nobody is to hear.

    Where nobody asked for judges they guard the voice, and what keeps them from it does not keep it from training."""
    if not judge_steps(training, model, source, validation):
        if training.evaluation_steps is None and starts_from_another(training) and speaks(model):
            say(f"{_UNGUARDED}: no sentences of it are held back")
        return None
    if not speaks(model):
        raise TrainingError("a vocoder does not speak texts: set training.evaluation_steps to 0")
    hearing = partial(Judging, model, source, validation, voice, say)
    if training.evaluation_steps is not None:
        judging = hearing()
        for how in judging.missing.values():
            say(how)
        check_is_heard(training.best_by, judging)
        judging.start = _start_scores(judging, training, begun) if starts_from_another(training) else {}
        return judging
    try:
        return _guard(hearing(GUARDS), training, begun, say)
    except CANNOT_HEAR as error:
        log.debug("why no judge can hear", exc_info=True)
        say(f"{_UNGUARDED}: {error}")
        return None


def forget_start(run: Path) -> None:
    """What is left of a beginning that was given up: this one may start from another model."""
    for path in (run / START_SCORES, *(run / "samples").glob("step-0-*.wav")):
        path.unlink(missing_ok=True)


def _guard(judging: Judging, training: TrainingConfig, begun: Begun, say: Callable[[str], None]) -> Judging | None:
    for how in judging.missing.values():
        say(f"to be told if this voice becomes worse than what it starts from: {how}")
    if not judging.judges:
        return None
    judging.start = _start_scores(judging, training, begun)
    if not judging.start:
        say(f"{_UNGUARDED}: nobody heard it before the first step")
        return None
    return judging


def _start_scores(judging: Judging, training: TrainingConfig, begun: Begun) -> Scores:
    """What the judges say of the model that a run starts from, which is there only before the first step."""
    path = begun.run / START_SCORES
    if begun.step == 0 and judging.judges:
        write_whole(path, json.dumps(judging.hear_start(str(training.start_from))).encode())
    scores: Scores = json.loads(path.read_bytes()) if path.is_file() else {}
    return scores
