"""The last yard: batches copied to the device ahead of the step, and widened there."""

from __future__ import annotations

import functools
import logging
from typing import Any

import tensorflow as tf

from myxtts.config.config import DataConfig
from myxtts.features.mel import CONTEXT_ROWS
from myxtts.features.mel_tensorflow import log_mel

log = logging.getLogger(__name__)


def first_gpu() -> str | None:
    """The one GPU that is used, where only one can be. Of several the others stay idle, and that is said."""
    gpus = [gpu.name for gpu in tf.config.list_logical_devices("GPU")]
    if len(gpus) > 1:
        _say_idle(gpus[0], len(gpus))
    return gpus[0] if gpus else None


@functools.cache
def _say_idle(used: str, visible: int) -> None:
    log.warning(
        "1 of %d GPUs is used, %s: 'myxtts train --devices all' uses all; CUDA_VISIBLE_DEVICES=N chooses another",
        visible, used,
    )  # fmt: skip


def staged_on(device: str) -> str | None:
    """Where batches for a device, whose name may tell the worker too, are copied to ahead: nowhere if that is the host
    itself, which has them."""
    place = tf.DeviceSpec.from_string(device)
    kind, number = place.device_type, place.device_index
    return None if (kind, number) == ("CPU", 0) else f"/{kind}:{number}"


def stage(batches: Any, device: str | None, data: DataConfig) -> Any:
    """Copy batches to the device while it computes: two ahead with `enhanced_gpu_prefetch`, else one."""
    if device is None or not data.prefetch_to_gpu:
        return batches
    ahead = 2 if data.enhanced_gpu_prefetch else 1
    # prefetch_to_device must be the last transformation of a pipeline.
    return batches.apply(tf.data.experimental.prefetch_to_device(device, ahead))


def widen(batch: dict[str, Any]) -> dict[str, Any]:
    """For the compiled step: tracks in float32, with `mel` and `reference`, from what crossed to the device."""
    wide = {name: tf.cast(part, tf.float32) if part.dtype == tf.float16 else part for name, part in batch.items()}
    if "mel" not in batch:
        wide["mel"] = log_mel(batch["audio"], batch["frame_lengths"])
    if "reference_audio" in batch:
        wide["reference"] = _crop_mel(batch["reference_audio"], batch["reference_lengths"])
    return wide


def _crop_mel(audio: Any, lengths: Any) -> Any:
    """Mel of a crop that carries context on both sides: the frames it has inside its clip."""
    frames = log_mel(audio)[:, CONTEXT_ROWS:-CONTEXT_ROWS]
    inside = tf.sequence_mask(lengths, tf.shape(frames)[1])[..., None]
    return tf.where(inside, frames, log_mel(tf.zeros_like(audio[:1, :1]))[0, 0])
