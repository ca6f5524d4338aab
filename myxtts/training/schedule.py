"""The learning rate as a pure function of the step: the same number in Python and inside the compiled step.

Both ways count in float64 and round once, to float32. So the value in the log is the value that was used, and steps
beyond 2^24, which float32 cannot count, are no different.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from myxtts.config.config import TrainingConfig
from myxtts.config.settings import choices_of
from myxtts.errors import ConfigError

KINDS = choices_of(TrainingConfig, "schedule")


def learning_rate(step: Any, kind: str, peak: Any, warmup_steps: Any, total_steps: Any, floor_share: Any) -> Any:
    """The rate of the update that follows `step` updates: a float for numbers, a float32 scalar for TF scalars.

    The rate rises in a line and is `peak` at the `warmup_steps`-th update. Then "cosine" falls to `floor_share` x
    `peak` at the `total_steps`-th and stays there, "noam" falls with 1/sqrt(step) but not below that floor, and
    "constant" stays. Any argument but `kind` may be a TF scalar: `peak` may be a variable that is halved.
    """
    if kind not in KINDS:
        raise ConfigError(f"found the schedule '{kind}', expected one of {', '.join(KINDS)}")
    values = (step, peak, warmup_steps, total_steps, floor_share)
    if all(isinstance(value, int | float | np.number) for value in values):
        return float(np.float32(_rate(np, np.float64, kind, *values)))
    import tensorflow as tf

    return tf.cast(_rate(tf, _float64, kind, *values), tf.float32)


def _float64(value: Any) -> Any:
    import tensorflow as tf

    # tf.cast alone would make a Python float a float32 first, and 1.5e-3 another number.
    return tf.cast(value, tf.float64) if tf.is_tensor(value) else tf.constant(value, tf.float64)


def _rate(ops: Any, wide: Any, kind: str, step: Any, peak: Any, warmup: Any, total: Any, floor: Any) -> Any:
    """`ops` is numpy or TensorFlow, `wide` its conversion to float64."""
    update, peak, floor = wide(step) + 1, wide(peak), wide(floor)
    warmup = ops.maximum(wide(warmup), wide(1))
    rise = ops.minimum(update / warmup, wide(1))
    if kind == "constant":
        return peak * rise
    after = ops.maximum(update - warmup, wide(0))
    if kind == "noam":
        return peak * rise * ops.maximum(floor, ops.sqrt(warmup / (warmup + after)))
    progress = ops.minimum(after / ops.maximum(wide(total) - warmup, wide(1)), wide(1))
    return peak * rise * (floor + (1 - floor) * (1 + ops.cos(math.pi * progress)) / 2)
