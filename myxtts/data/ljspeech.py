"""`LJSpeechDataset`: the one class for those who want a dataset and no rooms. It reads any layout, despite its name.

    dataset = LJSpeechDataset("~/LJSpeech-1.1", config)
    dataset.precompute_mels()
    for tokens, mel, text_len, mel_len in dataset.create_tf_dataset(batch_size=32): ...

Everything here is a call into the rooms below: `cache` packs and verifies, `pipeline` and `per_file` feed.
"""

from __future__ import annotations

import logging
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from myxtts.cache.format import load_manifest
from myxtts.cache.pack import PackSettings, default_cache, load_table, pack
from myxtts.cache.reader import Cache, is_cache
from myxtts.cache.verify import repair, verify
from myxtts.config.config import DataConfig, XTTSConfig
from myxtts.corpus.read import open_corpus
from myxtts.corpus.utterance import Utterance
from myxtts.data.device import first_gpu, stage, widen
from myxtts.data.per_file import list_corpus, per_file_dataset
from myxtts.data.pipeline import Feed
from myxtts.data.tf_native_loader import whole_config
from myxtts.features.audio import AudioSettings, load_clip, to_float
from myxtts.features.mel import log_mel
from myxtts.monitor import current_monitor

log = logging.getLogger(__name__)


class AudioProcessor:
    """What `pack` does with a file, one step at a time."""

    def __init__(self, settings: AudioSettings):
        self._settings = settings

    def load_audio(self, path: str | os.PathLike[str]) -> NDArray[np.float32]:
        """float32 [samples] in -1..1 at 22,050 Hz, trimmed and levelled as the settings say."""
        return to_float(load_clip(path, self._settings))

    def wav_to_mel(self, audio: NDArray[Any]) -> NDArray[np.float32]:
        """Samples, float in -1..1 or int16 -> float32 [frames, mels]."""
        return log_mel(audio)


class LJSpeechDataset:
    """A corpus, its cache in `<corpus>/cached_features/NAME.cache`, and the datasets made of them."""

    def __init__(self, data_path: str | os.PathLike[str], config: XTTSConfig | DataConfig | None = None):
        self.config = whole_config(config)
        data = self.config.data
        folder = Path(data_path).expanduser()
        self.corpus = open_corpus(folder, data.layout, data.speaker, data.language, data.speaker_pattern)
        self.cache_path = default_cache(Path(data_path).expanduser())
        self.audio_processor = AudioProcessor(PackSettings.from_config(data).audio)
        self._served: dict[str, Any] = {}

    def __len__(self) -> int:
        """Utterances in the cache; before there is one, rows of the corpus that have a text and a file."""
        if is_cache(self.cache_path):
            return int(load_manifest(self.cache_path)["utterances"])
        return sum(isinstance(row, Utterance) for row in self.corpus.rows())

    # -- the cache ---------------------------------------------------------------------------------------------------

    def precompute_mels(self, num_workers: int | None = None, overwrite: bool = False) -> dict[str, Any]:
        """Pack mel, audio and tokens, with `overwrite` even if there is a cache. Returns what is in it."""
        return self._packed("precompute", num_workers, overwrite).summary()

    def precompute_tokens(self, num_workers: int | None = None, overwrite: bool = False) -> dict[str, Any]:
        """The same; in `on_the_fly` mode a cache made by this holds no mel. A cache is packed whole or not at all."""
        return self._packed(None, num_workers, overwrite).summary()

    def _packed(self, mode: str | None = None, workers: int | None = None, overwrite: bool = False) -> Cache:
        """The cache, made or made again where needed; a CacheMismatch where that is not allowed."""
        data = self.config.data
        settings = PackSettings.from_config(data, mode)
        rebuild = overwrite
        if is_cache(self.cache_path):
            if mode is None and data.preprocessing_mode == "auto":
                settings = replace(settings, mode=load_manifest(self.cache_path)["mode"])
            rebuild = rebuild or self._may_rebuild(settings)
        else:
            log.info("packing %s into %s, once", self.corpus.folder, self.cache_path)
        table = load_table(data.token_table)
        pack(self.corpus, self.cache_path, settings, table=table, workers=workers, rebuild=rebuild)
        return Cache(self.cache_path, verify=data.cache_verification)

    def _may_rebuild(self, settings: PackSettings) -> bool:
        """Whether the cache was packed with other settings and every difference is one that may be rebuilt."""
        body, wanted = load_manifest(self.cache_path), settings.to_dict()
        differs = {name for name in ("audio", "mel", "tokens") if body["settings"][name] != wanted[name]}
        if settings.mode == "precompute" and body["mode"] == "audio":
            differs.add("mel")
        data = self.config.data
        allowed = {"audio", "mel"} if data.auto_rebuild_mel_cache else set()
        allowed |= {"tokens"} if data.auto_rebuild_token_cache else set()
        if not differs or differs - allowed:
            return False  # it fits, or `pack` raises the CacheMismatch that names the command
        log.warning(
            "%s was packed with other %s settings: packing again", self.cache_path, " and ".join(sorted(differs))
        )
        return True

    def verify_and_fix_cache(self, fix: bool = True) -> dict[str, Any]:
        """Read every byte of the cache and, with `fix`, rebuild what is damaged from the corpus.

        {"cache", "sound": whether all is well now, "utterances": how many it holds, None while it is not sound,
        "damaged", "repaired", "unrepaired": how many findings, "damaged_utterances", "unrepaired_utterances": their
        ids, "findings": what was found, in words}
        """
        found = verify(self.cache_path)
        left = found
        if found and fix:
            left = repair(self.cache_path, self.corpus, PackSettings.from_config(self.config.data), found)
            left = left or verify(self.cache_path)
        return {
            "cache": str(self.cache_path),
            "utterances": len(self) if not left else None,
            "sound": not left,
            "damaged": len(found),
            "repaired": len(found) - len(left),
            "unrepaired": len(left),
            "damaged_utterances": sorted({damage.id for damage in found if damage.id is not None}),
            "unrepaired_utterances": sorted({damage.id for damage in left if damage.id is not None}),
            "findings": [str(damage) for damage in found],
        }

    # -- datasets ----------------------------------------------------------------------------------------------------

    def create_tf_dataset(
        self,
        batch_size: int | None = None,
        use_cache_files: bool = True,
        memory_cache: bool | None = None,
        num_parallel_calls: int | None = None,
    ) -> tf.data.Dataset:
        """Batches of (tokens int32 [B, T], mel float32 [B, F, 80], text_len int32 [B], mel_len int32 [B]).

        One iteration is one epoch with every utterance once, and each iteration over the dataset (`repeat` too) is the
        next epoch, in another order. A dataset made anew begins with epoch 0: the same seed, the same batches.
        From the cache, which is packed first if it is missing; without `use_cache_files` from the audio files, in the
        graph or (`data.use_tf_native_loading` off) in Python. Arguments that are None are as in the config.
        """
        given: dict[str, Any] = {
            "batch_size": batch_size,
            "memory_cache": memory_cache,
            "num_workers": num_parallel_calls,
        }
        data = replace(self.config.data, **{name: value for name, value in given.items() if value is not None})
        config = replace(self.config, data=data)
        if use_cache_files:
            feed = Feed(self._packed(), config)
            self._served = feed.describe()
            return _epochs(feed, first_gpu())
        kind = "native" if data.use_tf_native_loading else "python"
        listing = list_corpus(self.corpus, data)
        self._served = {"loader": kind, "utterances": len(listing), "threads": data.num_workers}
        return per_file_dataset(kind, listing, config, first_gpu())

    def get_performance_report(self) -> dict[str, Any]:
        """{"dataset": what the last created dataset is served by, "cache": what is in it or None, "monitor": spans,
        counters, steps and stall of this process so far}."""
        cache = Cache(self.cache_path, verify=False).summary() if is_cache(self.cache_path) else None
        return {"dataset": self._served, "cache": cache, "monitor": current_monitor().summary()}


def _epochs(feed: Feed, device: str | None) -> tf.data.Dataset:
    """The next epoch of the feed with each iteration. Only the number of the epoch is state; the feed has none."""
    started = tf.Variable(-1, dtype=tf.int64)
    first_step = tf.data.Dataset.range(1).map(lambda _: started.assign_add(1) * feed.steps_per_epoch)
    batches = first_step.flat_map(lambda step: feed.dataset(step, step + feed.steps_per_epoch))
    threads = min(feed.data.num_workers, len(os.sched_getaffinity(0)))
    batches = batches.map(_as_tuple, num_parallel_calls=threads, deterministic=True)
    # Options do not reach out of a `flat_map`, and without the feed's own its whole cache is copied into memory.
    return stage(batches.with_options(feed.options()), device, feed.data)


def _as_tuple(batch: dict[str, Any]) -> tuple[Any, Any, Any, Any]:
    """The real rows, which come first; those of weight 0 only fill up, and a tuple has no place to say so."""
    real = tf.math.count_nonzero(batch["weight"])
    rows = widen({name: field[:real] for name, field in batch.items() if field.shape.rank})
    return rows["tokens"], rows["mel"], rows["token_lengths"], rows["frame_lengths"]
