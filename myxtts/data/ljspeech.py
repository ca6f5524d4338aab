"""`LJSpeechDataset`: the one class for those who want a dataset and no rooms. It reads any layout, despite its name.

    dataset = LJSpeechDataset("~/LJSpeech-1.1", config)
    dataset.precompute_mels()
    for tokens, mel, text_len, mel_len in dataset.create_tf_dataset(batch_size=32): ...

Everything here is a call into the rooms below: `cache` packs and verifies, `pipeline` and `file_feed` feed.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from myxtts.cache.manifest import is_cache, load_manifest
from myxtts.cache.open import as_packed, corpus_at, open_cache, open_or_pack
from myxtts.cache.pack import default_cache
from myxtts.cache.progress import packing_bar
from myxtts.cache.reader import Cache
from myxtts.cache.settings import PackSettings
from myxtts.cache.verify import repair, verify
from myxtts.config.config import DataConfig, XTTSConfig
from myxtts.corpus.utterance import Utterance
from myxtts.data.device import first_gpu
from myxtts.data.file_feed import FileFeed
from myxtts.data.listing import list_corpus
from myxtts.data.pipeline import Feed
from myxtts.data.starting_points import for_this_machine
from myxtts.data.tf_native_loader import whole_config
from myxtts.data.tuples import tuples_of
from myxtts.features.audio import AudioSettings, load_clip, to_float
from myxtts.features.mel import log_mel
from myxtts.monitor import current_monitor


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
        self._path = Path(data_path).expanduser()
        data = as_packed(self._path, self.config.data)
        self.corpus = corpus_at(self._path, data)
        self.cache_path = default_cache(self._path)
        self.audio_processor = AudioProcessor(PackSettings.from_config(data).audio)
        self._served: dict[str, Any] = {}

    def __len__(self) -> int:
        """Utterances in the cache; before there is one, rows of the corpus that have a text and a file."""
        if is_cache(self.cache_path):
            return int(load_manifest(self.cache_path)["utterances"])
        return sum(isinstance(row, Utterance) for row in self.corpus.rows())

    # -- the cache ---------------------------------------------------------------------------------------------------

    def precompute_mels(self, num_workers: int | None = None, overwrite: bool = False) -> dict[str, Any]:
        """Pack mel, audio and tokens, with `overwrite` even if there is a cache. Shows a progress bar, returns what is
        in it."""
        return self._packed("precompute", num_workers, overwrite).summary()

    def precompute_tokens(self, num_workers: int | None = None, overwrite: bool = False) -> dict[str, Any]:
        """The same; in `on_the_fly` mode a cache made by this holds no mel. A cache is packed whole or not at all."""
        return self._packed(None, num_workers, overwrite).summary()

    def _packed(self, mode: str | None = None, workers: int | None = None, overwrite: bool = False) -> Cache:
        return open_or_pack(self._path, self.config, packing_bar, mode=mode, workers=workers, overwrite=overwrite)

    def verify_and_fix_cache(self, fix: bool = True) -> dict[str, Any]:
        """Read every byte of the cache and, with `fix`, rebuild what is damaged from the corpus.

        {"cache", "intact": whether nothing is damaged now, "utterances": how many it holds, None while something is,
        "damaged", "repaired", "unrepaired": how many findings, "damaged_utterances", "unrepaired_utterances": their
        ids, "findings": what was found, in words}
        """
        damages = verify(self.cache_path)
        left = damages
        if damages and fix:
            left = repair(self.cache_path, self.corpus, PackSettings.from_config(self.config.data), damages)
            left = left or verify(self.cache_path)
        return {
            "cache": str(self.cache_path),
            "utterances": len(self) if not left else None,
            "intact": not left,
            "damaged": len(damages),
            "repaired": len(damages) - len(left),
            "unrepaired": len(left),
            "damaged_utterances": sorted({damage.id for damage in damages if damage.id is not None}),
            "unrepaired_utterances": sorted({damage.id for damage in left if damage.id is not None}),
            "findings": [str(damage) for damage in damages],
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
        A trainer takes the feed behind it, in static shapes and with the mel made on the device: see `data/tuples.py`.
        """
        given: dict[str, Any] = {
            "batch_size": batch_size,
            "memory_cache": memory_cache,
            "num_workers": num_parallel_calls,
        }
        data = replace(self.config.data, **{name: value for name, value in given.items() if value is not None})
        config = for_this_machine(replace(self.config, data=data))
        feed = Feed(self._packed(), config) if use_cache_files else self._file_feed(config)
        self._served = feed.describe()
        return tuples_of(feed, first_gpu())

    def _file_feed(self, config: XTTSConfig) -> FileFeed:
        kind = "native" if config.data.use_tf_native_loading else "python"
        return FileFeed(kind, list_corpus(self.corpus, config.data), config)

    def get_performance_report(self) -> dict[str, Any]:
        """{"dataset": what the last created dataset is served by, "cache": what is in it or None, "monitor": spans,
        counters, steps and stall of this process so far}."""
        cache = open_cache(self.cache_path, verify=False).summary() if is_cache(self.cache_path) else None
        return {"dataset": self._served, "cache": cache, "monitor": current_monitor().summary()}
