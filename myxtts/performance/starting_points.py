"""What to begin with on a machine, before anything is measured: by its GPUs and their memory, its cores and its memory.

Nothing here imports TensorFlow or reads data.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from myxtts.config.config import DataConfig, XTTSConfig
from myxtts.performance.machine import describe_machine

GB = 1e9  # as cards are named: one of "24 GB" says 25.4e9 to 25.8e9 bytes, one of "11 GB" 11.8e9
_BATCH_BY_GB = ((24, 64), (12, 48), (0, 32))  # DESIGN, section 9
_CPU_BATCH, _SMALL_CPU_BATCH, _SMALL_CPU_GB = 16, 8, 4
_CPU_BUCKETS = 3  # each shape takes about six seconds to compile on two cores
_MOST_WORKERS = 24
_LEAST_PREFETCH, _MOST_PREFETCH = 4, 64


def starting_point(machine: dict[str, Any]) -> dict[str, Any]:
    """Settings of the data section for a machine as `describe_machine` tells it."""
    gpus = machine["gpus"]
    workers = max(min(int(machine["cpus"]), _MOST_WORKERS), 1)
    common = {"num_workers": workers, "prefetch_buffer_size": prefetch_for(workers, len(gpus))}
    if not gpus:
        small = machine["memory_bytes"] < _SMALL_CPU_GB * GB
        return {"batch_size": _SMALL_CPU_BATCH if small else _CPU_BATCH, "num_buckets": _CPU_BUCKETS, **common}
    return {"batch_size": _batch_for(gpus), "prefetch_to_gpu": True, "enhanced_gpu_prefetch": True, **common}


def prefetch_for(workers: int, gpus: int) -> int:
    """Batches made ahead: two for three workers (12 for the 18 of the defaults), as often as there are GPUs."""
    return max(min(round(workers * 2 / 3) * max(gpus, 1), _MOST_PREFETCH), _LEAST_PREFETCH)


def _batch_for(gpus: list[dict[str, Any]]) -> int:
    """By the total memory of the smallest card, not by what is in use now; a card that does not say counts as small."""
    memory = min(card["memory_bytes"] or 0 for card in gpus)
    return next(batch for gigabytes, batch in _BATCH_BY_GB if memory >= gigabytes * GB)


def with_starting_point(config: XTTSConfig, machine: dict[str, Any] | None = None) -> XTTSConfig:
    """A new config with the starting point where this one has its defaults; what somebody has set stays."""
    default = DataConfig()
    chosen = starting_point(describe_machine() if machine is None else machine)
    silent = {key: value for key, value in chosen.items() if getattr(config.data, key) == getattr(default, key)}
    return dataclasses.replace(config, data=dataclasses.replace(config.data, **silent))
