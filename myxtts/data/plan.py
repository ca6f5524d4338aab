"""What a feed will do, worked out ahead and without TensorFlow: shapes, order, references, and where the bytes lie."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import xxhash
from numpy.typing import NDArray

from myxtts.cache.pack import differences
from myxtts.cache.reader import Cache
from myxtts.config.config import DataConfig, XTTSConfig
from myxtts.data.buckets import BucketTable, plan_buckets
from myxtts.data.order import Order, References, balance_weights
from myxtts.errors import CacheMismatch
from myxtts.monitor import current_monitor

log = logging.getLogger(__name__)

# What a batch needs to know of an utterance, in this order in `Plan.columns`.
COLUMNS = ("first_row", "n_frames", "first_token", "n_tokens", "speaker", "language")


class Plan:
    """Buckets, order and references of one or several caches. The state of a run through it: a step and a cache id."""

    def __init__(
        self,
        caches: Cache | Sequence[Cache],
        config: XTTSConfig,
        *,
        utterances: Sequence[Any] | None = None,
        cache_weights: Sequence[float] | None = None,
        with_audio: bool = False,
    ):
        """`utterances`: per cache the rows to use, for instance those of the training split. `with_audio` adds audio
        to mel batches, for a vocoder."""
        self.caches = [caches] if isinstance(caches, Cache) else list(caches)
        self.data, self.seed = config.data, config.training.seed
        _check_caches(self.caches, self.data)
        self.payload = _payload(self.caches, self.data.preprocessing_mode, with_audio)
        chosen = [None] * len(self.caches) if utterances is None else list(utterances)
        each = list(zip(self.caches, chosen, strict=True))
        self.tables = [_plan_table(cache, config, rows, len(each)) for cache, rows in each]
        weights = [_utterance_weights(cache, config, rows) for cache, rows in each]
        self.order = Order(self.seed, self.tables, cache_weights=cache_weights, utterance_weights=weights)
        self._cache_weights = None if cache_weights is None else [float(weight) for weight in cache_weights]
        speakers = [np.asarray(cache.columns["speaker"]) for cache in self.caches]
        self.references = References(self.seed, speakers, utterances)
        self.steps_per_epoch = self.order.steps_per_epoch

    @cached_property
    def columns(self) -> NDArray[np.int64]:
        """[utterances of all caches, COLUMNS]; those of cache c begin at `bases[c]`.

        Speakers and languages are positions in `speakers` and `languages`, which name those of all caches.
        """
        parts = [np.stack([cache.columns[name] for name in COLUMNS], axis=1).astype(np.int64) for cache in self.caches]
        for part, cache in zip(parts, self.caches, strict=True):
            for at, (names, own) in ((4, (self.speakers, cache.speakers)), (5, (self.languages, cache.languages))):
                place = {name: code for code, name in enumerate(names)}
                part[:, at] = np.array([place[name] for name in own])[part[:, at]]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    @cached_property
    def speakers(self) -> list[str]:
        return list(dict.fromkeys(name for cache in self.caches for name in cache.speakers))

    @cached_property
    def languages(self) -> list[str]:
        return list(dict.fromkeys(name for cache in self.caches for name in cache.languages))

    @cached_property
    def id(self) -> str:
        """A hash of all that decides which utterances a step has: seed, buckets, members and weights."""
        digest = xxhash.xxh3_128(repr((self.seed, self._cache_weights, self.data.reference_frames)).encode())
        digest.update(repr((self.data.speaker_temperature, self.data.language_temperature)).encode())
        for table in self.tables:
            for array in (table.frames, table.tokens, table.batch, table.starts, table.members):
                digest.update(np.ascontiguousarray(array).data.cast("B"))
        return digest.hexdigest()

    @property
    def bases(self) -> NDArray[np.int64]:
        sizes = np.array([len(cache) for cache in self.caches])
        return np.cumsum(sizes) - sizes

    @property
    def cache_id(self) -> str:
        return "+".join(cache.id for cache in self.caches)

    @property
    def useful_frame_share(self) -> float:
        """Real frames / padded frames over all caches."""
        padded = sum(int((table.batches * table.batch * table.frames).sum()) for table in self.tables)
        return sum(int(table.real_frames.sum()) for table in self.tables) / padded

    def state(self, step: int) -> dict[str, Any]:
        """All that a checkpoint must keep of the feed."""
        return {"step": step, "cache": self.cache_id, "plan": self.id}

    def resume(self, state: dict[str, Any]) -> int:
        """The step to go on from; an error if the data is no longer that of the state."""
        if state["cache"] != self.cache_id:
            raise CacheMismatch(
                f"the run was on cache {state['cache'][:12]}, this is {self.cache_id[:12]}: its batches come in "
                "another order; go on with --replan, or name the old cache"
            )
        if state.get("plan", self.id) != self.id:
            raise CacheMismatch(
                "the run had another seed, batch size, buckets, weights or utterances: its batches come in another "
                "order; set them as they were, or go on with --replan"
            )
        return int(state["step"])

    def utterance_ids(self, step: int) -> list[str]:
        """The names of a batch's utterances: for logs of what went wrong."""
        batch = self.order.batch(step)
        cache = self.caches[batch.cache]
        return [cache.utterance_id(int(row)) for row in batch.utterances[batch.weight > 0]]

    def describe(self) -> dict[str, Any]:
        return {
            "payload": list(self.payload),
            "cache": self.cache_id,
            "steps_per_epoch": self.steps_per_epoch,
            "useful_frame_share": round(self.useful_frame_share, 4),
            "tables": [table.describe() for table in self.tables],
        }


def _check_caches(caches: Sequence[Cache], data: DataConfig) -> None:
    """Caches that are mixed must be made alike, and all must be what the config says; never used silently if not."""
    for cache in caches:
        unlike = differences(data, cache.body["settings"])
        if unlike:
            raise CacheMismatch(
                f"{cache.folder} was packed with other settings than the config's ({'; '.join(unlike)}): set them as "
                f"they were, or run 'myxtts pack --rebuild CORPUS -o {cache.folder}'"
            )
        longer, shorter = sorted((cache.table, caches[0].table), key=len, reverse=True)
        if not longer.extends(shorter):
            raise CacheMismatch(
                f"{cache.folder} and {caches[0].folder} number their tokens differently: pack one with "
                f"--set data.token_table={caches[0].folder}"
            )


def _plan_table(cache: Cache, config: XTTSConfig, rows: Any, n_caches: int) -> BucketTable:
    """The buckets of one cache; what is over the cap is reported."""
    data = config.data
    table = plan_buckets(
        cache.columns["n_frames"],
        cache.columns["n_tokens"],
        batch_size=min(data.batch_size, len(cache) if rows is None else len(rows)),  # a larger one would be padding
        max_buckets=max(data.num_buckets // n_caches, 1),
        max_frames=data.max_mel_frames,
        frame_budget=data.frame_budget,
        utterances=rows,
    )
    if len(table.over_cap):
        _report_over_cap(cache, table.over_cap, data.max_mel_frames)
    return table


def _report_over_cap(cache: Cache, over_cap: NDArray[np.int64], max_mel_frames: int) -> None:
    names = ", ".join(cache.utterance_id(int(row)) for row in over_cap[:5]) + (" ..." if len(over_cap) > 5 else "")
    log.warning(
        "%d of %d utterances of %s are longer than data.max_mel_frames = %d and are left out: %s",
        len(over_cap), len(cache), cache.folder, max_mel_frames, names,
    )  # fmt: skip
    current_monitor().count("utterances_over_cap", len(over_cap))


def _payload(caches: Sequence[Cache], mode: str, with_audio: bool) -> tuple[str, ...]:
    """What is gathered: mel rows, audio rows, or both."""
    if mode == "auto":
        mode = "precompute" if all(cache.mel is not None for cache in caches) else "on_the_fly"
    if mode == "on_the_fly":
        return ("audio",)
    for cache in caches:
        if cache.mel is None:
            raise CacheMismatch(
                f"{cache.folder} holds audio only, data.preprocessing_mode is precompute: set it to on_the_fly, or run "
                f"'myxtts pack --rebuild --mode precompute CORPUS -o {cache.folder}'"
            )
    return ("mel", "audio") if with_audio else ("mel",)


def _utterance_weights(cache: Cache, config: XTTSConfig, rows: Any) -> NDArray[np.float64] | None:
    """Weights [utterances] that balance speakers and languages among `rows`; None where all count the same."""
    speaker, language = config.data.speaker_temperature, config.data.language_temperature
    if speaker == 1.0 and language == 1.0:
        return None
    rows = np.arange(len(cache)) if rows is None else np.asarray(rows)
    weights = np.zeros(len(cache))
    weights[rows] = balance_weights(cache.columns["speaker"][rows], speaker)
    weights[rows] *= balance_weights(cache.columns["language"][rows], language)
    return weights
