"""A small packed voice, a config that trains on it in a second, and damage to it."""

from pathlib import Path

import numpy as np
from corpora import feed_config, write_corpus

from myxtts.cache.pack import pack
from myxtts.cache.reader import Cache
from myxtts.cache.settings import PackSettings
from myxtts.config.config import TrainingConfig, XTTSConfig
from myxtts.corpus.read import open_corpus
from myxtts.features.audio import AudioSettings
from myxtts.features.text import TextFrontend

QUICK = {"validation_steps": 1000, "sample_steps": 0, "warmup_steps": 2, "learning_rate": 0.05, "precision": "float32"}


def pack_voice(folder: Path, utterances: int) -> Path:
    """Two speakers, clips of 0.4 to 1.2 s, in characters."""
    write_corpus(folder / "voice", utterances, (0.4, 1.2))
    settings = PackSettings(AudioSettings(), TextFrontend(kind="characters"))
    pack(open_corpus(folder / "voice"), folder / "voice.cache", settings)
    return folder / "voice.cache"


def small_config(data: dict | None = None, **training) -> XTTSConfig:
    config = feed_config(**{"num_buckets": 1, "reference_frames": 32} | (data or {}))
    config.training = TrainingConfig(**QUICK | training)
    return config


def write_nan(folder: Path, *utterances: int) -> None:
    """Let the disk do its worst: NaN in the packed mel of these utterances (all without any)."""
    cache = Cache(folder)
    mel = np.load(folder / "mel.npy", mmap_mode="r+")
    for utterance in utterances or range(len(cache)):
        first, frames = (int(cache.columns[name][utterance]) for name in ("first_row", "n_frames"))
        mel[first : first + frames] = np.nan
    mel.flush()
