"""What a config describes, ready to be examined: the pipeline that training would read from, and the step."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from myxtts.cache.manifest import is_cache
from myxtts.cache.open import open_or_pack
from myxtts.cache.pack import default_cache
from myxtts.cache.remote import is_address
from myxtts.config.config import XTTSConfig
from myxtts.data.starting_points import for_this_machine
from myxtts.doctor.structure import Structure, structure_of
from myxtts.errors import DiagnosisError


def hold(step_ms: float) -> Callable[[Any], None]:
    """An emulated accelerator: it holds each batch for a nominal time and uses no core."""

    def step(batch: Any) -> None:
        time.sleep(step_ms / 1e3)

    return step


class _FeedBatches:
    """A feed as the trainer reads it: staged on the device, taken out ahead (see data/ahead.py)."""

    def __init__(self, feed: Any):
        self.feed = feed

    def __iter__(self) -> Iterator[Any]:
        from myxtts.data.device import first_gpu

        return self.feed.batches(device=first_gpu())


def pipeline_of(config: XTTSConfig) -> tuple[Any, Structure]:
    """What training on `data.dataset_path` would read from: the mapped cache if there is one, else file by file."""
    path, config = data_path(config), for_this_machine(config)
    if _is_packed(path):
        from myxtts.data.pipeline import Feed

        feed = Feed(open_or_pack(path, config), config)
        return _FeedBatches(feed), structure_of(feed.dataset())
    from myxtts.data.device import first_gpu
    from myxtts.data.ljspeech import LJSpeechDataset

    # As the trainer takes it: the feed behind the dataset, which repeats before it is staged and not after.
    feed = LJSpeechDataset(path, config).create_tf_dataset(use_cache_files=False).feed
    data = feed.dataset(device=first_gpu())
    return data, structure_of(data)


def data_path(config: XTTSConfig) -> Path:
    """The corpus or cache that the config names, if it exists."""
    if config.data.dataset_path is None:
        raise DiagnosisError("no data is named: give --data CACHE, or a --config with data.dataset_path")
    if is_address(config.data.dataset_path):
        return open_or_pack(config.data.dataset_path, config).folder
    path = Path(config.data.dataset_path)
    if not path.exists():
        raise DiagnosisError(f"there is no {path}: give a corpus or a cache that exists")
    return path


def _is_packed(path: Path) -> bool:
    """A corpus that is not is examined file by file: that packing it would help is for the doctor to say."""
    return is_cache(path) or is_cache(default_cache(path))


def real_step(config: XTTSConfig) -> Callable[[Any], Any]:
    """The training step of the config's model, which needs a packed cache to know its texts."""
    from myxtts.data.pipeline import Feed
    from myxtts.training.setup import build_model
    from myxtts.training.step import Step

    path = data_path(config)
    if not _is_packed(path):
        raise DiagnosisError(f"{path} is not packed, and the real step needs its token table: run 'myxtts pack {path}'")
    step = Step(build_model(config, Feed(open_or_pack(path, config), config)), config.training, 1000)
    return lambda batch: np.float32(step.run(batch, 0)["loss"])
