"""What a log says of several devices that trained together: who waited for whom, and what their exchange cost.

A step ends for all at the same moment. Until a device has its part of the gradients ready it has waited for its batch
and computed; from then on it waits for the slowest, and for the sum to be made.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

STRAGGLES = 0.1  # of a step: a device that makes the others wait for more is named


@dataclass(frozen=True)
class Ranks:
    """Medians of a step, in milliseconds, by device."""

    data_ms: list[float]
    compute_ms: list[float]
    waiting_ms: list[float]  # for the slowest
    exchange_ms: float  # after the slowest was ready
    step_ms: float
    straggler: int | None = None
    excess_ms: float = 0.0  # by which it is slower than the others
    slow_at: str = ""  # waiting for data, or computing

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def exchange_share(self) -> float:
        return self.exchange_ms / max(self.step_ms, 1e-9)

    def lines(self) -> list[str]:
        both = enumerate(zip(self.data_ms, self.compute_ms, strict=True))
        shown = ", ".join(f"{n}: {data:.1f} + {compute:.1f}" for n, (data, compute) in both)
        lines = [
            f"{len(self.data_ms)} devices, ms of waiting for data + computing: {shown}; the exchange takes "
            f"{self.exchange_ms:.1f} ms, {self.exchange_share:.1%} of a step"
        ]
        if self.straggler is not None:
            lines.append(
                f"device {self.straggler} is {self.excess_ms:.1f} ms slower than the others, in {self.slow_at}: they "
                f"wait for it {self.excess_ms / self.step_ms:.0%} of their time"
            )
        return lines


def ranks_of(steps: Iterable[dict[str, Any]]) -> Ranks | None:
    """Of lines of kind step; None where one device trained. Of a run that changed their number, the last one's."""
    timed = [step for step in steps if step.get("rank_compute_ms") and step.get("rank_data_ms")]
    if not timed:
        return None
    count = len(timed[-1]["rank_compute_ms"])
    same = [step for step in timed if len(step["rank_compute_ms"]) == len(step["rank_data_ms"]) == count]
    data, compute = (
        np.array([step[name] for step in same], np.float64) for name in ("rank_data_ms", "rank_compute_ms")
    )
    total = np.array([step["data_ms"] + step["compute_ms"] for step in same], np.float64)
    ready = data + compute
    slowest = ready.max(axis=1)
    middle: dict[str, Any] = {
        "data_ms": _medians(data), "compute_ms": _medians(compute), "waiting_ms": _medians(slowest[:, None] - ready),
        "exchange_ms": float(np.median(np.maximum(total - slowest, 0.0))), "step_ms": float(np.median(total)),
    }  # fmt: skip
    return Ranks(**middle, **_straggler(np.median(data, axis=0), np.median(compute, axis=0), middle["step_ms"]))


def _straggler(data: Any, compute: Any, step_ms: float) -> dict[str, Any]:
    ready = data + compute
    slow = int(ready.argmax())
    others = np.delete(np.arange(len(ready)), slow)
    excess = float(ready[slow] - np.median(ready[others])) if len(others) else 0.0
    if excess <= STRAGGLES * step_ms:
        return {}
    in_data = data[slow] - np.median(data[others]) > compute[slow] - np.median(compute[others])
    return {"straggler": slow, "excess_ms": excess, "slow_at": "waiting for data" if in_data else "computing"}


def _medians(table: Any) -> list[float]:
    return [round(float(value), 3) for value in np.median(table, axis=0)]
