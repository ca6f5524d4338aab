"""Our vocoder as two graphs, as models/vocoder.py has two halves: what runs through a clip, and the shaping of a piece.

Fourier transforms are matrix products: every runtime has those (TensorRT has no DFT). A window's samples are folded
twice before them, which leaves a quarter of the product: ONNX Runtime's DFT takes longer (22 us a frame).
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto

from myxtts.export.graph import Graph
from myxtts.export.layers import linear, plain_block
from myxtts.export.pitch import harmonics_of, pitch_of
from myxtts.features.mel import EDGE_SAMPLES, FFT_SAMPLES, HOP_SAMPLES, N_MELS, SAMPLE_RATE, hann_window
from myxtts.models.pitch_table import BASE_HZ
from myxtts.models.vocoder_table import BINS, BLOCKS, LOUDEST, OVERLAP, clear, least_phase, spread

Floats = NDArray[np.float32]
Spectrum = tuple[str, str]  # real and imaginary part
_HALF, _QUARTER, _HOPS = FFT_SAMPLES // 2, FFT_SAMPLES // 4, FFT_SAMPLES // HOP_SAMPLES
_BINS = (np.arange(0, BINS, 2), np.arange(1, BINS, 2))
_SIZES = [len(bins) for bins in _BINS]  # even and odd bins are kept apart: transforms and phases need half as much
_END = np.iinfo(np.int64).max


def add_excitation(graph: Graph) -> None:
    """mel [frames, mels] of a whole clip -> pitch [frames, 2], pulses [frames * hop]."""
    pitch = pitch_of(graph, graph.input("mel", np.float32, "frames", N_MELS))
    graph.output(pitch, "pitch", np.float32, "frames", 2)
    octaves = graph("Slice", pitch, [0], [1], [1])
    graph.output(graph("Reshape", _pulses(graph, octaves), [-1]), "pulses", np.float32, "samples")


def _pulses(graph: Graph, octaves: str) -> str:
    """[frames, 1] -> [frames, hop]. Frame values lie on straight lines, so the sum of cycles up to a sample is that of
    the frames before it and a known share of the three values around."""
    here = graph("Mul", graph("Pow", graph.constant(np.float32(2.0)), octaves), BASE_HZ)
    before = graph("Concat", graph("Slice", here, [0], [1], [0]), graph("Slice", here, [0], [-1], [0]), axis=0)
    after = graph("Concat", graph("Slice", here, [1], [_END], [0]), graph("Slice", here, [-1], [_END], [0]), axis=0)
    around = graph("Concat", before, here, after, axis=1)
    hertz = graph("MatMul", around, _lines().astype(np.float32))
    wide = graph("Cast", around, to=TensorProto.DOUBLE)
    cycles = graph("MatMul", wide, np.cumsum(_lines(), axis=1) / SAMPLE_RATE)
    whole = graph("Slice", cycles, [HOP_SAMPLES - 1], [HOP_SAMPLES], [1])
    cycles = graph("Add", cycles, graph("CumSum", whole, np.array(0), exclusive=1))
    share = graph("Cast", graph("Sub", cycles, graph("Floor", cycles)), to=TensorProto.FLOAT)
    angle = graph("Mul", graph("Sub", share, 0.5), float(np.pi))
    harmonics = graph("Floor", graph("Div", 0.5 * SAMPLE_RATE, hertz))
    many, below = graph("Add", graph("Mul", harmonics, 2.0), 1.0), graph("Sin", angle)
    peak = graph("Less", graph("Abs", below), 1e-5)  # where the quotient is `many`
    comb = graph("Div", graph("Sin", graph("Mul", many, angle)), below)
    comb = graph("Sub", graph("Where", peak, many, comb), 1.0)
    return graph("Mul", comb, graph("Sqrt", graph("Div", 0.5, harmonics)))


def _lines() -> NDArray[np.float64]:
    """[3, hop]: what the frame before, this one and the next weigh at each sample of a hop."""
    place = (np.arange(HOP_SAMPLES) + 0.5) / HOP_SAMPLES - 0.5
    later, earlier = np.maximum(place, 0.0), np.maximum(-place, 0.0)
    return np.stack([earlier, 1.0 - later - earlier, later])


def add_vocoder(graph: Graph) -> None:
    """mel [frames, mels], pitch [frames, 2], pulses and noise [frames * hop] -> audio [frames * hop]."""
    mel, pitch = graph.input("mel", np.float32, "frames", N_MELS), graph.input("pitch", np.float32, "frames", 2)
    octaves, voiced = graph.several("Split", 2, pitch, [1, 1], axis=1)
    filters = _filters(graph, mel, octaves, voiced)
    pulses, noise = (_spectra(graph, graph.input(name, np.float32, "samples")) for name in ("pulses", "noise"))
    shaped = [_shape(graph, *bins) for bins in zip(filters, pulses, noise, strict=True)]
    graph.output(_samples(graph, shaped), "audio", np.float32, "samples")


def _shape(graph: Graph, filters: tuple[str, str, str], pulses: Spectrum, noise: Spectrum) -> Spectrum:
    real, imaginary, breath = filters
    straight = graph("Sub", graph("Mul", pulses[0], real), graph("Mul", pulses[1], imaginary))
    turned = graph("Add", graph("Mul", pulses[0], imaginary), graph("Mul", pulses[1], real))
    return graph("Add", straight, graph("Mul", noise[0], breath)), graph("Add", turned, graph("Mul", noise[1], breath))


def _filters(graph: Graph, mel: str, octaves: str, voiced: str) -> list[tuple[str, str, str]]:
    """The filter of the pulses, real and imaginary, and the gain of the noise: [frames, bins] each, for `_BINS`.

    The least phase of even bins depends on the gain of the odd ones alone, and theirs on that of the even ones."""
    level = graph("Mul", graph("Add", mel, 5.0), 0.5)
    x = linear(graph, graph("Concat", level, harmonics_of(graph, octaves, voiced), axis=1), "vocoder/enter")
    for number in range(BLOCKS):
        x = plain_block(graph, x, f"vocoder/block_{number}")
    order = np.concatenate([bins + n * BINS for n in range(3) for bins in _BINS])
    left = graph.several("Split", 6, linear(graph, x, "vocoder/leave", order=order), _SIZES * 3, axis=1)
    lines, flat = spread()
    envelopes = [graph("Gemm", mel, lines[:, bins], -flat[..., bins]) for bins in _BINS]
    gains = [graph("Min", graph("Add", *each), LOUDEST) for each in zip(envelopes, left[:2], strict=True)]
    breaths = [graph("Min", graph("Add", *each), LOUDEST) for each in zip(envelopes, left[2:4], strict=True)]
    heard = graph("Mul", graph("Min", graph("Mul", voiced, 2.0), 1.0), -1.0)
    made = []
    for own, other in ((0, 1), (1, 0)):
        phase = graph("MatMul", gains[other], least_phase()[np.ix_(_BINS[other], _BINS[own])])
        phase, gain = graph("Add", phase, left[4 + own]), graph("Exp", gains[own])
        clearer = graph("Add", graph("Mul", heard, clear()[None, _BINS[own]]), 1.0)
        breath = graph("Mul", graph("Exp", breaths[own]), clearer)
        made.append((graph("Mul", gain, graph("Cos", phase)), graph("Mul", gain, graph("Sin", phase)), breath))
    return made


def _spectra(graph: Graph, samples: str) -> list[Spectrum]:
    """Real and imaginary parts [frames, bins] of windows around each hop of [frames * hop], for `_BINS`."""
    windows = graph("Mul", _windows(graph, samples), hann_window())
    left, right = _cut(graph, windows, 1, _HALF), _mirror(graph, windows, FFT_SAMPLES - 1, _HALF)
    zero, middle = _cut(graph, windows, 0, 1), _cut(graph, windows, _HALF, _HALF + 1)
    even = graph("Concat", zero, graph("Add", left, right), middle, axis=1)  # of the samples 0 to 512
    odd = graph("Concat", zero, graph("Sub", left, right), zero, axis=1)
    cosines, sines = _transforms()
    real, imaginary = (
        [graph("MatMul", half, matrix) for half, matrix in zip(halves, matrices, strict=True)]
        for halves, matrices in ((_fold(graph, even), cosines), (_fold(graph, odd)[::-1], sines))
    )
    return [*zip(real, imaginary, strict=True)]


def _windows(graph: Graph, samples: str) -> str:
    hops = graph("Reshape", graph("Pad", samples, [EDGE_SAMPLES, EDGE_SAMPLES]), [-1, HOP_SAMPLES])
    ends = [*range(1 - _HOPS, 0), _END]
    return graph("Concat", *(graph("Slice", hops, [n], [end], [0]) for n, end in enumerate(ends)), axis=1)


def _fold(graph: Graph, half: str) -> tuple[str, str]:
    """The samples 0 to 512 and their mirror images around 256, added and subtracted: [frames, 257] each. Even bins need
    the one, odd bins the other."""
    left, right = _cut(graph, half, 0, _QUARTER), _mirror(graph, half, _HALF, _QUARTER)
    middle = _cut(graph, half, _QUARTER, _QUARTER + 1)
    return (
        graph("Concat", graph("Add", left, right), middle, axis=1),
        graph("Concat", graph("Sub", left, right), middle, axis=1),
    )


def _cut(graph: Graph, x: str, start: int, end: int) -> str:
    return graph("Slice", x, [start], [end], [1])


def _mirror(graph: Graph, x: str, start: int, end: int) -> str:
    """From `start` backwards to before `end`."""
    return graph("Slice", x, [start], [end], [1], [-1])


@functools.cache
def _transforms() -> tuple[list[Floats], list[Floats]]:
    """Cosines and minus sines [257 samples, bins], for even and for odd bins."""
    angles = [2.0 * np.pi * np.outer(np.arange(_QUARTER + 1), bins) / FFT_SAMPLES for bins in _BINS]
    return [np.cos(each).astype(np.float32) for each in angles], [-np.sin(each).astype(np.float32) for each in angles]


def _samples(graph: Graph, shaped: list[Spectrum]) -> str:
    """The inverse: windowed again, added where frames overlap, cut to frames * hop samples."""
    products = [
        graph("MatMul", spectrum[part], np.ascontiguousarray(matrix.T) * _weight(bins))
        for part, matrices in enumerate(_transforms())
        for spectrum, matrix, bins in zip(shaped, matrices, _BINS, strict=True)
    ]
    even, odd, sine, turned = products  # at the samples 0 to 256, from which the mirror images follow
    up, down = graph("Add", even, odd), graph("Sub", even, odd)
    same, other = graph("Add", sine, turned), graph("Sub", turned, sine)
    quarters = [
        _cut(graph, graph("Add", up, same), 0, _QUARTER),
        _mirror(graph, graph("Add", down, other), _QUARTER, 0),
        _cut(graph, graph("Sub", down, other), 0, _QUARTER),
        _mirror(graph, graph("Sub", up, same), _QUARTER, 0),
    ]
    window = (hann_window() / OVERLAP).reshape(_HOPS, 1, HOP_SAMPLES).astype(np.float32)
    placed = [
        graph("Pad", graph("Mul", quarter, window[n]), [n, 0, _HOPS - 1 - n, 0]) for n, quarter in enumerate(quarters)
    ]
    whole = graph("Reshape", graph("Sum", *placed), [-1])
    return graph("Slice", whole, [EDGE_SAMPLES], [-EDGE_SAMPLES], [0])


def _weight(bins: NDArray[np.int64]) -> Floats:
    """Every bin but the first and the last stands for two."""
    return (np.where(bins % _HALF == 0, 1.0, 2.0) / FFT_SAMPLES)[:, None].astype(np.float32)
