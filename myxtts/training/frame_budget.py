"""`data.frame_budget: auto`: how many padded frames a batch may have, found from the memory of the device by trying.

One row of the longest shape goes through a real step, forwards and backwards, then several, then the shortest shape,
of which a batch has most rows: a row costs memory too, for its reference clip. What each takes at most tells what a
step needs anyway and what a frame needs, and so how many fit into the part of the free memory that may be taken.
Whole rows of the longest utterance: what little two measurements differ by then seldom matters, and what was found is
kept in the run's config.yaml, so a resumed run has the same batches.
"""

from __future__ import annotations

import dataclasses
import gc
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from myxtts.cache.progress import progress_bar
from myxtts.cache.reader import Cache
from myxtts.config.config import XTTSConfig
from myxtts.data.pipeline import Feed
from myxtts.errors import TrainingError
from myxtts.features.mel import N_MELS
from myxtts.monitor import monitor_aside
from myxtts.training.crew import Crew
from myxtts.training.device_memory import GpuMemory, HostMemory, memory_of
from myxtts.training.source import shape_of
from myxtts.training.step import Step

AUTO = "auto"

_ROWS = 6  # of the longest shape on each device, at most: enough to tell a frame's cost from what every step costs
_LENGTHS = 256  # utterances that stand for all lengths
_EPOCH_BATCHES = 8  # at least: a batch of half of a small corpus learns little from much work
_LEAST_FRAME_BYTES = 2 * 4 * N_MELS  # a frame and its gradient, in float32

Spec = Mapping[str, tf.TensorSpec]


@dataclass(frozen=True)
class Taken:
    """What a step of so many padded frames, of all devices, takes of the memory of one."""

    frames: int
    n_bytes: int


@dataclass(frozen=True)
class FrameBudget:
    """What was found, and what it was found from."""

    frames: int
    longest: int  # frames of the longest shape
    needed_bytes: float
    allowed_bytes: float
    where: str
    capped: bool  # by the length of the data, not by the memory
    frames_per_second: float

    def describe(self, useful_share: float) -> str:
        bound = f"; more would fit, but an epoch needs at least {_EPOCH_BATCHES} batches" if self.capped else ""
        return (
            f"data.frame_budget: auto is {self.frames} padded frames a batch, {self.frames // self.longest} of the "
            f"longest utterances: {self.needed_bytes / 1e9:.2f} GB of the {self.allowed_bytes / 1e9:.2f} GB that a "
            f"step may take of the {self.where}{bound}. {useful_share:.1%} of the frames are useful, "
            f"{useful_share * self.frames_per_second:,.0f} of them a second in the probe"
        )


def find_budget(config: XTTSConfig, cache: Cache, tracks: Sequence[str], crew: Crew, build: Any) -> FrameBudget:
    """Of a run on `cache`, by trying. `build(config, feed)` makes the model; `tracks` as for a Feed."""
    n_frames = np.asarray(cache.columns["n_frames"])
    usable = np.flatnonzero(n_frames <= config.data.max_mel_frames)
    usable = usable if len(usable) else np.arange(len(n_frames))  # which a feed refuses, and says why
    memory = memory_of(crew)
    with monitor_aside():
        probe = Probe(trial_feed(config, cache, usable, tracks), config, crew, build, memory)
        allowed = memory.share * memory.free_bytes()  # now that the weights and their moments have theirs
        budget = probe.find(allowed, int(n_frames[usable].sum(dtype=np.int64)) // _EPOCH_BATCHES)
    del probe
    gc.collect()  # a compiled step holds itself, and with it all of the memory that the run's own will need
    return budget


def trial_feed(config: XTTSConfig, cache: Cache, usable: NDArray[np.int64], tracks: Sequence[str]) -> Feed:
    """A feed of few utterances, whose shapes are about those of all: of the same longest one."""
    by_length = usable[np.argsort(np.asarray(cache.columns["n_frames"])[usable], kind="stable")]
    some = by_length[np.unique(np.linspace(0, len(by_length) - 1, _LENGTHS).astype(np.int64))]
    data = dataclasses.replace(config.data, frame_budget=None)
    return Feed(cache, dataclasses.replace(config, data=data), utterances=[np.sort(some)], tracks=tracks)


class Probe:
    """A step of its own, which takes batches of nothing and changes no variable."""

    def __init__(
        self,
        feed: Feed,
        config: XTTSConfig,
        crew: Crew,
        build: Callable[[XTTSConfig, Feed], Any],
        memory: HostMemory | GpuMemory,
    ):
        self._memory = memory
        self._devices = 1 if crew.replicas is None else crew.replicas.count
        with crew.scope():
            self._step = Step(build(config, feed), config.training, 1, crew.replicas)
        self._specs = feed.batch_specs()  # the longest last

    def find(self, allowed: float, most_frames: int) -> FrameBudget:
        """`most_frames`: never more, whatever the memory holds, but for one utterance on each device."""
        longest = frames_of(self._specs[-1])
        with progress_bar(3, "finding data.frame_budget", "shape") as bar:
            one = self._take(self._specs[-1], 1, bar)
            if one.n_bytes > allowed:
                raise TrainingError(
                    f"one utterance of {longest} frames takes {one.n_bytes / 1e9:.2f} GB, and a step may use "
                    f"{allowed / 1e9:.2f} GB of the {self._memory.name}: set a smaller data.max_mel_frames or "
                    "model.size"
                )
            rows = min(_ROWS, max(int(allowed // max(one.n_bytes, 1)), 1))
            several, rate = self._take(self._specs[-1], rows, bar), self._frames_per_second(rows)
            fixed, per_frame = line_through(one, several)
            per_frame = max(per_frame, self._of_short_ones(several, fixed, (allowed - fixed) / per_frame, bar))
        fits = int((allowed - fixed) / per_frame)
        rows = min(fits, most_frames) // longest // self._devices * self._devices
        frames = max(rows, self._devices) * longest
        needed = fixed + frames * per_frame
        return FrameBudget(frames, longest, needed, allowed, self._memory.name, fits > most_frames, rate)

    def _of_short_ones(self, several: Taken, fixed: float, fits: float, bar: Any) -> float:
        """What a frame needs in the shortest shape, tried with no more rows than fit of the longest one, which take
        more each."""
        if len(self._specs) == 1:
            return 0.0
        rows = min(several.frames // frames_of(self._specs[0]), int(fits) // frames_of(self._specs[-1]))
        short = self._take(self._specs[0], max(rows // self._devices, 1), bar)
        return (short.n_bytes - fixed) / short.frames

    def _take(self, spec: Spec, rows: int, bar: Any) -> Taken:
        sized = {name: with_rows(part, rows) for name, part in spec.items()}
        try:
            self._step.compile(sized)  # once before: to compile takes memory of its own
            n_bytes = self._memory.taken_by(lambda: self._step.compile(sized))
        except tf.errors.ResourceExhaustedError as error:
            raise TrainingError(
                f"the device has no memory for {rows} utterances of {frames_of(spec)} frames: set a smaller "
                "data.max_mel_frames or model.size, or data.frame_budget to a number"
            ) from error
        bar.update()
        return Taken(rows * self._devices * frames_of(spec), n_bytes)

    def _frames_per_second(self, rows: int) -> float:
        """Of the longest shape, for which the step is compiled."""
        sized = {name: with_rows(part, rows) for name, part in self._specs[-1].items()}
        began = time.perf_counter()
        self._step.compile(sized)
        return rows * self._devices * frames_of(sized) / (time.perf_counter() - began)


def line_through(one: Taken, several: Taken) -> tuple[float, float]:
    """(bytes that every step takes, bytes of each frame). With one size alone all of it is the frames'."""
    if several.frames == one.frames:
        return 0.0, max(several.n_bytes / several.frames, _LEAST_FRAME_BYTES)
    slope = (several.n_bytes - one.n_bytes) / (several.frames - one.frames)
    per_frame = max(slope, _LEAST_FRAME_BYTES)
    return max(several.n_bytes - per_frame * several.frames, 0.0), per_frame


def with_rows(spec: tf.TensorSpec, rows: int) -> tf.TensorSpec:
    return tf.TensorSpec([rows, *spec.shape[1:]] if spec.shape.rank else spec.shape, spec.dtype, spec.name)


def frames_of(spec: Spec) -> int:
    return shape_of(dict(spec))[1]
