"""When a run ends: after so many steps, epochs or minutes, whichever comes first."""

from __future__ import annotations

from dataclasses import dataclass

from myxtts.config.config import TrainingConfig
from myxtts.errors import ConfigError

DEFAULT_STEPS = 20_000
_STEPS_TO_BELIEVE = 20  # before that the speed of a run is not known


@dataclass(frozen=True)
class Budget:
    steps: int | None
    seconds: float | None

    @classmethod
    def of(cls, training: TrainingConfig, steps_per_epoch: int | None) -> Budget:
        if training.epochs is not None and steps_per_epoch is None:
            raise ConfigError("training.epochs is set, but the dataset does not know its length: set training.steps")
        epochs = None if training.epochs is None else training.epochs * (steps_per_epoch or 0)
        ends = [end for end in (training.steps, epochs) if end is not None]
        seconds = None if training.minutes is None else training.minutes * 60
        return cls(min(ends, default=None if seconds else DEFAULT_STEPS), seconds)

    def is_spent(self, step: int, seconds: float) -> bool:
        return (self.steps is not None and step >= self.steps) or (self.seconds is not None and seconds >= self.seconds)

    def total_steps(self, step: int, seconds: float) -> int | None:
        """At which step the run will end at the speed so far; None while that is not known."""
        if self.seconds is None:
            return self.steps
        if step < _STEPS_TO_BELIEVE or seconds <= 0:
            return self.steps
        by_time = int(step * max(self.seconds / seconds, 1.0))
        return by_time if self.steps is None else min(by_time, self.steps)

    def eta_seconds(self, step: int, seconds: float) -> float | None:
        total = self.total_steps(step, seconds)
        return None if total is None or not step or seconds <= 0 else max(total - step, 0) * seconds / step
