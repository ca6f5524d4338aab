"""How every benchmark measures: ways interleaved, repeated, best and spread reported, ratios in one run.

These machines are shared and noisy: a way is compared only with others measured in the same minute.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass
class Timing:
    """Wall and CPU seconds of each repeat."""

    wall: list[float]
    cpu: list[float]

    @property
    def best(self) -> float:
        return min(self.wall)

    @property
    def best_cpu(self) -> float:
        return min(self.cpu)

    @property
    def spread(self) -> float:
        """How much slower the slowest repeat was than the best."""
        return max(self.wall) / self.best


def interleave(ways: dict[str, Callable[[], object]], repeats: int) -> dict[str, Timing]:
    """Run every way `repeats` times, in turns, so that a noisy minute hits all of them."""
    timings = {name: Timing([], []) for name in ways}
    for _ in range(repeats):
        for name, way in ways.items():
            wall, cpu = time.perf_counter(), _cpu_seconds()
            way()
            timings[name].wall.append(time.perf_counter() - wall)
            timings[name].cpu.append(_cpu_seconds() - cpu)
    return timings


def _cpu_seconds() -> float:
    """Of this process and of those children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def anonymous_bytes() -> int:
    """Memory of this process that is not backed by a file: what a copied cache would show up in."""
    with open("/proc/self/smaps_rollup") as file:
        for line in file:
            if line.startswith("Anonymous:"):
                return int(line.split()[1]) * 1024
    raise RuntimeError("this kernel has no Anonymous: line in /proc/self/smaps_rollup")
