"""What a feed will do, worked out ahead and without TensorFlow: shapes, order, references, and where the bytes lie."""

from __future__ import annotations

import itertools
import logging
from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import xxhash
from numpy.typing import NDArray

from myxtts.cache.fit import settle
from myxtts.cache.reader import Cache
from myxtts.cache.sharded import ShardedCache
from myxtts.config.config import XTTSConfig
from myxtts.data.buckets import BucketTable, plan_buckets
from myxtts.data.order import Order, balance_weights
from myxtts.data.references import References
from myxtts.data.shard_order import ShardOrder, windows_of
from myxtts.errors import CacheMismatch
from myxtts.features.token_table import TokenTable
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
        tracks: Sequence[str] = (),
    ):
        """`data` are the config's settings, where not given those of the caches. `utterances`: per cache the rows to
        use, for instance those of the training split. `tracks`: what batches shall hold of every frame besides the mel
        (or the audio that it is made from), for instance "audio" for a vocoder."""
        self.caches = [caches] if isinstance(caches, Cache) else list(caches)
        self.data, self.seed = settle(config.data, self.caches), config.training.seed
        _check_tables(self.caches)
        self.payload = _payload(self.caches, self.data.preprocessing_mode, tracks)
        chosen = [None] * len(self.caches) if utterances is None else list(utterances)
        each = list(zip(self.caches, chosen, strict=True))
        self.tables = [_plan_table(cache, config, rows, len(each)) for cache, rows in each]
        weights = [_utterance_weights(cache, config, rows) for cache, rows in each]
        self.order = self._ordered({"cache_weights": cache_weights, "utterance_weights": weights})
        self._cache_weights = None if cache_weights is None else [float(weight) for weight in cache_weights]
        self.references = References(self.seed, [self._voices(cache) for cache in self.caches], utterances)
        self.steps_per_epoch = self.order.steps_per_epoch

    def _ordered(self, weights: dict[str, Any]) -> Order:
        """Of caches in more shards than are shuffled together, window by window: the same wherever the shards lie."""
        ends = [_shard_ends(cache) for cache in self.caches]
        if windows_of(ends, self.data.shuffle_shards) == 1:
            return Order(self.seed, self.tables, **weights)
        return ShardOrder(self.seed, self.tables, ends, self.data.shuffle_shards, **weights)

    def _voices(self, cache: Cache) -> NDArray[np.int64]:
        """A label for each utterance: those who share one may show each other's voice. Where only some shards are at
        hand that is the speaker in the same shard."""
        speaker = np.asarray(cache.columns["speaker"], np.int64)
        if not isinstance(self.order, ShardOrder):
            return speaker
        ends = _shard_ends(cache)
        return speaker + np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0)) * len(cache.speakers)

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
        """By which batches number their languages: the feed's own, or those of `number_languages`."""
        return self.own_languages

    @property
    def own_languages(self) -> list[str]:
        return list(dict.fromkeys(name for cache in self.caches for name in cache.languages))

    @property
    def main_language(self) -> str:
        """That of most frames."""
        frames: Counter[str] = Counter()
        for cache, table in zip(self.caches, self.tables, strict=True):
            spoken = np.asarray(cache.columns["language"])[table.members]
            counts = np.bincount(spoken, np.asarray(cache.columns["n_frames"])[table.members])
            frames.update(dict(zip(cache.languages, counts.tolist(), strict=False)))
        return max(frames, key=frames.__getitem__)

    @property
    def token_tables(self) -> list[TokenTable]:
        return [cache.table for cache in self.caches]

    def number_languages(self, names: Sequence[str]) -> None:
        """Let batches number their languages by these names, as the model does; all of the feed's must be there."""
        self.languages = list(names)
        for made in ("columns", "_index"):  # what was worked out with the old numbers
            self.__dict__.pop(made, None)

    @cached_property
    def id(self) -> str:
        """A hash of all that decides which utterances a step has: seed, buckets, members and weights."""
        digest = xxhash.xxh3_128(repr((self.seed, self._cache_weights, self.data.reference_frames)).encode())
        digest.update(repr((self.data.speaker_temperature, self.data.language_temperature)).encode())
        if isinstance(self.order, ShardOrder):
            digest.update(repr((self.order.windows, [_shard_ends(cache).tolist() for cache in self.caches])).encode())
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
        """The step to resume from; an error if the data is no longer that of the state."""
        if state["cache"] != self.cache_id:
            raise CacheMismatch(
                f"the run was on cache {state['cache'][:12]}, this is {self.cache_id[:12]}: its batches come in "
                "another order; resume with --replan, or name the old cache"
            )
        if state.get("plan", self.id) != self.id:
            raise CacheMismatch(
                "the run had another seed, batch size, buckets, weights or utterances: its batches come in another "
                "order; set them as they were, or resume with --replan"
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
            "windows": self.order.windows if isinstance(self.order, ShardOrder) else 1,
            "useful_frame_share": round(self.useful_frame_share, 4),
            "tables": [table.describe() for table in self.tables],
        }


def _shard_ends(cache: Cache) -> NDArray[np.int64]:
    """Where the utterances of each shard end; a cache in one piece is one shard."""
    return cache.ends if isinstance(cache, ShardedCache) else np.array([len(cache)])


def _check_tables(caches: Sequence[Cache]) -> None:
    """Caches that are mixed must number their tokens alike."""
    for cache in caches[1:]:
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


def _payload(caches: Sequence[Cache], mode: str, further: Sequence[str]) -> tuple[str, ...]:
    """The tracks that are gathered: mel, or the audio that it will be made from, and further ones."""
    if mode == "auto":
        mode = "precompute" if all("mel" in cache.tracks for cache in caches) else "on_the_fly"
    wanted = ("audio" if mode == "on_the_fly" else "mel", *further)
    for cache, track in itertools.product(caches, wanted):
        if track not in cache.tracks:
            raise CacheMismatch(
                f"{cache.folder} holds {', '.join(cache.tracks)} only, and {track} is needed: "
                + ("set data.preprocessing_mode to on_the_fly, or " if track == "mel" else "")
                + f"run 'myxtts pack --rebuild --mode precompute CORPUS -o {cache.folder}'"
            )
    return tuple(dict.fromkeys(wanted))


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
