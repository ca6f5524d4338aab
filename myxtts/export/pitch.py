"""models/pitch.py as nodes of a graph: the pitch [frames, 2] of a mel, that of a voice, the harmonics of a pitch."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto

from myxtts.export.graph import Graph
from myxtts.features.mel import N_MELS
from myxtts.models.pitch_table import (
    AROUND_FRAMES,
    HARDLY_VOICED,
    LOWEST,
    NEAR_FRAMES,
    PULL,
    QUIET,
    STEPS,
    TYPICAL_OCTAVES,
    UNVOICED,
    USUAL_OCTAVES,
    USUAL_WEIGHT,
    VOICED,
    matcher,
    ripples,
    table_octaves,
)


def pitch_of(graph: Graph, mel: str) -> str:
    fit, octaves = _fit(graph, mel), table_octaves()
    first = graph("Gather", octaves, graph("ArgMax", fit, axis=1, keepdims=0))
    height = graph("Relu", graph("Sub", graph("ReduceMax", fit, axes=[1], keepdims=0), HARDLY_VOICED))
    sure = graph("Add", graph("Mul", height, height), 1e-6)
    around = _mean_around(graph, first, sure, np.ones(2 * AROUND_FRAMES + 1))
    away = graph("Abs", graph("Sub", octaves[None], graph("Unsqueeze", around, [1])))
    best = graph("ArgMax", graph("Sub", fit, graph("Mul", away, PULL)), axis=1, keepdims=1)
    height = graph("Squeeze", graph("GatherElements", fit, best, axis=1), [1])
    voiced = graph("Clip", graph("Mul", graph("Sub", height, UNVOICED), 1.0 / (VOICED - UNVOICED)), 0.0, 1.0)
    own = graph("Add", graph("Gather", octaves, graph("Squeeze", best, [1])), _between(graph, fit, best))
    weight = graph("Add", graph("Mul", voiced, voiced), 1e-4)
    near = _mean_around(graph, own, weight, np.hanning(2 * NEAR_FRAMES + 3)[1:-1])
    mixed = graph("Add", near, graph("Mul", voiced, graph("Sub", own, near)))
    return columns(graph, mixed, voiced)


def typical_pitch(graph: Graph, crops: str, inside: str) -> str:
    """Log-mel [crops, frames, mels], inside [crops, frames, 1] -> octaves of all frames together, [1, 1]."""
    fit = _fit(graph, graph("Reshape", crops, [-1, N_MELS]))
    octaves = graph("Gather", table_octaves(), graph("ArgMax", fit, axis=1, keepdims=1))
    height = graph("Relu", graph("Sub", graph("ReduceMax", fit, axes=[1], keepdims=1), HARDLY_VOICED))
    sure = graph("Mul", graph("Mul", height, height), graph("Reshape", inside, [-1, 1]))
    away = graph("Mul", graph("Sub", octaves, _usual(graph, octaves, sure)), 1.0 / TYPICAL_OCTAVES)
    near = graph("Exp", graph("Neg", graph("Mul", away, away)))
    return _usual(graph, octaves, graph("Mul", sure, near))


def _usual(graph: Graph, octaves: str, weights: str) -> str:
    """[frames, 1] each -> [1, 1]"""
    top = graph("ReduceSum", graph("Mul", octaves, weights), [0], keepdims=1)
    bottom = graph("Add", graph("ReduceSum", weights, [0], keepdims=1), USUAL_WEIGHT)
    return graph("Div", graph("Add", top, USUAL_WEIGHT * USUAL_OCTAVES), bottom)


def columns(graph: Graph, *values: str) -> str:
    """[frames] each -> [frames, n]."""
    return graph("Concat", *(graph("Unsqueeze", each, [1]) for each in values), axis=1)


def _fit(graph: Graph, mel: str) -> str:
    """How well each frame fits each pitch of the table, [frames, pitches]."""
    envelope, table = matcher()
    ripple = graph("MatMul", mel, envelope)
    length = graph("Add", graph("ReduceL2", ripple, axes=[1], keepdims=1), QUIET)
    return graph("MatMul", graph("Div", ripple, length), np.ascontiguousarray(table.T))


def _between(graph: Graph, fit: str, best: str) -> str:
    """How many octaves the top of a parabola through three fits lies from the best of them."""
    inner = graph("Clip", best, 1, len(table_octaves()) - 2)
    near = graph("GatherElements", fit, graph("Add", inner, np.array([[-1, 0, 1]])), axis=1)
    low, middle, high = graph.several("Split", 3, near, [1, 1, 1], axis=1)
    curve = graph("Sub", graph("Add", low, high), graph("Mul", middle, 2.0))
    place = graph("Div", graph("Mul", graph("Sub", low, high), 0.5), graph("Min", curve, -1e-6))
    return graph("Squeeze", graph("Mul", graph("Clip", place, -0.5, 0.5), 1.0 / STEPS), [1])


def _mean_around(graph: Graph, values: str, weights: str, kernel: NDArray[Any]) -> str:
    """The weighted mean of the frames around each frame: all [frames]."""
    both = [graph("Unsqueeze", each, [0, 1]) for each in (graph("Mul", values, weights), weights)]
    taps, around = kernel.astype(np.float32)[None, None], len(kernel) // 2
    sums = graph("Conv", graph("Concat", *both, axis=0), taps, pads=[around, around])
    top, bottom = graph.several("Split", 2, sums, [1, 1], axis=0)
    return graph("Squeeze", graph("Div", top, graph("Max", bottom, 1e-9)), [0, 1])


def harmonics_of(graph: Graph, octaves: str, voiced: str) -> str:
    """octaves, voiced [frames, 1] -> what the decoder sees of them, [frames, mels + 2]."""
    table = graph.constant(ripples())
    place = graph("Mul", graph("Sub", octaves, LOWEST), float(STEPS))
    place = graph("Clip", graph("Where", graph("IsNaN", place), 0.0, place), 0.0, len(ripples()) - 1.001)
    below = graph("Floor", place)
    share, row = graph("Sub", place, below), graph("Squeeze", graph("Cast", below, to=TensorProto.INT64), [1])
    low, high = graph("Gather", table, row), graph("Gather", table, graph("Add", row, 1))
    ripple = graph("Add", low, graph("Mul", graph("Sub", high, low), share))
    return graph("Concat", graph("Mul", ripple, voiced), graph("Mul", octaves, voiced), voiced, axis=1)
