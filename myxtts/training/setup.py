"""From a config and a feed to a model that fits both; and what must be told to TensorFlow before it begins."""

from __future__ import annotations

import itertools
import logging
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from myxtts.config.config import XTTSConfig
from myxtts.data.pipeline import Feed
from myxtts.errors import CacheDamaged
from myxtts.features.mel import log_mel
from myxtts.inference.reference import make_reference
from myxtts.models.description import ModelDescription
from myxtts.models.xtts import XTTS

log = logging.getLogger(__name__)

_STATISTICS_UTTERANCES = 500  # their mean is within 0.01 of that of 100,000
_VOICE_CLIPS = 4
_TOKENS_AT_ONCE = 1 << 22
_WORTH_IT = 1.4  # matrix products are three quarters of a step, and the rest does not get faster


def prepare_tensorflow(config: XTTSConfig) -> None:
    """GPU memory grows as it is needed; with `deterministic` every operation gives the same bits each time."""
    for gpu in tf.config.list_physical_devices("GPU"):
        try:
            tf.config.experimental.set_memory_growth(gpu, True)
        except RuntimeError:  # TensorFlow has already begun, in a notebook for instance
            log.warning("TensorFlow was started before training: it has taken the memory of the GPU as a whole")
    if config.training.deterministic:
        tf.config.experimental.enable_op_determinism()


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


def describe_model(config: XTTSConfig, feed: Feed) -> ModelDescription:
    """The model of a config for the texts, languages and speakers of a feed."""
    longest = max((cache.table for cache in feed.caches), key=len)
    settings = feed.caches[0].body["settings"]
    return ModelDescription(
        size=config.model.size,
        head=config.model.head,
        token_table=list(longest.symbols),
        learnt=_learnt(feed, longest.symbols),
        languages=list(feed.languages),
        speakers=feed.speakers,
        tokens=settings["tokens"],
        audio=settings["audio"],
    )


def _learnt(feed: Feed, symbols: Sequence[str]) -> list[str]:
    """The symbols that occur in the feed's texts."""
    counts = np.zeros(len(symbols), np.int64)
    for cache in feed.caches:
        for start in range(0, len(cache.tokens), _TOKENS_AT_ONCE):
            counts += np.bincount(cache.tokens[start : start + _TOKENS_AT_ONCE], minlength=len(symbols))
    return [symbol for symbol, count in zip(symbols, counts, strict=True) if count]


def build_model(config: XTTSConfig, feed: Feed) -> XTTS:
    """A new model, its first weights drawn from `training.seed`, its statistics those of the feed."""
    tf.keras.utils.set_random_seed(config.training.seed)
    model = XTTS(describe_model(config, feed), precision_for(config))
    model.set_statistics(*mel_statistics(feed))
    return model


def mel_statistics(feed: Feed) -> tuple[float, float]:
    """Mean and spread of log-mel values over some of the utterances of the feed, those without a finite one aside."""
    sums, squares, count = 0.0, 0.0, 0
    for cache, table in zip(feed.caches, feed.tables, strict=True):
        chosen = table.members[:: max(len(table.members) // _STATISTICS_UTTERANCES, 1)]
        for utterance in chosen.tolist():
            mel = _mel_of(cache, utterance).astype(np.float64)
            if not np.isfinite(mel).all():
                log.warning("DAMAGED in %s: %s: run 'myxtts verify'", cache.folder, cache.utterance_id(utterance))
                continue
            sums, squares, count = sums + mel.sum(), squares + np.square(mel).sum(), count + mel.size
    if not count:
        raise CacheDamaged(f"no utterance of {feed.caches[0].folder} has a sound mel: run 'myxtts verify --fix'")
    mean = sums / count
    return mean, float(np.sqrt(max(squares / count - mean**2, 1e-6)))


def _mel_of(cache: Any, utterance: int) -> np.ndarray:
    return cache.frames(utterance) if cache.mel is not None else log_mel(cache.samples(utterance))


def example_voice(feed: Feed) -> dict[str, np.ndarray]:
    """A few clips of the speaker who speaks most, kept with the model: its voice when no other is asked for."""
    places = zip(feed.tables, feed.bases, strict=True)
    speakers = [feed.columns[base + table.members, 4] for table, base in places]
    most = np.bincount(np.concatenate(speakers)).argmax()
    at = next(at for at, here in enumerate(speakers) if (here == most).any())
    cache, own = feed.caches[at], feed.tables[at].members[speakers[at] == most]
    longest = own[np.argsort(-cache.columns["n_frames"][own], kind="stable")]
    clips = (_mel_of(cache, utterance) for utterance in longest.tolist())
    sound = itertools.islice((clip for clip in clips if np.isfinite(clip).all()), _VOICE_CLIPS)
    reference = make_reference(sound)
    return {"reference": reference.crops.astype(np.float16), "lengths": reference.lengths}
