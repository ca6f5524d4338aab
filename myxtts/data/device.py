"""The last yard: batches copied to the device ahead of the step, and widened there."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from myxtts.config.config import DataConfig
from myxtts.features.mel import CONTEXT_ROWS
from myxtts.features.mel_tensorflow import log_mel


def first_gpu() -> str | None:
    gpus = tf.config.list_logical_devices("GPU")
    return gpus[0].name if gpus else None


def stage(batches: Any, device: str | None, data: DataConfig) -> Any:
    """Copy batches to the device while it computes: two ahead with `enhanced_gpu_prefetch`, else one."""
    if device is None or not data.prefetch_to_gpu:
        return batches
    ahead = 2 if data.enhanced_gpu_prefetch else 1
    # prefetch_to_device must be the last transformation of a pipeline.
    return batches.apply(tf.data.experimental.prefetch_to_device(device, ahead))


def widen(batch: dict[str, Any]) -> dict[str, Any]:
    """For the compiled step: float32 `mel` and `reference` from whatever crossed to the device (float16 or int16)."""
    wide = dict(batch)
    if "mel" in batch:
        wide["mel"] = tf.cast(batch["mel"], tf.float32)
    else:
        wide["mel"] = log_mel(batch["audio"], batch["frame_lengths"])
    if "reference" in batch:
        wide["reference"] = tf.cast(batch["reference"], tf.float32)
    elif "reference_audio" in batch:
        wide["reference"] = _crop_mel(batch["reference_audio"], batch["reference_lengths"])
    return wide


def _crop_mel(audio: Any, lengths: Any) -> Any:
    """Mel of a crop that carries context on both sides: the frames it has inside its clip."""
    frames = log_mel(audio)[:, CONTEXT_ROWS:-CONTEXT_ROWS]
    inside = tf.sequence_mask(lengths, tf.shape(frames)[1])[..., None]
    return tf.where(inside, frames, log_mel(tf.zeros_like(audio[:1, :1]))[0, 0])
