"""How good the averaged weights are on sentences they were not trained on, and how long they let things last."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import tensorflow as tf

from myxtts.data.device import widen
from myxtts.monitor import current_monitor
from myxtts.training.optimiser import Adam
from myxtts.training.step import parts_of

METRIC = "mel_error"


class Validator:
    """Runs `model.validation_of` over batches, compiled once per shape."""

    def __init__(self, model: Any, eager: bool):
        self.model, self.micro_batches, self.largest_batch = model, 1, 0
        self.left_out: list[int] = []  # batches of the last run whose numbers were not finite
        self._measure = self._of_batch if eager else tf.function(self._of_batch, autograph=False)

    def _of_batch(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        if tf.inside_function():
            current_monitor().count("validation.traces")
        return self.model.validation_of(widen(dict(batch)))

    def compile(self, spec: Mapping[str, tf.TensorSpec]) -> None:
        self._numbers({name: tf.zeros(part.shape, part.dtype) for name, part in spec.items()})

    def _numbers(self, batch: Mapping[str, Any]) -> list[dict[str, float]]:
        """Of the batch, or of each part of it if it is too large for the device's memory."""
        self.largest_batch = max(self.largest_batch, int(batch["tokens"].shape[0]))
        parts = parts_of(batch, self.micro_batches) if self.micro_batches > 1 else [batch]
        return [{name: float(value) for name, value in self._measure(part).items()} for part in parts]

    def run(self, batches: Iterable[Mapping[str, Any]], optimiser: Adam) -> dict[str, float]:
        """Means over all finite batches, weighted by their frames; sets the model's duration scale on the way.

        Log durations are learnt by squared error, whose best guess is short by about a tenth: the scale
        makes the predicted length of all clips together the true one.
        """
        sums: dict[str, float] = {}
        self.left_out = []
        with optimiser.averaged():
            self._set_length(1.0)
            for number, batch in enumerate(batches):
                measured = self._numbers(batch)
                if not all(math.isfinite(value) for part in measured for value in part.values()):
                    self.left_out.append(number)
                    continue
                for part in measured:
                    frames = part.pop("frames")
                    for name, value in (part | {"frames": 1.0}).items():
                        sums[name] = sums.get(name, 0.0) + value * frames
        frames = sums.pop("frames", 0.0)
        means = {name: value / frames for name, value in sums.items()} if frames else {}
        if means.get("duration_ratio", 0.0) > 0:
            self._set_length(min(max(1.0 / means["duration_ratio"], 0.5), 2.0))
        return means

    def _set_length(self, scale: float) -> None:
        if hasattr(self.model, "duration_scale"):  # a vocoder has none
            self.model.duration_scale.assign(scale)
