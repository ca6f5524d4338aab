"""The tuner: measures training as a config describes it, searches for faster settings, and returns a new config.

    tuned = tune(config, Path("voice.cache"))
    print(tuned)                     # what was tried, and why it was kept or not
    tuned.config.to_yaml("tuned.yaml")

What is measured is the loop, feed and step, in utterances per second. The feed is the real one. The step takes one
batch of the plan's mean shape over and over: compiling each of eight shapes takes longer than the whole search may.
"""

from __future__ import annotations

import dataclasses
import gc
import logging
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import psutil

from myxtts.cache.open import open_cache
from myxtts.cache.reader import Cache
from myxtts.config.config import DataConfig, XTTSConfig
from myxtts.data.starting_points import gpus_used, prefetch_for, starting_point
from myxtts.data.threads import MAX_THREADS
from myxtts.machine.description import describe_machine
from myxtts.machine.process import usable_cores
from myxtts.tuner.search import search
from myxtts.tuner.training_loop import Step, TrainingLoop
from myxtts.tuner.trials import Row, Search

log = logging.getLogger(__name__)

SECONDS = 30.0
FEED_KNOBS = ("num_workers", "prefetch_buffer_size", "prefetch_to_gpu", "enhanced_gpu_prefetch")
KNOBS = (*FEED_KNOBS, "batch_size", "num_buckets", "preprocessing_mode")
# A larger batch means fewer updates per epoch, so it has to bring more than what merely is no noise.
_MARGINS = {"batch_size": 0.10}
_DOUBLINGS = 4
_FEWEST_STEPS_PER_EPOCH = 8
_MEMORY_SHARE = 0.5  # of what is free at the start: the rest is for the page cache, checkpoints and other programs

Progress = Callable[[float, str], None]


@dataclasses.dataclass
class Tuned:
    """A config that is at least as fast as the one given, and the table behind it."""

    config: XTTSConfig
    outcome: Search

    @property
    def changed(self) -> dict[str, tuple[Any, Any]]:
        return self.outcome.changed

    def to_dict(self) -> dict[str, Any]:
        return self.outcome.to_dict()

    def __str__(self) -> str:
        return f"{self.outcome}\n{describe_change(self.changed, self.outcome)}"


def describe_change(changed: dict[str, tuple[Any, Any]], outcome: Search) -> str:
    """One line: what is set otherwise now, and what that brings."""
    took = f"in {outcome.seconds:.0f} s"
    if not outcome.given.rates and not changed:
        return f"not tuned: {outcome.given.why.removeprefix('given; ')}"
    if not changed and not any(row.rates for row in outcome.rows if row is not outcome.given):
        return f"not tuned: nothing else could be measured {took}: give it more seconds (--seconds)"
    if not changed:
        return f"tuned {took}: nothing is faster than the settings as they are ({outcome.given.rate:,.1f} utterances/s)"
    settings = ", ".join(f"{name} {old} -> {new}" for name, (old, new) in changed.items())
    learns = "; another batch_size changes what a step learns from" if "batch_size" in changed else ""
    rates = f"{outcome.given.newest:,.1f} -> {outcome.best.newest:,.1f} utterances/s"
    return f"tuned {took}: {settings} ({rates}){learns}"


def tune(
    config: XTTSConfig,
    cache: Path,
    seconds: float = SECONDS,
    *,
    keep: Collection[str] | None = None,
    step: Step | None = None,
    machine: dict[str, Any] | None = None,
    progress: Progress = lambda elapsed, what: None,
) -> Tuned:
    """The best settings for training on a cache that `seconds` of measuring find; `config` itself is left alone.

    `keep` names settings that stay as they are, by default those that were given by hand. `step` takes a batch, in
    place of the config's model; one that raises ResourceExhaustedError says that a batch does not fit.
    """
    began = time.monotonic()
    keep = config.data.by_hand if keep is None else keep
    machine = describe_machine(cache) if machine is None else machine
    opened = open_cache(cache, config.data.cache_verification)
    budget = int(psutil.virtual_memory().available * _MEMORY_SHARE)
    loop = TrainingLoop(config, opened, step, machine, budget)
    start = _start(config, opened, machine, keep)
    space = space_of(config, opened, machine, start)
    given = {name: getattr(config.data, name) for name in space}
    slow = loop.too_slow_to_measure(given, seconds)
    if slow is not None:
        row = Row(given, f"given; {slow}")
        return Tuned(config, Search(row, row, [row], [], time.monotonic() - began))
    outcome = search(
        {name: values for name, values in space.items() if name not in keep},
        given,
        loop.measure,
        seconds - (time.monotonic() - began),
        feed_knobs=FEED_KNOBS,
        starts=[start],
        margins=_MARGINS,
        admit=loop.reason_against,
        work=lambda settings: settings["batch_size"] / given["batch_size"],
        progress=lambda what: progress(time.monotonic() - began, what),
    )
    outcome.seconds = time.monotonic() - began
    del loop
    gc.collect()  # the model that was measured: what trains next may need a GPU's memory for itself
    return Tuned(dataclasses.replace(config, data=_with_outcome(config.data, outcome.settings, keep)), outcome)


def _with_outcome(data: DataConfig, settings: dict[str, Any], keep: Collection[str]) -> DataConfig:
    """What was found is given from now on: no starting point may replace it."""
    made = dataclasses.replace(data)
    made.give({name: value for name, value in settings.items() if name not in keep}, "the tuner")
    return made


def space_of(config: XTTSConfig, cache: Cache, machine: dict[str, Any], start: dict[str, Any]) -> dict[str, list[Any]]:
    """The values to try of each setting, the cheap ones first. What only a GPU feels is left out without one."""
    gpus, cores = gpus_used(machine), usable_cores()
    space: dict[str, list[Any]] = {
        "num_workers": sorted({*_powers(1, min(cores, MAX_THREADS)), min(cores, MAX_THREADS)}),
        "prefetch_buffer_size": sorted({2, 4, 8, 16, 32, prefetch_for(cores, gpus)}),
    }
    if gpus:
        space |= {"prefetch_to_gpu": [False, True], "enhanced_gpu_prefetch": [False, True]}
    most = _largest_batch(config, cache)
    sizes = {own * 2**n for own in (config.data.batch_size, start.get("batch_size", 16)) for n in range(_DOUBLINGS)}
    smaller = {config.data.batch_size // 2**n for n in (1, 2)}
    space["batch_size"] = sorted(size for size in sizes | smaller if 1 <= size <= most)
    space["num_buckets"] = [1, 2, 3, 4, 6, 8, 12, 16]
    if cache.mel is not None and config.data.preprocessing_mode != "auto":
        space["preprocessing_mode"] = ["precompute", "on_the_fly"]
    return space


def _start(config: XTTSConfig, cache: Cache, machine: dict[str, Any], keep: Collection[str]) -> dict[str, Any]:
    """The starting point, as far as it may be taken and the corpus is large enough for it."""
    start = {name: value for name, value in starting_point(machine).items() if name not in keep}
    if start.get("batch_size", 0) > _largest_batch(config, cache):
        del start["batch_size"]
    return start


def _largest_batch(config: XTTSConfig, cache: Cache) -> int:
    return max(len(cache) // _FEWEST_STEPS_PER_EPOCH, config.data.batch_size)


def _powers(low: int, high: int) -> Iterator[int]:
    while low <= high:
        yield low
        low *= 2
