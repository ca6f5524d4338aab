"""From a config and a feed to a model that fits both; and what must be told to TensorFlow before it begins."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from myxtts.cache.mirrored import MirroredCache
from myxtts.cache.reader import Cache
from myxtts.cache.settings import PackSettings
from myxtts.cache.validation import impossible_tokens
from myxtts.cache.verify import verify_tokens
from myxtts.config.config import XTTSConfig
from myxtts.data.file_feed import FileFeed
from myxtts.data.pipeline import Feed
from myxtts.data.tuples import feed_behind
from myxtts.errors import CacheDamaged, RowError, TrainingError
from myxtts.features.audio import load_clip
from myxtts.features.mel import log_mel
from myxtts.inference.synthesizer import Synthesizer
from myxtts.models import replica, weights
from myxtts.models.description import REFERENCE_FRAMES, ModelDescription, find_checkpoint, weights_file
from myxtts.models.format import part_of
from myxtts.models.shipped import VOCODER, shipped
from myxtts.models.vocoder_description import VocoderDescription
from myxtts.models.vocoder_training import VocoderTraining
from myxtts.models.xtts import XTTS
from myxtts.training.start_from import joined, starts_from_another, take_over
from myxtts.training.voice import packed_mel

log = logging.getLogger(__name__)

_STATISTICS_UTTERANCES = 500  # their mean is within 0.01 of that of 100,000
_TOKENS_AT_ONCE = 1 << 22
_WORTH_IT = 1.4  # matrix products are three quarters of a step, and the rest does not get faster


def prepare_tensorflow(config: XTTSConfig) -> None:
    """GPU memory grows as it is needed; with `deterministic` every operation gives the same bits each time,
    on CPUs however a run's devices are spread over processes."""
    for gpu in tf.config.list_physical_devices("GPU"):
        try:
            tf.config.experimental.set_memory_growth(gpu, True)
        except RuntimeError:  # TensorFlow has already begun, in a notebook for instance
            log.warning("TensorFlow was started before training: it has taken the memory of the GPU as a whole")
    if config.training.deterministic:
        tf.config.experimental.enable_op_determinism()
        # It regroups sums, and differently where a process has two replicas than where it has four.
        tf.config.optimizer.set_experimental_options({"arithmetic_optimization": False})
        replica.clock_runs = False


def precision_for(config: XTTSConfig) -> str:
    """What the config says, or what this machine computes best in."""
    if config.training.precision != "auto":
        return config.training.precision
    gpus = tf.config.list_physical_devices("GPU")
    if gpus:
        capability = tf.config.experimental.get_device_details(gpus[0]).get("compute_capability", (0, 0))
        return "bfloat16" if capability >= (8, 0) else "float16" if capability >= (7, 0) else "float32"
    return "bfloat16" if _multiplies_faster_in_bfloat16() else "float32"


def _multiplies_faster_in_bfloat16() -> bool:
    """Measured, in 0.1 s: a CPU with bfloat16 arithmetic wins 1.4x and more, one without (AVX2 only) loses."""
    seconds = {}
    for kind in (tf.float32, tf.bfloat16):
        left, right = tf.ones([1024, 192], kind), tf.ones([192, 576], kind)
        times = []
        for _ in range(8):
            started = time.perf_counter()
            tf.reduce_sum(tf.matmul(left, right)).numpy()
            times.append(time.perf_counter() - started)
        seconds[kind] = min(times)
    return seconds[tf.bfloat16] * _WORTH_IT < seconds[tf.float32]


def describe_model(config: XTTSConfig, data: Any) -> ModelDescription:
    """The model of a config for the texts, languages and speakers of a feed, or of the dataset that was made of one."""
    feed = _feed_of(data)
    symbols = max(feed.token_tables, key=len).symbols
    settings = _packed_settings(feed)
    return ModelDescription(
        size=config.model.size,
        reference_frames=config.data.reference_frames or REFERENCE_FRAMES,
        token_table=list(symbols),
        learnt=_learnt(feed, symbols),
        languages=list(feed.languages),
        main_language=feed.main_language,
        speakers=feed.speakers,
        tokens=settings["tokens"],
        audio=settings["audio"],
    )


def _feed_of(data: Any) -> Feed | FileFeed:
    feed = feed_behind(data)
    if feed is None:
        raise TrainingError(
            f"cannot build a model for a {type(data).__name__}: give a Feed, or what create_tf_dataset returned"
        )
    return feed


def _packed_settings(feed: Feed | FileFeed) -> dict[str, Any]:
    """How text and audio were prepared, as a cache says it."""
    return feed.caches[0].body["settings"] if isinstance(feed, Feed) else PackSettings.from_config(feed.data).groups()


def _learnt(feed: Feed | FileFeed, symbols: Sequence[str]) -> list[str]:
    """The symbols that occur in the feed's texts."""
    counts = np.zeros(len(symbols), np.int64)
    for tokens in _tokens_of(feed):
        for start in range(0, len(tokens), _TOKENS_AT_ONCE):
            some = tokens[start : start + _TOKENS_AT_ONCE]
            if isinstance(feed, Feed) and impossible_tokens(some, len(symbols)):
                raise CacheDamaged(_foreign_tokens(feed, len(symbols)))
            counts += np.bincount(some, minlength=len(symbols))
    if isinstance(feed, Feed) and feed.data.cache_verification:
        _refuse_damaged_tokens(feed)
    return [symbol for symbol, count in zip(symbols, counts, strict=True) if count]


def _refuse_damaged_tokens(feed: Feed) -> None:
    for cache in feed.caches:
        for folder in _token_folders(cache):
            if damages := verify_tokens(folder):
                more = f" and {len(damages) - 1} more" if len(damages) > 1 else ""
                mend = f"run 'myxtts verify {cache.folder} --fix CORPUS'"
                raise CacheDamaged(f"{folder}: {damages[0]}{more}: {mend}")


def _token_folders(cache: Cache) -> list[Path]:
    """Where a cache's tokens lie: in each of its shards, if it has any. A mirror has compared them when they came."""
    if isinstance(cache, MirroredCache):
        return []
    shards = [shard["name"] for shard in cache.body.get("shards", []) if shard["utterances"]]
    return [cache.folder / name for name in shards] or [cache.folder]


def _tokens_of(feed: Feed | FileFeed) -> Iterator[np.ndarray]:
    if not isinstance(feed, Feed):
        yield feed.listing.tokens
        return
    for cache in feed.caches:
        yield from cache.token_parts()


def _foreign_tokens(feed: Feed, symbols: int) -> str:
    """One flipped bit is enough, and numpy would count up to it: 8 GB for bit 30."""
    parts = ((cache.folder, part) for cache in feed.caches for part in cache.token_parts())
    folder = next(folder for folder, part in parts if impossible_tokens(part, symbols))
    return f"{folder}: tokens.npy is damaged, it holds ids of no symbol: run 'myxtts verify {folder} --fix CORPUS'"


def build_vocoder(config: XTTSConfig) -> VocoderTraining:
    """A new vocoder and its discriminators. `training.start_from` is a vocoder to start from, or a voice on whose own
    frames the vocoder that ships is trained on."""
    tf.keras.utils.set_random_seed(config.training.seed)
    if not starts_from_another(config.training):
        return VocoderTraining(VocoderDescription())
    start = str(config.training.start_from)
    folder, source = find_checkpoint(start), {"started_from": Path(start).name}
    speaks = part_of(folder) == "acoustic"
    acoustic = Synthesizer.load(folder).model if speaks else None
    model = VocoderTraining(VocoderDescription(source=source), acoustic, spectral_steps=0)
    weights.set_weights(model, weights.load(weights_file(shipped(VOCODER) if speaks else folder)))
    return model


def build_model(config: XTTSConfig, data: Any) -> XTTS:
    """A new model for a feed or a dataset made of one: its first weights those of `training.start_from`, or drawn from
    `training.seed`, with the statistics of the data."""
    tf.keras.utils.set_random_seed(config.training.seed)
    description, start = describe_model(config, data), str(config.training.start_from)
    if starts_from_another(config.training):
        description = joined(description, ModelDescription.load(find_checkpoint(start)))
    model = XTTS(description, precision_for(config))
    if starts_from_another(config.training):
        take_over(model, start)
    else:
        model.set_statistics(*mel_statistics(data))
    return model


def mel_statistics(data: Any) -> tuple[float, float]:
    """Mean and spread of log-mel values over some of the utterances, those without a finite one aside."""
    feed = _feed_of(data)
    sums, squares, count = 0.0, 0.0, 0
    for mel in _packed_mels(feed) if isinstance(feed, Feed) else _file_mels(feed):
        wide = mel.astype(np.float64)
        sums, squares, count = sums + wide.sum(), squares + np.square(wide).sum(), count + wide.size
    if not count:
        raise CacheDamaged("no utterance has an intact mel: run 'myxtts verify --fix'")
    mean = sums / count
    return mean, float(np.sqrt(max(squares / count - mean**2, 1e-6)))


def _packed_mels(feed: Feed) -> Iterator[np.ndarray]:
    for cache, table in zip(feed.caches, feed.tables, strict=True):
        for utterance in _some(table.members):
            mel = packed_mel(cache, utterance)
            if np.isfinite(mel).all():
                yield mel
            else:
                log.warning("DAMAGED in %s: %s: run 'myxtts verify'", cache.folder, cache.utterance_id(utterance))


def _file_mels(feed: FileFeed) -> Iterator[np.ndarray]:
    settings = PackSettings.from_config(feed.data).audio
    for utterance in _some(feed.table.members):
        try:
            yield log_mel(load_clip(feed.listing.paths[utterance], settings))
        except RowError as error:
            log.warning("%s cannot be used: %s", feed.listing.paths[utterance], error)


def _some(members: np.ndarray) -> list[int]:
    return members[:: max(len(members) // _STATISTICS_UTTERANCES, 1)].tolist()
