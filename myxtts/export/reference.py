"""Crops of recordings to the voice in them, as `XTTS.voice` does it: the mean over all crops."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from myxtts.export.graph import Graph
from myxtts.export.layers import linear, linear_without_bias
from myxtts.export.pitch import typical_pitch
from myxtts.features.mel import N_MELS
from myxtts.models.definition import PATCH_FRAMES
from myxtts.models.sizes import Size

_FAR = -1e9
_PATH = "xtts/reference_encoder"


def add_reference(graph: Graph, size: Size, frames: int, follows_pitch: bool) -> None:
    """reference [crops, frames, mels] (log-mel), lengths int64 [crops] -> vector [1, dim], latents [n, dim]."""
    crops = graph.input("reference", np.float32, "crops", frames, N_MELS)
    lengths = graph.input("lengths", np.int64, "crops")
    positions = -(-frames // PATCH_FRAMES)
    x = _patches(graph, crops, lengths, frames, positions)
    filled = graph("Div", graph("Add", lengths, PATCH_FRAMES - 1), PATCH_FRAMES)
    inside = _inside(graph, filled, positions)  # [crops, positions, 1]
    x = graph("Mul", graph("Relu", _linear(graph, x, "patches", positions, size.voice_dim)), inside)
    for number in range(2):
        y = _linear(
            graph, _along(graph, x, f"along_{number}/along"), f"along_{number}/across", positions, size.voice_dim
        )
        x = graph("Mul", graph("Add", x, graph("Relu", y)), inside)
    far = graph("Mul", graph("Sub", 1.0, inside), _FAR)
    vectors, latents = _pool(graph, x, far, size)
    vector = graph("ReduceMean", vectors, axes=[0], keepdims=1)
    if follows_pitch:
        pitch = typical_pitch(graph, crops, _inside(graph, lengths, frames))
        vector = graph("Concat", graph("Slice", vector, [0], [-1], [1]), pitch, axis=1)
    graph.output(vector, "vector", np.float32, 1, size.voice_dim)
    graph.output(graph("ReduceMean", latents, axes=[0], keepdims=0), "latents", np.float32,
                 size.latent_tokens, size.voice_dim)  # fmt: skip


def _patches(graph: Graph, crops: str, lengths: str, frames: int, positions: int) -> str:
    """Normalised, silenced after their end, in groups of frames: [crops, positions, frames * mels]."""
    mean, std = graph.weight("xtts/mel_mean"), graph.weight("xtts/mel_std")
    x = graph("Mul", graph("Div", graph("Sub", crops, mean), std), _inside(graph, lengths, frames))
    x = graph("Pad", x, [0, 0, 0, 0, positions * PATCH_FRAMES - frames, 0])
    return graph("Reshape", x, [-1, positions, PATCH_FRAMES * N_MELS])


def _inside(graph: Graph, lengths: str, longest: int) -> str:
    """float32 [crops, longest, 1]: 1 before the end of a crop."""
    before = graph("Less", np.arange(longest)[None], graph("Unsqueeze", lengths, [1]))
    return graph("Unsqueeze", graph("Cast", before, to=TensorProto.FLOAT), [2])


def _linear(graph: Graph, x: str, path: str, positions: int, units: int) -> str:
    inputs = len(graph.weight(f"{_PATH}/{path}/kernel"))
    flat = linear(graph, graph("Reshape", x, [-1, inputs]), f"{_PATH}/{path}")
    return graph("Reshape", flat, [-1, positions, units])


def _along(graph: Graph, x: str, path: str) -> str:
    kernel = graph.weight(f"{_PATH}/{path}/kernel")
    around = len(kernel) // 2
    moved = graph("Conv", graph("Transpose", x, perm=[0, 2, 1]), np.ascontiguousarray(kernel.T)[:, None],
                  group=kernel.shape[1], pads=[around, around])  # fmt: skip
    return graph("Transpose", moved, perm=[0, 2, 1])


def _pool(graph: Graph, x: str, far: str, size: Size) -> tuple[str, str]:
    """vector [crops, dim], latents [crops, n, dim]."""
    share = graph("Softmax", graph("Add", linear_without_bias(graph, x, f"{_PATH}/importance"), far), axis=1)
    mean = graph("ReduceSum", graph("Mul", share, x), [1], keepdims=1)
    away = graph("Sub", x, mean)
    spread = graph("ReduceSum", graph("Mul", share, graph("Mul", away, away)), [1], keepdims=0)
    both = graph("Concat", graph("Squeeze", mean, [1]), graph("Sqrt", graph("Add", spread, 1e-5)), axis=1)
    vector = linear(graph, both, f"{_PATH}/to_vector")
    queries = (graph.weight(f"{_PATH}/queries") * np.float32(size.voice_dim**-0.5)).T
    fit = graph("Transpose", graph("Add", graph("MatMul", x, np.ascontiguousarray(queries)), far), perm=[0, 2, 1])
    heard = graph("MatMul", graph("Softmax", fit, axis=-1), x)
    latents = linear(graph, graph("Reshape", heard, [-1, size.voice_dim]), f"{_PATH}/to_tokens")
    return vector, graph("Reshape", latents, [-1, size.latent_tokens, size.voice_dim])
