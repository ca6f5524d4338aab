"""Starting over: an old run is moved aside in one step, never deleted."""

from __future__ import annotations

import itertools
import time
from pathlib import Path

from myxtts.errors import TrainingError
from myxtts.files import put_in_place
from myxtts.training.checkpoint import RunLock
from myxtts.training.run_log import LOG


def move_aside(run: Path) -> Path | None:
    """RUN becomes RUN.before-reset-TIME; None if there was nothing."""
    if not run.exists() or (run.is_dir() and not any(run.iterdir())):
        return None
    if not ((run / LOG).is_file() or (run / "checkpoints").is_dir()):
        raise TrainingError(f"{run} holds no run, so --reset does not touch it: choose another --run")
    name = f"{run.name}.before-reset-{time.strftime('%Y%m%d-%H%M%S')}"
    names = (name if number == 1 else f"{name}-{number}" for number in itertools.count(1))
    aside = next(place for place in map(run.with_name, names) if not place.exists())
    with RunLock(run):  # a trainer that still runs there would go on writing into what was moved
        try:
            put_in_place(run, aside)
        except OSError as error:
            raise TrainingError(f"cannot move {run} aside ({error.strerror}): choose another --run") from None
    return aside
