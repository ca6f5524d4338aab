"""When judges hear a voice that is trained, and what follows: a voice worse than its start is not the best, and not
trained on for ever."""

from __future__ import annotations

from typing import Any

from myxtts.config.config import TrainingConfig
from myxtts.evaluation.clip import Scores
from myxtts.training.judging import CANNOT_HEAR, Judging
from myxtts.training.optimiser import Adam

_WORSE_IN_A_ROW = 3  # after so many times a voice that is worse than its start is not trained on


class Hearing:
    """`every` so many steps; 0: never. Every worker knows when; the chief alone has judges."""

    def __init__(self, training: TrainingConfig, every: int):
        self.every, self.guards = every, every > 0 and training.evaluation_steps is None  # nobody asked for them
        self.judging: Judging | None = None
        self.worse_in_a_row = 0  # times that guards have heard the voice to be worse than its start
        self._heard = -1  # the last step that was heard

    @property
    def watches(self) -> bool:
        """Whether guards are there, and not only wanted."""
        return self.guards and self.judging is not None

    def is_due(self, step: int) -> bool:
        return self.every > 0 and step % self.every == 0

    def hear(self, step: int, optimiser: Adam, recorder: Any) -> Scores:
        """What the judges say of the averaged weights. Guards that cannot hear them do not end a training."""
        if self.judging is None:
            return {}
        try:
            scores = self.judging.run(optimiser)
        except CANNOT_HEAR as error:
            if not self.guards:
                raise
            recorder.say(f"step {step}: the judges could not hear this voice: {error}")
            return {}
        recorder.evaluation(step, scores)
        self._heard = step
        if self.guards:
            self.worse_in_a_row = self.worse_in_a_row + 1 if self.judging.is_worse else 0
        return scores

    def accept(self, step: int, metrics: dict[str, float | None], metric: str) -> None:
        """While guards watch, the best is one that they have heard, and not to be worse than its start."""
        if self.watches and self._heard != step:
            metrics.pop(metric, None)
        elif self.watches and self.worse_in_a_row and metric in metrics:
            metrics[metric] = None

    def why_enough(self, step: int) -> str | None:
        if not self.watches or self._heard != step or self.worse_in_a_row < _WORSE_IN_A_ROW:
            return None
        return f"worse than what it started from, heard {_WORSE_IN_A_ROW} times in a row"
