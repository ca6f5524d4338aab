"""The feed's batches as dicts of numpy arrays, without TensorFlow: the same bytes in the same order.

    batches = NumpyBatches(Plan(Cache("voice.cache"), config), start_step=1200)
    for batch in torch.utils.data.DataLoader(batches, batch_size=None, num_workers=2):
        batch["mel"]  # torch.float16 [B, F, 80]

To PyTorch it is a map-style dataset whose item n is the batch of step `start_step + n`. So a DataLoader's workers share
the steps instead of repeating them, and return them in order; leave its `shuffle` off, the order is shuffled already.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myxtts.cache.mirrored import MirroredCache
from myxtts.data.order import END_OF_TIME, Batch
from myxtts.data.plan import COLUMNS, Plan
from myxtts.errors import ConfigError
from myxtts.features.mel import CONTEXT_ROWS
from myxtts.monitor import current_monitor

Arrays = dict[str, Any]


class NumpyBatches:
    """Batches of a plan (a `Feed` is one too) from `start_step` to `stop_step`, or without end.

    Fields, shapes and types are those of `Feed.dataset`. Each batch is made in arrays of its own: keep it if you like.
    """

    def __init__(self, plan: Plan, start_step: int = 0, stop_step: int | None = None):
        self.plan, self.start_step = plan, start_step
        self.stop_step = END_OF_TIME if stop_step is None else stop_step
        for cache in plan.caches:
            if isinstance(cache, MirroredCache):
                raise ConfigError(f"{cache.folder} mirrors a cache at an address, which a Feed waits for: use one")
        in_memory = plan.data.memory_cache or not plan.data.enable_memory_mapping
        self._files = [
            {name: cache.tracks[name] for name in plan.payload} | {"tokens": cache.tokens} for cache in plan.caches
        ]
        if in_memory:
            self._files = [{name: array.copy() for name, array in files.items()} for files in self._files]
        current_monitor().count("loader.numpy")

    def __len__(self) -> int:
        return max(self.stop_step - self.start_step, 0)

    def __iter__(self) -> Iterator[Arrays]:
        return (self[n] for n in range(len(self)))

    def __getitem__(self, n: int) -> Arrays:
        if not 0 <= n < len(self):
            raise IndexError(f"batch {n} of {len(self)}")
        return self._gather(self.plan.order.batch(self.start_step + n))

    def _gather(self, batch: Batch) -> Arrays:
        files, bucket = self._files[batch.cache], self.plan.order.buckets[batch.bucket]
        own = self._columns(batch.cache, batch.utterances)
        result: Arrays = {name: np.int64(getattr(batch, name)) for name in ("step", "epoch", "cache", "bucket")}
        result |= {"utterances": batch.utterances, "weight": batch.weight}
        for name in self.plan.payload:
            result[name] = _copy_rows(files[name], own["first_row"], own["n_frames"], bucket.frames)
        result["tokens"] = _copy_rows(files["tokens"], own["first_token"], own["n_tokens"], bucket.tokens, padding=0)
        renamed = {"frame_lengths": "n_frames", "token_lengths": "n_tokens", "speaker": "speaker"}
        renamed["language"] = "language"
        result |= {name: own[column].astype(np.int32) for name, column in renamed.items()}
        return result | self._gather_reference(batch, files) if self.plan.data.reference_frames else result

    def _gather_reference(self, batch: Batch, files: Arrays) -> Arrays:
        """A crop of another clip of the speaker; of audio with context around it, as far as the clip reaches."""
        length = self.plan.data.reference_frames
        reference, crop = self.plan.references.pick(batch.utterances, batch.step, batch.cache)
        clip = self._columns(batch.cache, reference)
        spare = np.maximum(clip["n_frames"] - length, 0)
        start = (crop * (spare + 1).astype(np.float32)).astype(np.int64)
        stop = np.minimum(start + length, clip["n_frames"])
        result = {"reference_lengths": (stop - start).astype(np.int32)}
        if "mel" in files:
            made = _copy_rows(files["mel"], clip["first_row"] + start, stop - start, length)
            return result | {"reference": made}
        first = np.maximum(start - CONTEXT_ROWS, 0)
        stop = np.minimum(start + length + CONTEXT_ROWS, clip["n_frames"])
        before = first - (start - CONTEXT_ROWS)
        rows = length + 2 * CONTEXT_ROWS
        made = _copy_rows(files["audio"], clip["first_row"] + first, stop - first, rows, before)
        return result | {"reference_audio": made}

    def _columns(self, cache: int, utterances: NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
        rows = self.plan.columns[self.plan.bases[cache] + utterances]
        return dict(zip(COLUMNS, rows.T, strict=True))


def _copy_rows(
    table: NDArray[Any],
    first: NDArray[np.int64],
    count: NDArray[np.int64],
    length: int,
    before: NDArray[np.int64] | None = None,
    padding: Any = None,
) -> NDArray[Any]:
    """[batch, length, ...]: `count` rows of the table from `first` on, after `before` rows of padding, then padding.

    A copy of whole runs of rows: a fancy index would first write down each row's number.
    """
    made = np.empty((len(first), length, *table.shape[1:]), table.dtype)
    padding = table[0] if padding is None else padding  # row 0 of a payload file
    offsets = np.zeros_like(first) if before is None else before
    for out, start, rows, offset in zip(made, first.tolist(), count.tolist(), offsets.tolist(), strict=True):
        out[:offset] = padding
        out[offset : offset + rows] = table[start : start + rows]
        out[offset + rows :] = padding
    return made
