"""The doctor for a configuration: the pipeline it would run is built, measured and judged; `fix` writes a better one.

Nothing of the user's is changed: a cure goes into a new config file, a packed cache beside the corpus.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from myxtts.cache.pack import PackSettings, default_cache, load_table, pack, packed_as
from myxtts.cache.reader import Cache, is_cache
from myxtts.config.config import XTTSConfig
from myxtts.corpus.read import open_corpus
from myxtts.errors import DiagnosisError
from myxtts.performance.causes import Cure
from myxtts.performance.counters import usable_cores
from myxtts.performance.diagnose import Diagnosis, diagnose
from myxtts.performance.observe import MOST_BATCHES, Progress
from myxtts.performance.structure import Structure, structure_of

EMULATED_MS = 10.0
_PREFETCH = 12
# Causes that a packed corpus cures, whatever else might
_PACKS = ("python_function", "python_loader", "per_file_reads", "slow_disk", "host_features", "too_few_workers",
          "host_cores", "slow_loader", "padding_waste")  # fmt: skip


@dataclass
class Treatment:
    """What was found, what was done, and what it brought."""

    before: Diagnosis
    cure: Cure
    config_file: Path
    after: Diagnosis

    @property
    def predicted_gain(self) -> float:
        return self.before.predicted(self.cure)["gain"]

    @property
    def achieved_gain(self) -> float:
        return self.after.utterances_per_second / self.before.utterances_per_second

    def to_dict(self) -> dict[str, Any]:
        return {
            "config": str(self.config_file),
            "cure": self.cure.what,
            "predicted_gain": self.predicted_gain,
            "achieved_gain": self.achieved_gain,
            "after": self.after.to_dict(),
        }

    def __str__(self) -> str:
        rows = [("now", self.before), ("then", self.after)]
        lines = [f"{'':<8}{'utterances/s':>14}{'device used':>13}{'waiting ms':>12}"]
        lines += [
            f"{name:<8}{found.utterances_per_second:>14,.0f}{found.utilisation:>13.0%}{found.measured.wait_ms:>12.1f}"
            for name, found in rows
        ]
        lines.append(f"gain predicted {self.predicted_gain:.1f}x, achieved {self.achieved_gain:.1f}x")
        lines.append(f"the cured settings are in {self.config_file}")
        return "\n".join(lines)


def examine(
    config: XTTSConfig,
    step_ms: float | None = EMULATED_MS,
    progress: Progress = lambda _: None,
    most_batches: int = MOST_BATCHES,
) -> Diagnosis:
    """Measure the pipeline that a config describes, with an emulated accelerator or, for None, the real step."""
    progress("data")
    data, structure = pipeline_of(config)
    step = hold(step_ms) if step_ms is not None else real_step(config)
    return diagnose(data, step, progress, structure, most_batches)


def hold(step_ms: float) -> Callable[[Any], None]:
    """An emulated accelerator: it holds each batch for a nominal time and uses no core."""

    def step(batch: Any) -> None:
        time.sleep(step_ms / 1e3)

    return step


class _FeedBatches:
    """A feed as the trainer reads it: taken out ahead (see data/ahead.py)."""

    def __init__(self, feed: Any):
        self.feed = feed

    def __iter__(self) -> Iterator[Any]:
        return self.feed.batches()


def pipeline_of(config: XTTSConfig) -> tuple[Any, Structure]:
    """What training on `data.dataset_path` would read from: the mapped cache if there is one, else file by file."""
    path = _data_path(config)
    cache = path if is_cache(path) else default_cache(path)
    if is_cache(cache):
        from myxtts.data.pipeline import Feed

        feed = Feed(*_opened(config, cache))
        return _FeedBatches(feed), structure_of(feed.dataset())
    from myxtts.data.ljspeech import LJSpeechDataset

    data = LJSpeechDataset(path, config).create_tf_dataset(config.data.batch_size, use_cache_files=False).repeat()
    return data, structure_of(data)


def _data_path(config: XTTSConfig) -> Path:
    if config.data.dataset_path is None:
        raise DiagnosisError("no data is named: give --cache CACHE, or a --config with data.dataset_path")
    path = Path(config.data.dataset_path)
    if not path.exists():
        raise DiagnosisError(f"there is no {path}: give a corpus or a cache that exists")
    return path


def _opened(config: XTTSConfig, cache: Path) -> tuple[Cache, XTTSConfig]:
    opened = Cache(cache)
    return opened, dataclasses.replace(config, data=packed_as(config.data, opened.body["settings"]))


def real_step(config: XTTSConfig) -> Callable[[Any], Any]:
    """The training step of the config's model, which needs a packed cache to know its texts."""
    from myxtts.data.pipeline import Feed
    from myxtts.training.setup import build_model
    from myxtts.training.step import Step

    path = _data_path(config)
    cache = path if is_cache(path) else default_cache(path)
    if not is_cache(cache):
        raise DiagnosisError(f"{path} is not packed, and the real step needs its token table: run 'myxtts pack {path}'")
    opened, settled = _opened(config, cache)
    step = Step(build_model(settled, Feed(opened, settled)), settled.training, 1000)
    return lambda batch: np.float32(step.run(batch, 0)["loss"])


def treat(
    config: XTTSConfig, found: Diagnosis, file: Path, step_ms: float | None, progress: Progress = lambda _: None
) -> Treatment | None:
    """Apply the best cure that settings can bring to a new config file, measure again. None if they can bring none."""
    for cure in found.cures:
        cured = apply(config, cure.cause, progress)
        if cured != config:
            cured.to_yaml(file)
            return Treatment(found, cure, file, examine(cured, step_ms, progress))
    return None


def apply(config: XTTSConfig, cause: str, progress: Progress = lambda what: None) -> XTTSConfig:
    """The config with a cure in it, or unchanged. Packing alone makes files: the cache beside the corpus."""
    if cause in _PACKS and not is_cache(_data_path(config)):
        progress("pack")
        return _changed(config, data=_packed(config))
    data, graph = config.data, {"enable_graph_mode": True, "enable_eager_debug": False}
    changes: dict[str, dict[str, dict[str, Any]]] = {
        "too_few_workers": {"data": {"num_workers": 2 * usable_cores()}},
        "no_prefetch": {"data": {"prefetch_buffer_size": _PREFETCH, "optimize_cpu_gpu_overlap": True}},
        "oscillation": {"data": {"prefetch_buffer_size": max(4 * data.prefetch_buffer_size, 4 * _PREFETCH)}},
        "padding_waste": {"data": {"num_buckets": min(max(8, 2 * data.num_buckets), 64), "frame_budget": None}},
        "tiny_batch": {"data": {"batch_size": 2 * data.batch_size}},
        "memory_pressure": {"data": {"memory_cache": False, "enable_memory_mapping": True}},
        "eager_step": {"training": graph},
        "retracing": {"training": graph},
        "recompilation": {"training": {"enable_xla_compilation": False}},
    }
    return _changed(config, **changes.get(cause, {}))


def _changed(config: XTTSConfig, **parts: dict[str, Any]) -> XTTSConfig:
    return dataclasses.replace(
        config, **{name: dataclasses.replace(getattr(config, name), **values) for name, values in parts.items()}
    )


def _packed(config: XTTSConfig) -> dict[str, Any]:
    """Pack the corpus and say so in the settings."""
    path = _data_path(config)
    precompute = dataclasses.replace(config.data, preprocessing_mode="precompute")
    data = config.data
    corpus = open_corpus(path, data.layout, data.speaker, data.language, data.speaker_pattern)
    cache = default_cache(path)
    pack(corpus, cache, PackSettings.from_config(precompute), table=load_table(config.data.token_table))
    return {"dataset_path": str(cache), "preprocessing_mode": "precompute", "prefetch_buffer_size": _PREFETCH}
