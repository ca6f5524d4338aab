"""From a cache on disk to a running training: what `myxtts train` does once its arguments are settled."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from myxtts.cache.fit import settle
from myxtts.cache.mirrored import MirroredCache
from myxtts.cache.open import open_cache
from myxtts.cache.reader import Cache
from myxtts.config.config import XTTSConfig
from myxtts.data.extract import Extract
from myxtts.data.pipeline import Feed
from myxtts.errors import CacheMismatch, TrainingError
from myxtts.models.vocoder_training import VocoderTraining
from myxtts.models.xtts import XTTS
from myxtts.training.setup import build_model, build_vocoder, prepare_tensorflow
from myxtts.training.split import split
from myxtts.training.start_from import settle_start
from myxtts.training.trainer import XTTSTrainer

_VOCODER_DATA = {"batch_size": 8, "num_buckets": 1, "reference_frames": 0}
_VOCODER_TRAINING = {"learning_rate": 5e-4, "beta1": 0.8, "beta2": 0.99, "sample_steps": 2000, "validation_steps": 1000}


def start_training(
    config: XTTSConfig,
    cache: Path,
    validation: Path | None,
    run: Path,
    *,
    replan: bool = False,
    resume_command: str = "",
) -> dict[str, Any]:
    """Train on a cache, validating on a part of it or on another one. Returns the trainer's summary."""
    prepare_tensorflow(config)  # before the first tensor: a GPU's memory cannot be told to grow later
    vocoder = config.model.part == "vocoder"
    config = for_vocoder(config) if vocoder else settle_start(config, open_cache(cache, verify=False))
    train, val = feeds_for(config, cache, validation, tracks=("audio",) if vocoder else ())
    model = model_for(config, train)
    return XTTSTrainer(config, model, run, resume_command, replan=replan).train(train, val)


def model_for(config: XTTSConfig, feed: Feed) -> XTTS | VocoderTraining:
    return build_vocoder(config) if config.model.part == "vocoder" else build_model(config, feed)


def for_vocoder(config: XTTSConfig) -> XTTSConfig:
    """Where nothing was given, what suits a vocoder: it sees short pieces, so one shape of batch wastes nothing."""
    data, training = config.data.filled(_VOCODER_DATA), config.training.filled(_VOCODER_TRAINING)
    return dataclasses.replace(config, data=data, training=training)


def feeds_for(
    config: XTTSConfig, cache: Path, validation: Path | None, tracks: Sequence[str] = ()
) -> tuple[Feed, Feed | None]:
    """`tracks`: what is needed of each clip besides its mel."""
    opened = open_cache(cache, config.data.cache_verification)
    if validation is not None:
        train = Feed(opened, config, tracks=tracks)
        return train, _validation_feed(config, open_cache(validation, config.data.cache_verification), None, train)
    sides = split(opened)
    train = Feed(opened, config, utterances=sides.train, tracks=tracks)
    rows = sides.validation[0]
    usable = rows[opened.columns["n_frames"][rows] <= config.data.max_mel_frames]
    if not len(usable):
        return train, None
    if isinstance(opened, MirroredCache):  # of which each shard may hold one
        return train, _validation_feed(config, Extract(opened, usable), None, train)
    return train, _validation_feed(config, opened, [usable], train)


def _validation_feed(config: XTTSConfig, cache: Cache, utterances: Any, train: Feed) -> Feed:
    """Few shapes, because each is compiled; languages and speakers numbered as in training."""
    settle(config.data, [*train.caches, cache])  # packed alike, or refused
    data = dataclasses.replace(config.data, num_buckets=min(config.data.num_buckets, 2), frame_budget=None)
    feed = Feed(cache, dataclasses.replace(config, data=data), utterances=utterances, tracks=train.payload[1:])
    strange = sorted(set(cache.languages) - set(train.languages))
    if strange:
        raise TrainingError(f"{cache.folder} has {', '.join(strange)}, which is not trained on: leave those rows out")
    if not train.caches[0].table.extends(cache.table):
        raise CacheMismatch(
            f"{cache.folder} has symbols that {train.caches[0].folder} has not, or numbers them differently: pack it "
            f"with --set data.token_table={train.caches[0].folder}"
        )
    feed.languages = train.languages
    feed.speakers = list(dict.fromkeys([*train.speakers, *cache.speakers]))
    return feed
