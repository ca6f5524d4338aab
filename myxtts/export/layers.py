"""The layers of models/layers.py as nodes of a graph. A sequence is [length, channels]: one text, without padding."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from myxtts.export.graph import Graph

_EPSILON = 1e-5


def linear(
    graph: Graph, x: str, path: str, gain: float = 1.0, shift: int = 0, order: NDArray[np.int64] | None = None
) -> str:
    """Scaled by `gain`; the first `shift` channels of the bias are one higher; the channels in another `order`."""
    kernel, bias = (graph.weight(f"{path}/{name}") * np.float32(gain) for name in ("kernel", "bias"))
    bias[:shift] += 1.0
    if order is not None:
        kernel, bias = kernel[:, order], bias[order]
    return graph("Gemm", x, graph.matrix(kernel), bias)


def linear_without_bias(graph: Graph, x: str, path: str) -> str:
    return graph("MatMul", x, graph.matrix(graph.weight(f"{path}/kernel")))


def depthwise(graph: Graph, x: str, path: str) -> str:
    """Each channel along time. In two dimensions, of which one is 1: ONNX Runtime has a kernel of its own for that, 3.5
    times as fast as the one for one dimension."""
    kernel = graph.weight(f"{path}/kernel")
    around = len(kernel) // 2
    image = graph("Transpose", graph("Unsqueeze", x, [0, 1]), perm=[0, 3, 1, 2])
    moved = graph(
        "Conv", image, np.ascontiguousarray(kernel.T)[:, None, None], group=kernel.shape[1], pads=[0, around, 0, around]
    )
    return graph("Squeeze", graph("Transpose", moved, perm=[0, 2, 3, 1]), [0, 1])


def convolution(graph: Graph, x: str, path: str) -> str:
    return linear(graph, depthwise(graph, x, f"{path}/along"), f"{path}/across")


def unit(graph: Graph, x: str, channels: int) -> str:
    """Each position at a root mean square of 1."""
    power = graph("Mul", graph("ReduceSumSquare", x, axes=[-1], keepdims=1), 1.0 / channels)
    return graph("Div", x, graph("Sqrt", graph("Add", power, _EPSILON)))


def voice_norm(graph: Graph, x: str, path: str, vector: str) -> str:
    channels = len(graph.weight(f"{path}/from_voice/bias")) // 2
    led = linear(graph, vector, f"{path}/from_voice", shift=channels)
    scale, shift = graph.several("Split", 2, led, [channels, channels], axis=1)
    return graph("Add", graph("Mul", unit(graph, x, channels), scale), shift)


def block(graph: Graph, x: str, path: str, vector: str) -> str:
    y = voice_norm(graph, depthwise(graph, x, f"{path}/along"), f"{path}/norm", vector)
    return graph("Add", x, _thought(graph, y, path))


def plain_block(graph: Graph, x: str, path: str) -> str:
    scale = graph.weight(f"{path}/scale")
    y = graph("Mul", unit(graph, depthwise(graph, x, f"{path}/along"), len(scale)), scale)
    return graph("Add", x, _thought(graph, y, path))


def _thought(graph: Graph, y: str, path: str) -> str:
    return linear(graph, graph("Relu", linear(graph, y, f"{path}/expand")), f"{path}/contract")


def latent_attention(graph: Graph, x: str, path: str, tokens: str) -> str:
    """Each position takes what it needs from the voice's tokens [n, dim]."""
    dim = graph.weight(f"{path}/key/kernel").shape[1]
    query = linear(graph, x, f"{path}/query", gain=dim**-0.5)
    key = graph("Transpose", linear_without_bias(graph, tokens, f"{path}/key"), perm=[1, 0])
    share = graph("Softmax", graph("MatMul", query, key), axis=-1)
    return graph("Add", x, graph("MatMul", share, linear(graph, tokens, f"{path}/value")))
