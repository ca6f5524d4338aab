"""Puts a run's best checkpoint into a folder as it ships: half precision, without what only training needs.

python -m recipes.base_voice.ship RUN FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from myxtts.models import weights
from myxtts.models.description import find_checkpoint, load_description, weights_file
from myxtts.models.format import VOICE, WEIGHTS


def ship(run: Path, folder: Path) -> int:
    """Bytes written."""
    checkpoint = find_checkpoint(run)
    folder.mkdir(parents=True, exist_ok=True)
    load_description(checkpoint).save(folder)
    tensors = weights.load(weights_file(checkpoint))
    halves = {name: _half(name, tensor) for name, tensor in tensors.items()}
    weights.save(folder / WEIGHTS, halves)
    if (checkpoint / VOICE).is_file():
        weights.save(folder / VOICE, weights.load(checkpoint / VOICE))
    sizes = {path.name: path.stat().st_size for path in sorted(folder.iterdir())}
    return sum(sizes.values())


def _half(name: str, tensor: np.ndarray) -> np.ndarray:
    """Statistics and scales stay whole: they are few, and everything is multiplied by them."""
    half = tensor.astype(np.float16)
    return half if tensor.ndim > 1 and np.isfinite(half).all() else tensor


if __name__ == "__main__":
    source, target = map(Path, sys.argv[1:])
    print(f"{target}: {ship(source, target) / 1e6:.1f} MB")
