"""From a cache on disk to a running training: what `myxtts train` does once its arguments are settled."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import tensorflow as tf

from myxtts.cache.fit import settle
from myxtts.cache.mirrored import MirroredCache
from myxtts.cache.open import open_cache
from myxtts.cache.reader import Cache
from myxtts.config.config import XTTSConfig
from myxtts.data.extract import Extract
from myxtts.data.pipeline import Feed
from myxtts.errors import CacheMismatch, CheckpointError, ConfigError, TrainingError
from myxtts.models.vocoder_training import VocoderTraining
from myxtts.models.xtts import XTTS
from myxtts.training.cluster import Cluster, cluster_of, split_address
from myxtts.training.crew import Crew
from myxtts.training.frame_budget import AUTO, find_budget
from myxtts.training.heartbeat import Heartbeat, open_port
from myxtts.training.passport import passport_of
from myxtts.training.replicas import replicas_for
from myxtts.training.resume import as_before, check_start, settings_of
from myxtts.training.setup import build_model, build_vocoder, precision_for, prepare_tensorflow
from myxtts.training.split import split
from myxtts.training.start_from import settle_start
from myxtts.training.trainer import XTTSTrainer

log = logging.getLogger(__name__)

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
    last_words: Callable[[str], None] = log.error,
) -> dict[str, Any]:
    """Train on a cache, validating on a part of it or on another one. Returns the trainer's summary.

    `last_words`: where there are several workers, what to do with the line that says why all end.
    """
    prepare_tensorflow(config)  # before the first tensor: a GPU's memory cannot be told to grow later
    vocoder = config.model.part == "vocoder"
    check_variation(config)
    before = settings_of(run)  # of a run that is resumed
    check_start(run, before, config)
    suited = for_vocoder(config) if vocoder else _with_start(config, cache, run, before)
    config = as_before(before, config, suited)
    cluster = cluster_of()
    config = config if cluster is None else same_everywhere(config)
    tracks, opened = ("audio",) if vocoder else (), open_cache(cache, config.data.cache_verification)
    auto = config.data.frame_budget == AUTO
    train, val = (None, None) if auto else feeds_for(config, opened, validation, tracks)
    with assembled(config, train, cluster, last_words) as crew:
        if train is None:
            config, train, val = with_budget(config, opened, validation, tracks, crew)
        with crew.scope():
            model = model_for(config, train)
        return XTTSTrainer(config, model, run, resume_command, replan=replan, crew=crew).train(train, val)


def _with_start(config: XTTSConfig, cache: Path, run: Path, before: XTTSConfig | None) -> XTTSConfig:
    own_start = None if before is None else before.training.start_from
    try:
        return settle_start(config, open_cache(cache, verify=False), own_start, begins=before is None)
    except CheckpointError as error:
        if before is None:
            raise
        raise CheckpointError(f"{run} cannot be resumed without what it started from: {error}; put it back, or say "
                              "with --from where it is now") from None  # fmt: skip


def with_budget(
    config: XTTSConfig, cache: Cache, validation: Path | None, tracks: Sequence[str], crew: Crew
) -> tuple[XTTSConfig, Feed, Feed | None]:
    """The config with what the memory of this device holds in the place of `data.frame_budget: auto`, and its feeds."""
    budget = find_budget(config, cache, tracks, crew, model_for)
    config = dataclasses.replace(config, data=dataclasses.replace(config.data, frame_budget=budget.frames))
    train, val = feeds_for(config, cache, validation, tracks)
    log.info("%s", budget.describe(train.useful_frame_share))
    return config, train, val


@contextmanager
def assembled(
    config: XTTSConfig, feed: Feed | None, cluster: Cluster | None, last_words: Callable[[str], None]
) -> Iterator[Crew]:
    """The devices that train, once all workers are there: nothing may be computed before. `feed`: what workers compare;
    needed where there are several."""
    devices = config.training.devices
    if cluster is None:
        crew = Crew(replicas_for(devices, None))
        if crew.replicas is not None:
            log.info("%s", crew.replicas.describe())
        yield crew
        return
    own = cluster.addresses[cluster.rank]
    open_port(*split_address(own), f"that of worker {cluster.rank}, {own}").close()
    kind = "GPU" if tf.config.list_physical_devices("GPU") else "CPU"
    passport = passport_of(config, feed, tf.__version__, kind)
    with Heartbeat(cluster, config.training.worker_deadline_seconds, passport, last_words) as heartbeat:
        heartbeat.enter(0, "starting")
        crew = Crew(replicas_for(devices, cluster), heartbeat)
        log.info("%s", crew.replicas.describe() if crew.replicas else "")
        yield crew


def same_everywhere(config: XTTSConfig) -> XTTSConfig:
    """What would be measured on each machine is decided without: two that differ could not exchange gradients."""
    if config.data.frame_budget == AUTO:
        raise ConfigError(
            "data.frame_budget is auto, and several workers need one number: train a step alone on the smallest device "
            "('myxtts train ... --steps 1 --run runs/probe'), and give them data.frame_budget of its config.yaml times "
            "the number of workers"
        )
    if config.training.precision != "auto":
        return config
    precision = precision_for(config) if tf.config.list_physical_devices("GPU") else "float32"
    return dataclasses.replace(config, training=config.training.filled({"precision": precision}))


def model_for(config: XTTSConfig, feed: Feed) -> XTTS | VocoderTraining:
    return build_vocoder(config) if config.model.part == "vocoder" else build_model(config, feed)


def check_variation(config: XTTSConfig) -> None:
    share, why = config.training.vary_voices, ""
    if share and config.model.part == "vocoder":
        why = "a vocoder learns the sound of frames as they are"
    elif share and not config.data.reference_frames:
        why = "without references (data.reference_frames is 0) there is no voice to follow"
    if why:
        raise ConfigError(f"training.vary_voices is {share:g}, but {why}: leave it out")


def for_vocoder(config: XTTSConfig) -> XTTSConfig:
    """Where nothing was given, what suits a vocoder: it sees short pieces, so one shape of batch wastes nothing."""
    data, training = config.data.filled(_VOCODER_DATA), config.training.filled(_VOCODER_TRAINING)
    return dataclasses.replace(config, data=data, training=training)


def feeds_for(
    config: XTTSConfig, cache: Path | Cache, validation: Path | None, tracks: Sequence[str] = ()
) -> tuple[Feed, Feed | None]:
    """`tracks`: what is needed of each clip besides its mel."""
    opened = cache if isinstance(cache, Cache) else open_cache(cache, config.data.cache_verification)
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
