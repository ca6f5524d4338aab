"""Work that must fit into a device's memory: where it does not, the same in more parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from myxtts.errors import TrainingError


def within_memory(part: Any, work: Callable[[], Any], tell: Callable[[Exception], None]) -> Any:
    """Do it; where the device runs out of memory, in twice as many parts, down to single utterances. `part`: the step
    or the validator, which has `micro_batches` and its `largest_batch`."""
    while True:
        try:
            return work()
        except tf.errors.ResourceExhaustedError as error:
            if part.micro_batches >= part.largest_batch:
                raise TrainingError(
                    "the device has no memory for a single utterance: set a smaller model.size or data.max_mel_frames"
                ) from error
            part.micro_batches *= 2
            tell(error)
