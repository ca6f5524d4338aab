"""A voice for a model to speak in when no other is asked for: a few clips of what it was trained on."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from myxtts.data.device import widen
from myxtts.data.pipeline import Feed
from myxtts.features.mel import log_mel
from myxtts.inference.reference import make_reference

_CLIPS = 4


def voice_of_feed(feed: Feed, frames: int) -> dict[str, np.ndarray] | None:
    """The longest clips of the speaker who speaks most, in pieces of `frames`."""
    places = zip(feed.tables, feed.bases, strict=True)
    speakers = [feed.columns[base + table.members, 4] for table, base in places]
    most = np.bincount(np.concatenate(speakers)).argmax()
    at = next(at for at, here in enumerate(speakers) if (here == most).any())
    cache, own = feed.caches[at], feed.tables[at].members[speakers[at] == most]
    longest = own[np.argsort(-cache.columns["n_frames"][own], kind="stable")]
    return _voice((packed_mel(cache, utterance) for utterance in longest.tolist()), frames)


def voice_of_batch(batch: Mapping[str, Any], frames: int) -> dict[str, np.ndarray] | None:
    """The same of what is in one batch, where nobody knows what is in the others."""
    wide = widen(dict(batch))
    mel, lengths, weight = (np.asarray(wide[name]) for name in ("mel", "frame_lengths", "weight"))
    speaker = np.where(weight > 0, np.asarray(wide["speaker"]), -1)
    real = speaker[weight > 0]
    own = np.flatnonzero(speaker == np.bincount(real).argmax()) if len(real) else real
    longest = own[np.argsort(-lengths[own], kind="stable")]
    return _voice((mel[row, : lengths[row]] for row in longest.tolist()), frames)


def packed_mel(cache: Any, utterance: int) -> np.ndarray:
    return cache.frames(utterance) if cache.mel is not None else log_mel(cache.samples(utterance))


def _voice(clips: Iterable[np.ndarray], frames: int) -> dict[str, np.ndarray] | None:
    """The first clips that are intact, as a checkpoint keeps them."""
    intact = list(itertools.islice((clip for clip in clips if len(clip) and np.isfinite(clip).all()), _CLIPS))
    if not intact:
        return None
    reference = make_reference(intact, frames)
    return {"reference": reference.crops.astype(np.float16), "lengths": reference.lengths}
