"""The slow way, in one place: Python per file (soundfile and numpy) inside a TensorFlow graph. Loud and counted.

`tf.numpy_function` holds the GIL and cannot be checkpointed or exported: it is the stall that this project cures. So it
serves only files that the graph cannot decode, and as the yardstick of the benchmarks. The first use is a warning that
names the file and why; each use counts `python_path` and `python_path.REASON` in the monitor.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from myxtts.errors import RowError
from myxtts.features.audio import AudioSettings, load_clip
from myxtts.features.mel import N_MELS, log_mel
from myxtts.monitor import current_monitor

log = logging.getLogger(__name__)


def load_clip_in_python(path: Any, settings: AudioSettings, reason: Any) -> Any:
    """The clip as the packer makes it, int16 [samples]; a file that Python cannot use either is an error naming it."""
    return _run(lambda file: load_clip(file, settings), path, reason, np.zeros(0, np.int16))


def load_mel_in_python(path: Any, settings: AudioSettings, reason: Any) -> Any:
    """The same up to the mel, float32 [frames, mels]."""
    return _run(lambda file: log_mel(load_clip(file, settings)), path, reason, np.zeros((0, N_MELS), np.float32))


def _run(work: Callable[[str], Any], path: Any, reason: Any, empty: np.ndarray) -> Any:
    """`work(path)` as a graph op. `empty` is what it would give for an empty file: dtype and shape of the result."""

    def call(path: Any, reason: Any) -> tuple[Any, bytes]:
        file = _text(path)
        _report(file, _text(reason))
        try:
            with current_monitor().time_operation("python_path"):
                return work(file), b""
        except RowError as error:
            return empty, _failure(file, error).encode(errors="surrogateescape")

    made, failure = tf.numpy_function(call, [path, reason], (empty.dtype, tf.string))
    # Not raised in `call`: an Assert is an InvalidArgumentError in graphs and eagerly, without a Python traceback.
    with tf.control_dependencies([tf.debugging.Assert(tf.equal(failure, ""), [failure])]):
        return tf.ensure_shape(tf.identity(made), [None, *empty.shape[1:]])


def _text(value: Any) -> str:
    """A string tensor's value: bytes in graphs, an array of them eagerly."""
    return os.fsdecode(np.asarray(value, object).item())


def _failure(file: str, error: RowError) -> str:
    return (
        f"{file} cannot be used ({error.reason}): {error.message}; mend the file or remove its row ('myxtts pack' "
        "leaves such rows out and writes each down)"
    )


def _report(file: str, reason: str) -> None:
    monitor = current_monitor()
    monitor.count(f"python_path.{reason}")
    if monitor.count("python_path") == 1:
        log.warning(
            "%s is decoded in Python (%s), one file at a time under the GIL, and others may be too: 'myxtts pack' the "
            "corpus once instead; the monitor counts such files as python_path",
            file, reason,
        )  # fmt: skip
