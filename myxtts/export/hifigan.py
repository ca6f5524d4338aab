"""HiFi-GAN's generator as a graph, as models/hifigan.py has it."""

from __future__ import annotations

import numpy as np

from myxtts.export.graph import Graph
from myxtts.features.mel import N_MELS
from myxtts.models.hifigan_layers import DILATIONS, KERNELS, LAST_SLOPE, RATES, SLOPE


def add_hifigan(graph: Graph) -> None:
    """mel [frames, mels] -> audio [frames * hop]."""
    mel = graph.input("mel", np.float32, "frames", N_MELS)
    x = _convolve(graph, graph("Unsqueeze", graph("Transpose", mel, perm=[1, 0]), [0]), "conv_pre")
    for level, rate in enumerate(RATES):
        x = _upsample(graph, graph("LeakyRelu", x, alpha=SLOPE), f"ups.{level}", rate)
        stacks = [_stack(graph, x, f"resblocks.{level * len(KERNELS) + n}") for n in range(len(KERNELS))]
        x = graph("Mul", graph("Sum", *stacks), 1.0 / len(KERNELS))
    sound = graph("Tanh", _convolve(graph, graph("LeakyRelu", x, alpha=LAST_SLOPE), "conv_post"))
    graph.output(graph("Squeeze", sound, [0, 1]), "audio", np.float32, "samples")


def _stack(graph: Graph, x: str, name: str) -> str:
    for n, dilation in enumerate(DILATIONS):
        y = _convolve(graph, graph("LeakyRelu", x, alpha=SLOPE), f"{name}.convs1.{n}", dilation)
        x = graph("Add", x, _convolve(graph, graph("LeakyRelu", y, alpha=SLOPE), f"{name}.convs2.{n}"))
    return x


def _convolve(graph: Graph, x: str, name: str, dilation: int = 1) -> str:
    kernel = np.ascontiguousarray(graph.weight(f"hifigan/{name}").transpose(2, 1, 0))
    around = dilation * (kernel.shape[2] // 2)
    bias = graph.weight(f"hifigan/{name}.bias")
    return graph("Conv", x, kernel, bias, dilations=[dilation], pads=[around, around])


def _upsample(graph: Graph, x: str, name: str, rate: int) -> str:
    """TensorFlow's kernel is [width, outputs, inputs], ONNX' [inputs, outputs, width]."""
    kernel = np.ascontiguousarray(graph.weight(f"hifigan/{name}").transpose(2, 1, 0))
    around = (kernel.shape[2] - rate) // 2
    bias = graph.weight(f"hifigan/{name}.bias")
    return graph("ConvTranspose", x, kernel, bias, strides=[rate], pads=[around, around])
