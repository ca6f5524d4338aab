"""What a voice is to a model, whatever computes with it: TensorFlow or ONNX Runtime."""

from __future__ import annotations

from typing import Any, NamedTuple


class Voice(NamedTuple):
    vector: Any  # [batch, dim]
    tokens: Any  # [batch, tokens, dim]
