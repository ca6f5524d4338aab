"""Some utterances of a cache, copied into memory as a cache of their own: a validation set needs no shard at hand."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from myxtts.cache.format import TRACKS, padding_row, track_file
from myxtts.cache.reader import Cache
from myxtts.data.memory import aligned_copy
from myxtts.files import fingerprint


class Extract(Cache):
    """Numbered from 0 in the order of `rows`; names, table and settings are the cache's."""

    def __init__(self, cache: Cache, rows: NDArray[np.int64]):
        self._whole, self._picked = cache, np.asarray(rows)
        self.folder, self.mode = cache.folder, cache.mode
        self.id = fingerprint([cache.id, rows.tolist()])
        self.speakers, self.languages = cache.speakers, cache.languages
        self.body = cache.body | {"utterances": len(rows)}
        self.columns = {name: np.asarray(column)[rows] for name, column in cache.columns.items()}
        for first, count, start in (("first_row", "n_frames", 1), ("first_token", "n_tokens", 0)):
            counts = self.columns[count].astype(np.int64)
            self.columns[first] = start + np.cumsum(counts) - counts
        self.tokens = aligned_copy(np.concatenate([cache.token_ids(row) for row in rows.tolist()]))
        self.tracks = {name: self._copy(name) for name in TRACKS if name in cache.tracks}

    def _copy(self, name: str) -> NDArray[Any]:
        parts = [self._whole.track(name, row) for row in self._picked.tolist()]
        return aligned_copy(np.concatenate([padding_row(track_file(name)), *parts]))

    def _string(self, kind: str, utterance: int) -> str:
        row = int(self._picked[utterance])
        return self._whole.utterance_id(row) if kind == "id" else self._whole.text(row)
