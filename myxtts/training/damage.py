"""Which utterances of a batch are no longer the bytes that were packed: asked when a step goes wrong."""

from __future__ import annotations

from typing import Any

import numpy as np

from myxtts.cache.format import hash_column
from myxtts.cache.prepare import hash_rows
from myxtts.cache.reader import Cache
from myxtts.data.pipeline import Feed


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
