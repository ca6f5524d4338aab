"""Which utterances of a batch are no longer the bytes that were packed: asked when a step goes wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import xxhash

from myxtts.cache.reader import Cache


def damaged_utterances(source: Any, step: int) -> list[str]:
    """The ids of a step's utterances whose mel or audio has another hash than when it was packed.

    The clips that show the voices and the rows that only fill up are looked at too: NaN times weight 0 is NaN.
    """
    feed = getattr(source, "feed", None)
    if feed is None:
        return []
    batch = feed.order.batch(step)
    cache = feed.caches[batch.cache]
    used = batch.utterances
    if feed.data.reference_frames:
        used = np.append(used, feed.references.pick(used, step, batch.cache)[0])
    rows = np.unique(used).tolist()
    return [cache.utterance_id(utterance) for utterance in rows if not _is_sound(cache, utterance)]


def _is_sound(cache: Cache, utterance: int) -> bool:
    rows = slice(*np.cumsum([cache.columns[name][utterance] for name in ("first_row", "n_frames")]).tolist())
    kept = {"audio": cache.audio, "mel": cache.mel}
    return all(
        xxhash.xxh3_64_intdigest(array[rows].data.cast("B")) == int(cache.columns[f"xxh3_{name}"][utterance])
        for name, array in kept.items()
        if array is not None
    )
