"""Whose batch went wrong, and which of its utterances are no longer the bytes that were packed."""

from __future__ import annotations

from typing import Any

import numpy as np

from myxtts.cache.format import hash_column
from myxtts.cache.prepare import hash_rows
from myxtts.cache.reader import Cache
from myxtts.data.pipeline import Feed


def tell_not_finite(recorder: Any, source: Any, step: int, at: int, where: str, **numbers: float) -> list[str]:
    """Write down and say that a batch had no finite loss or gradient; the ids of its damaged utterances."""
    damaged = damaged_utterances(source, step)
    recorder.event("not_finite", at, where=where, utterances=source.utterance_ids(step), damaged=damaged, **numbers)
    hint = f"; DAMAGED in the cache: {', '.join(damaged)}: run 'myxtts verify'" if damaged else ""
    what = f"step {at} skipped" if where == "step" else f"batch {step} of the validation left out"
    recorder.say(f"{what}: its loss or gradient is not finite{hint}")
    return damaged


def damaged_utterances(source: Any, step: int) -> list[str]:
    """The ids of a step's utterances of which a track has another hash than when it was packed.

    The clips that show the voices and the rows that only fill up are looked at too: NaN times weight 0 is NaN.
    """
    feed = getattr(source, "feed", None)
    if not isinstance(feed, Feed):
        return []
    batch = feed.order.batch(step)
    cache = feed.caches[batch.cache]
    used = batch.utterances
    if feed.data.reference_frames:
        used = np.append(used, feed.references.pick(used, step, batch.cache)[0])
    rows = np.unique(used).tolist()
    return [cache.utterance_id(utterance) for utterance in rows if not _is_sound(cache, utterance)]


def _is_sound(cache: Cache, utterance: int) -> bool:
    return all(
        hash_rows(cache.track(name, utterance)) == int(cache.columns[hash_column(name)][utterance])
        for name in cache.tracks
    )
