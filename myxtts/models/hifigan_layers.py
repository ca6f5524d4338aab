"""The layers of HiFi-GAN V1 (Kong, Kim and Bae, 2020), and the checkpoints that are widely shared read into them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myxtts.errors import CheckpointError
from myxtts.features.mel import N_MELS

RATES = (8, 8, 2, 2)
UPSAMPLE_KERNELS = (16, 16, 4, 4)
CHANNELS = 512
KERNELS = (3, 7, 11)
DILATIONS = (1, 3, 5)
SLOPE = 0.1
LAST_SLOPE = 0.01  # the original leaves the last one at PyTorch's default
# 3 frames in its first convolution; then at each level 1 step of the one before and 60 of its own (kernel 11, dilations
# 1, 3 and 5 and three plain ones): 3 + 1 + 60/8 + 1/8 + 60/64 + ... < 14 frames.
CONTEXT_FRAMES = 14
_EDGE_KERNEL = 7
_TINY = 1e-30
_NEWER = "parametrizations.weight.original"

Shape = tuple[int, ...]


def layers() -> list[tuple[str, Shape, Shape]]:
    """(name, shape of its kernel in PyTorch, in TensorFlow) of every layer."""
    specs = [_plain("conv_pre", N_MELS, CHANNELS, _EDGE_KERNEL)]
    for level, kernel in enumerate(UPSAMPLE_KERNELS):
        inputs, outputs = CHANNELS >> level, CHANNELS >> (level + 1)
        specs.append((f"ups.{level}", (inputs, outputs, kernel), (kernel, outputs, inputs)))
        for n, size in enumerate(KERNELS):
            stack = f"resblocks.{level * len(KERNELS) + n}"
            names = [f"{stack}.convs{half}.{d}" for half in (1, 2) for d in range(len(DILATIONS))]
            specs += [_plain(name, outputs, outputs, size) for name in names]
    return [*specs, _plain("conv_post", CHANNELS >> len(RATES), 1, _EDGE_KERNEL)]


def _plain(name: str, inputs: int, outputs: int, kernel: int) -> tuple[str, Shape, Shape]:
    return name, (outputs, inputs, kernel), (kernel, inputs, outputs)


def from_torch(tensors: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[np.float32]]:
    """The tensors of a V1 checkpoint as weights of `HiFiGAN`; its weight norm is multiplied out."""
    left = dict(tensors)
    made: dict[str, NDArray[Any]] = {}
    for name, shape, _ in layers():
        kernel, bias = _kernel(left, name), _take(left, f"{name}.bias")
        outputs = shape[1] if name.startswith("ups") else shape[0]
        for what, actual, expected in ((name, kernel.shape, shape), (f"{name}.bias", bias.shape, (outputs,))):
            if actual != expected:
                raise CheckpointError(
                    f"{what} is {list(actual)}, expected {list(expected)}: "
                    f"this is not HiFi-GAN V1 for {N_MELS} mel bins"
                )
        made |= {f"hifigan/{name}": kernel.transpose(2, 1, 0), f"hifigan/{name}.bias": bias}
    if left:
        raise CheckpointError(f"it also has {', '.join(sorted(left)[:5])}, which HiFi-GAN V1 has not: give a V1 file")
    return {name: _finite(name, array) for name, array in made.items()}


def _kernel(left: dict[str, NDArray[Any]], name: str) -> NDArray[np.float32]:
    """A kernel, plain or as PyTorch's older or newer weight norm: length times direction."""
    for length, direction in (("weight_g", "weight_v"), (f"{_NEWER}0", f"{_NEWER}1")):
        if f"{name}.{direction}" in left:
            g, v = (_take(left, f"{name}.{part}").astype(np.float64) for part in (length, direction))
            if v.ndim != 3 or g.size != len(v):
                raise CheckpointError(
                    f"{name} has a norm of {list(g.shape)} for {list(v.shape)}: this is not HiFi-GAN V1"
                )
            norm = np.sqrt(np.square(v).sum(axis=(1, 2), keepdims=True))
            return (v * (g.reshape(norm.shape) / np.maximum(norm, _TINY))).astype(np.float32)
    return _take(left, f"{name}.weight")


def _take(left: dict[str, NDArray[Any]], name: str) -> NDArray[Any]:
    if name not in left:
        raise CheckpointError(f"{name} is missing: this is not a generator of HiFi-GAN V1")
    return left.pop(name)


def _finite(name: str, array: NDArray[Any]) -> NDArray[np.float32]:
    if not np.isfinite(array).all():
        raise CheckpointError(f"{name} has values that are not finite: download the file again")
    return np.ascontiguousarray(array, np.float32)
