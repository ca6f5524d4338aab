"""Where the lines are drawn: what the whole package means by stalled, busy, unsteady or worth it."""

from __future__ import annotations

# ---- a loop ---------------------------------------------------------------------------------------------------------

STALLED = 0.10  # share of a step's time spent waiting for its batch: from here on data is what to look at
WORTH_IT = 1.10  # gain of a cure: less is within the noise of a shared machine, and what a stall below 0.10 could bring
HAND_OVER_MS = 1.0  # a wait that short is the hand-over of a batch, whatever its share
EPISODES = 0.02  # of a run's time lost in stretches that stalled: less is told, but does not make the run sick
STABLE, OSCILLATING = 0.2, 0.5  # jitter, std / mean: below the first, above the second; between them it varies

# ---- the machine meanwhile ------------------------------------------------------------------------------------------

CORES_BUSY = 0.75  # share of the cores that this process may use: above, none is free for more work
GPU_BUSY = 0.50  # share of the time: a GPU below it although its batches are there has batches that are too small
FAULTS_PER_S = 20.0  # major page faults: mapped pages that come from the disk
DISK_READ_BYTES_PER_S = 5e6
SWAPPED_BYTES_PER_S = 1e6
MEMORY_LEFT = 0.05  # share of the memory that is still free


def steadiness_of(jitter: float) -> str:
    """`stable`, `varying` or `oscillating`, by the std / mean of the time of steps or batches."""
    return "stable" if jitter < STABLE else "varying" if jitter <= OSCILLATING else "oscillating"
