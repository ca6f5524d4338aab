"""Training as a config describes it, for the tuner: the real feed, and a step on a batch of the plan's mean shape."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Generator
from typing import Any

import numpy as np
import tensorflow as tf

from myxtts.cache.fit import settle
from myxtts.cache.reader import Cache
from myxtts.config.config import XTTSConfig
from myxtts.data.ahead import ahead, elements
from myxtts.data.device import first_gpu
from myxtts.data.pipeline import Feed
from myxtts.data.threads import MAX_THREADS
from myxtts.machine.process import anonymous_bytes, usable_cores
from myxtts.models.xtts import CROP_FRAMES
from myxtts.training import step as training_step
from myxtts.training.setup import build_model, prepare_tensorflow
from myxtts.training.split import split
from myxtts.tuner.search import NOISE
from myxtts.tuner.throughput import loop_trial, step_within_memory
from myxtts.tuner.trials import Knobs, Row, TooLarge, Trial

_STEPS_OF_A_TRIAL = 4  # the first, a warm one and two that count
_SAFE_SHARE = 0.9  # of a GPU's memory: the allocator loses some to gaps, and the desktop wants some
_PLAN_KNOBS = ("batch_size", "num_buckets", "preprocessing_mode")  # the others do not change what is in a batch
_FRAME_MULTIPLE, _TOKEN_MULTIPLE = 32, 16  # plans that differ by less share a compiled step

Batch = dict[str, Any]
Step = Callable[[Batch], Any]


class TrainingLoop:
    """`measure(settings)` for `search`, and its reasons against settings that need no measuring."""

    def __init__(self, config: XTTSConfig, cache: Cache, step: Step | None, machine: dict[str, Any], budget_bytes: int):
        prepare_tensorflow(config)
        self._config = dataclasses.replace(config, data=settle(config.data, [cache]))
        self._cache, self._machine, self._budget_bytes = cache, machine, budget_bytes
        self._rows = split(cache).train
        self._gpu = first_gpu()
        self._feeds: dict[tuple[Any, ...], Feed] = {}
        self._plans: dict[tuple[Any, ...], Feed] = {}
        self._datasets: dict[tuple[Any, ...], tf.data.Dataset] = {}
        self._fitting: set[tuple[int, ...]] = set()
        self._before = anonymous_bytes()
        self._parameters = 0  # of the model behind the step, where that is known
        self._step = self._real_step() if step is None else step
        self._per_cell = 0.0  # bytes that one frame of a batch takes in memory: of the first trial, model included

    def measure(self, settings: Knobs) -> Trial:
        feed = self._feed(settings)
        shape = mean_shape(self._plan(settings))
        if self._gpu is not None:
            self._probe_longest(settings)
        batches = self._batches(settings)
        stand_in = fill(next(batches), shape)

        def run(batch: Batch) -> Any:
            self._carry_over(batch, feed)
            return self._step(stand_in)

        trial = loop_trial(batches, run, rows=_utterances, memory=self._memory)
        if not self._per_cell:
            self._per_cell = (anonymous_bytes() - self._before) / (shape[0] * shape[1])
        return trial

    def _carry_over(self, batch: Batch, feed: Feed) -> None:
        """A batch that was not staged on the GPU crosses when the step takes it: that belongs to the loop's time."""
        if self._gpu is not None and not feed.data.prefetch_to_gpu:
            with tf.device(self._gpu):
                for part in batch.values():
                    tf.identity(part)

    def reason_against(self, settings: Knobs, best: Row) -> str | None:
        """Why a trial would be wasted: the plan, the cores or the memory already say what would come of it."""
        now = best.settings
        changed = {name for name, value in settings.items() if value != now[name]}
        threads, own = (min(each["num_workers"], MAX_THREADS, usable_cores()) for each in (settings, now))
        if changed == {"num_workers"} and threads == own:
            return f"{threads} threads either way"
        if changed == {"enhanced_gpu_prefetch"} and not settings["prefetch_to_gpu"]:
            return "nothing is copied ahead"
        if changed == {"num_buckets"}:
            share, present = (self._plan(each).useful_frame_share for each in (settings, now))
            if share / present - 1 < NOISE:
                return f"{share:.0%} of the frames would be useful, {present:.0%} are now"
        return self._too_much(settings)

    def _too_much(self, settings: Knobs) -> str | None:
        """By the memory budget of the host: batches made ahead, and without a GPU the step itself."""
        batch, frames, _ = mean_shape(plan := self._plan(settings))
        cells = batch * frames
        row_bytes = sum(self._cache.tracks[name][:1].nbytes for name in plan.payload)
        needed = cells * row_bytes * settings["prefetch_buffer_size"]
        if self._gpu is None:
            needed += cells * self._per_cell
        if needed <= self._budget_bytes:
            return None
        return f"about {needed / 1e6:,.0f} MB of memory, {self._budget_bytes / 1e6:,.0f} MB are allowed"

    def _plan(self, settings: Knobs) -> Feed:
        """What is in the batches. That of a million utterances takes a second to work out, so it is kept."""
        key = tuple(settings.get(name) for name in _PLAN_KNOBS)
        if key not in self._plans:
            self._plans[key] = self._feed(settings)
        return self._plans[key]

    def _feed(self, settings: Knobs) -> Feed:
        key = tuple(sorted(settings.items()))
        if key not in self._feeds:
            data = dataclasses.replace(self._config.data, **settings)
            self._feeds[key] = Feed(self._cache, dataclasses.replace(self._config, data=data), utterances=self._rows)
        return self._feeds[key]

    def _batches(self, settings: Knobs) -> Generator[Batch]:
        """As a trainer takes them, from the first on. The dataset is kept: building one takes 0.4 s."""
        key = tuple(sorted(settings.items()))
        if key not in self._datasets:
            self._datasets[key] = self._feed(settings).dataset(device=self._gpu)
        return ahead(elements(self._datasets[key]))

    def _real_step(self) -> Step:
        """Of the config's model; what it learns here is thrown away."""
        feed = Feed(self._cache, self._config, utterances=self._rows)
        model = build_model(self._config, feed)
        self._parameters = model.count_params()
        trained = training_step.Step(model, self._config.training, 1000)
        return lambda batch: np.float32(trained.run(batch, 0)["loss"])

    def too_slow_to_measure(self, settings: Knobs, seconds: float) -> str | None:
        """A compiled step cannot be stopped, so one that would take longer than the search may is not begun."""
        batch, _, tokens = mean_shape(self._plan(settings))
        estimate = step_flops(self._parameters, batch, tokens) / (measured_flops() if self._parameters else 1.0)
        if estimate * _STEPS_OF_A_TRIAL <= seconds / 2:
            return None
        return f"not measured: a step of this model and batch_size would take about {estimate:.0f} s here"

    # ---- a GPU's memory, found by trying ----------------------------------------------------------------------------

    def _probe_longest(self, settings: Knobs) -> None:
        """One step of the largest shape, which a loop of the mean shape would not meet, with a share left free."""
        largest = max(self._plan(settings).tables[0].shapes, key=lambda shape: shape[0] * shape[1])
        if largest in self._fitting:
            return
        tf.config.experimental.reset_memory_stats(self._gpu)
        batches = self._batches(settings)
        try:
            step_within_memory(self._step, fill(next(batches), largest))
        finally:
            batches.close()
        check_margin(self._memory(), min(card["memory_bytes"] or 0 for card in self._machine["gpus"]))
        self._fitting.add(largest)

    def _memory(self) -> int:
        if self._gpu is None:
            return anonymous_bytes()
        return int(tf.config.experimental.get_memory_info(self._gpu)["peak"])


def step_flops(parameters: int, batch: int, tokens: int) -> float:
    """Forward and backward are three times two operations for each parameter and position: a text's or a crop's."""
    return 6.0 * parameters * batch * max(tokens, CROP_FRAMES)


def measured_flops() -> float:
    """Operations a second of this machine's device in a product of matrices as a layer has them: 20 ms."""
    left, right = tf.ones([2048, 512]), tf.ones([512, 512])
    tf.reduce_sum(tf.matmul(left, right)).numpy()
    began = time.perf_counter()
    for _ in range(4):
        tf.reduce_sum(tf.matmul(left, right)).numpy()
    return 4 * 2 * 2048 * 512 * 512 / (time.perf_counter() - began)


def check_margin(peak_bytes: int, total_bytes: int) -> None:
    """A tenth of a GPU stays free; a card that does not tell its memory has only the trial to go by."""
    if total_bytes and peak_bytes > _SAFE_SHARE * total_bytes:
        used = f"{peak_bytes / 1e9:.1f} of {total_bytes / 1e9:.1f} GB"
        raise TooLarge(f"the longest batch takes {used}, and a tenth is kept free")


def mean_shape(feed: Feed) -> tuple[int, int, int]:
    """(batch, frames, tokens) that a step has on average over an epoch, in steps of 32 frames and 16 tokens."""
    table = feed.tables[0]
    rows = table.batches * table.batch
    frames, tokens = (float(np.average(each, weights=rows)) for each in (table.frames, table.tokens))
    batch = max(round(float(np.average(table.batch, weights=table.batches))), 1)
    frames, tokens = _up(frames, _FRAME_MULTIPLE), _up(tokens, _TOKEN_MULTIPLE)
    return batch, frames, min(tokens, frames)


def _up(value: float, multiple: int) -> int:
    return int(-(-value // multiple) * multiple)


def fill(batch: Batch, shape: tuple[int, int, int]) -> Batch:
    """A batch of the given (batch, frames, tokens) made of a real one's rows, none of which is padding."""
    size, frames, tokens = shape
    lengths = {"tokens": tokens, "mel": frames, "audio": frames}
    made = {name: _resized(np.asarray(part), size, lengths.get(name)) for name, part in batch.items()}
    made["frame_lengths"][:], made["token_lengths"][:], made["weight"][:] = frames, tokens, 1.0
    return {name: tf.constant(part) for name, part in made.items()}


def _resized(part: np.ndarray, rows: int, length: int | None) -> np.ndarray:
    if part.ndim == 0:
        return part
    part = part[np.arange(rows) % len(part)]
    return part if length is None else part[:, np.arange(length) % part.shape[1]]


def _utterances(batch: Batch) -> int:
    return int(np.count_nonzero(np.asarray(batch["weight"])))
