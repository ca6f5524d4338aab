"""How a run is trained by one process or by several: who writes, who follows, and what they decide together.

`Crew(None, None)` is one process with one device, for which nothing here does anything. Of several workers the chief
alone writes checkpoints, the log, samples and validates; what it decides the others are told, so that all take the
same steps and stop after the same one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import tensorflow as tf

from myxtts.errors import TrainingError
from myxtts.models.description import ModelDescription
from myxtts.training.checkpoint import Checkpoints, Loaded
from myxtts.training.heartbeat import Heartbeat
from myxtts.training.recorder import Follower, Recorder
from myxtts.training.replicas import Notice, Replicas
from myxtts.training.step import Step

# What an exchange ends with when another worker is gone.
_GONE = (
    tf.errors.UnavailableError, tf.errors.AbortedError, tf.errors.CancelledError, tf.errors.InternalError,
    tf.errors.DeadlineExceededError, tf.errors.UnknownError,
)  # fmt: skip
_RANKS = ("rank_data_ms", "rank_compute_ms")


class Crew:
    def __init__(self, replicas: Replicas | None = None, heartbeat: Heartbeat | None = None):
        self.replicas, self._heartbeat = replicas, heartbeat
        self.chief = replicas is None or replicas.chief
        self.stop, self.seconds = False, 0.0  # what all workers were told with the last step
        self.ranks: dict[str, list[float]] = {}  # of the last step, by replica

    @property
    def several(self) -> bool:
        """Whether there are other workers."""
        return self.replicas is not None and self.replicas.cluster is not None

    def scope(self) -> AbstractContextManager[Any]:
        return nullcontext() if self.replicas is None else self.replicas.scope()

    def enter(self, step: int, phase: str) -> None:
        if self._heartbeat is not None:
            self._heartbeat.enter(step, phase)

    def checkpoints(self, run: Path, keep: int) -> Checkpoints:
        return Checkpoints(run, keep) if self.chief else NoCheckpoints()

    def recorder(self, *given: Any) -> Recorder:
        return Recorder(*given) if self.chief else Follower(given[1])

    def run(self, step: Step, batch: Any, at: int, notice: Notice) -> dict[str, float]:
        """One step; what came with it from the others is in `stop`, `seconds` and `ranks`."""
        if self.replicas is None:
            self.stop, self.seconds = notice.stop, notice.seconds
            return step.run(batch, at)
        self.enter(at, "step")
        numbers = step.run(batch, at, notice=notice)
        count = self.replicas.count
        ranks = {kind: [round(numbers.pop(f"{kind}/{n}"), 3) for n in range(count)] for kind in _RANKS}
        self.ranks = ranks if any(ranks["rank_compute_ms"]) else {}  # which a deterministic step does not tell
        self.stop, self.seconds = numbers.pop("stop") > 0, numbers.pop("seconds")
        if not self.several:
            self.seconds = notice.seconds
        return numbers

    def together(self, work: Callable[[], Any]) -> Any:
        """What all workers do at once: where it fails because one is gone, the end comes with its name."""
        if not self.several:
            return work()
        try:
            return work()
        except tf.errors.ResourceExhaustedError as error:
            raise TrainingError(
                "the device's memory is not enough for its part of a batch: set a smaller data.batch_size or "
                "data.frame_budget, or use more workers"
            ) from error
        except _GONE as error:
            if self._heartbeat is None:
                raise
            return self._heartbeat.explain(error)

    def follow(self, step: Step, numbers: Sequence[float]) -> list[float]:
        """Everybody's variables and numbers become the chief's, and what its weights mean."""
        if (replicas := self.replicas) is None or not self.several:
            return list(numbers)
        self.enter(int(numbers[0]), "sharing the weights")
        self.together(lambda: replicas.share(step.variables))
        description = step.model.description
        voice = isinstance(description, ModelDescription)
        own = [float(voice and description.follows_pitch), *numbers]
        follows, *numbers = self.together(lambda: replicas.agree(own))
        if voice:
            description.follows_pitch = bool(follows)
        return list(numbers)

    def agree(self, at: int, number: float) -> float:
        if (replicas := self.replicas) is None or not self.several:
            return number
        self.enter(at, "step")
        return float(self.together(lambda: replicas.agree([number]))[0])


class NoCheckpoints(Checkpoints):
    """Of a worker that follows: it saves nothing, and is told what it resumes from."""

    def __init__(self) -> None:
        pass

    def close(self) -> None:
        pass

    def latest_intact(self) -> Loaded | None:
        return None

    def best(self) -> tuple[int, float] | None:
        return None
