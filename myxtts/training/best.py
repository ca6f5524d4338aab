"""Which number a step is rated by, and whether a run has stopped becoming better."""

from __future__ import annotations

import math
from typing import Any

from myxtts.config.config import TrainingConfig
from myxtts.training.hearing import Hearing
from myxtts.training.validate import METRIC

Rating = float | None  # lower is better; None: cannot be the best


class Best:
    """Patience goes by every validation, also where guards have not heard the step or have refused it."""

    def __init__(self, training: TrainingConfig, hearing: Hearing):
        self.by, self._most, self._hearing = training.best_by, training.early_stopping, hearing
        self._lowest, self.worse_in_a_row, self._rated = math.inf, 0, -1

    def rate(self, step: int, metrics: dict[str, Rating]) -> Rating:
        """What a checkpoint of this step is chosen by, of what was measured at it."""
        if self.by not in metrics:
            return None
        measured, guarded = metrics[self.by], self.by == METRIC
        worse = guarded and self._hearing.refuses(step)
        if measured is not None and measured < self._lowest and not worse:
            self._lowest, self.worse_in_a_row = measured, 0
        elif self._rated != step:  # the last step is measured again where it has yet to be heard
            self.worse_in_a_row += 1
        self._rated = step
        return None if worse or (guarded and not self._hearing.knows(step)) else measured

    def why_enough(self, step: int) -> str | None:
        if self._most is not None and self.worse_in_a_row >= self._most:
            return f"no better for {self._most} validations"
        return self._hearing.why_enough(step)

    def state(self) -> dict[str, Any]:
        lowest = self._lowest if math.isfinite(self._lowest) else None
        return {"best_by": self.by, "lowest": lowest, "worse_in_a_row": self.worse_in_a_row, "rated": self._rated,
                "worse_than_start": self._hearing.worse_in_a_row}  # fmt: skip

    def restore(self, state: dict[str, Any], best: tuple[int, float] | None) -> None:
        """`best`: the best checkpoint there is, for states from before the lowest was kept."""
        lowest = state.get("lowest", best and best[1])
        self._lowest = math.inf if lowest is None else float(lowest)
        self.worse_in_a_row, self._rated = int(state["worse_in_a_row"]), int(state.get("rated", -1))
        self._hearing.worse_in_a_row = int(state.get("worse_than_start", 0))
