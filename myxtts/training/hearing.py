"""When judges hear a voice that is trained, and what follows: a voice worse than its start is not the best, and not
trained on for ever."""

from __future__ import annotations

import logging
from typing import Any

from myxtts.config.config import TrainingConfig
from myxtts.evaluation.clip import Scores
from myxtts.training.judging import CANNOT_HEAR, Judging
from myxtts.training.optimiser import Adam

log = logging.getLogger(__name__)

_WORSE_IN_A_ROW = 3  # after so many times a voice that is worse than its start is not trained on


class Hearing:
    """`every` so many steps; 0: never. Every worker knows when; the chief alone has judges."""

    def __init__(self, training: TrainingConfig, every: int):
        self.every, self.guards = every, every > 0 and training.evaluation_steps is None  # nobody asked for them
        self.judging: Judging | None = None
        self.worse_in_a_row = 0  # times that guards have heard the voice to be worse than its start
        self._heard = -1  # the last step that was heard
        self._deaf = False  # whether it could not be heard when it was due the last time

    @property
    def watches(self) -> bool:
        """Whether guards are there, and not only wanted. While they cannot hear, validation alone decides."""
        return self.guards and self.judging is not None and not self._deaf

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
            log.debug("why the judges could not hear", exc_info=True)
            self._deaf = True
            recorder.say(f"step {step}: the judges could not hear this voice, so validation alone decides: {error}")
            return {}
        recorder.evaluation(step, scores)
        self._heard, self._deaf = step, False
        if self.guards:
            self.worse_in_a_row = self.worse_in_a_row + 1 if self.judging.is_worse else 0
        return scores

    def knows(self, step: int) -> bool:
        """While guards watch, they must have heard a step before it can be the best."""
        return not self.watches or self._heard == step

    def refuses(self, step: int) -> bool:
        """Whether guards have heard a step, and that it is worse than the start."""
        return self.watches and self._heard == step and self.worse_in_a_row > 0

    def why_enough(self, step: int) -> str | None:
        if not self.refuses(step) or self.worse_in_a_row < _WORSE_IN_A_ROW:
            return None
        return f"worse than what it started from, heard {_WORSE_IN_A_ROW} times in a row"
