"""Where to begin on a machine, before anything is measured: by its GPU and that one's memory, its cores and its memory.

Nothing here imports TensorFlow or reads data.
"""

from __future__ import annotations

import dataclasses
import functools
import logging
from typing import Any

from myxtts.config.config import XTTSConfig
from myxtts.machine.description import describe_machine

log = logging.getLogger(__name__)

GB = 1e9  # as cards are named: one of "24 GB" says 25.4e9 to 25.8e9 bytes, one of "11 GB" 11.8e9
_BATCH_BY_GB = ((24, 64), (12, 48), (0, 32))  # a first guess that a search may leave
_CPU_BATCH, _SMALL_CPU_BATCH, _SMALL_CPU_GB = 16, 8, 4
_CPU_BUCKETS = 3  # each shape takes about six seconds to compile on two cores
_MOST_WORKERS = 24
_LEAST_PREFETCH, _MOST_PREFETCH = 4, 64


def starting_point(machine: dict[str, Any]) -> dict[str, Any]:
    """Settings of the data section for a machine as `describe_machine` tells it."""
    gpus = machine["gpus"]
    workers = max(min(int(machine["cpus"]), _MOST_WORKERS), 1)
    common = {"num_workers": workers, "prefetch_buffer_size": prefetch_for(workers, gpus_used(machine))}
    if not gpus:
        small = machine["memory_bytes"] < _SMALL_CPU_GB * GB
        return {"batch_size": _SMALL_CPU_BATCH if small else _CPU_BATCH, "num_buckets": _CPU_BUCKETS, **common}
    return {"batch_size": _batch_for(gpus), "prefetch_to_gpu": True, "enhanced_gpu_prefetch": True, **common}


def gpus_used(machine: dict[str, Any]) -> int:
    """By one feed: one, however many there are. Where several devices train, each has a feed of its own."""
    return min(len(machine["gpus"]), 1)


def prefetch_for(workers: int, gpus: int) -> int:
    """Batches made ahead: two for three workers (12 for the 18 of the defaults), as often as GPUs are used."""
    return max(min(round(workers * 2 / 3) * max(gpus, 1), _MOST_PREFETCH), _LEAST_PREFETCH)


def _batch_for(gpus: list[dict[str, Any]]) -> int:
    """By total memory, not by what is in use now; a card that does not say counts as small. Of several the smallest
    counts: CUDA_VISIBLE_DEVICES may make any of them the first."""
    memory = min(card["memory_bytes"] or 0 for card in gpus)
    return next(batch for gigabytes, batch in _BATCH_BY_GB if memory >= gigabytes * GB)


def with_starting_point(config: XTTSConfig, machine: dict[str, Any] | None = None) -> XTTSConfig:
    """A new config with the starting point for the settings that were not given."""
    chosen = starting_point(describe_machine() if machine is None else machine)
    return dataclasses.replace(config, data=config.data.filled(chosen))


def for_this_machine(config: XTTSConfig) -> XTTSConfig:
    """What training begins with: the starting point, which is said, or with `data.auto_tune_performance` off this."""
    if not config.data.auto_tune_performance:
        return config
    begun = with_starting_point(config)
    values = {name: value for name, value in begun.data.to_dict().items() if getattr(config.data, name) != value}
    if values:
        chosen = ", ".join(f"{name} {value}" for name, value in values.items())
        _say(f"starting point for this machine: {chosen}; a setting that you give stays")
    return begun


@functools.cache
def _say(text: str) -> None:
    """Once, however many datasets are made."""
    log.info("%s", text)
