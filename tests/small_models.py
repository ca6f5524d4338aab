"""Models and batches for tests: tiny models, small shapes, fixed seeds."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np

from myxtts.features.mel import LOG_FLOOR
from myxtts.models.description import ModelDescription
from myxtts.models.xtts import XTTS

SYMBOLS = 30


def describe(**changes) -> ModelDescription:
    values = {"token_table": [f"s{n}" for n in range(SYMBOLS)], "languages": ["en-us", "fa"], "speakers": ["one"]}
    return ModelDescription(**(values | changes))


def make_model(precision: str = "float32", **changes) -> XTTS:
    keras.utils.set_random_seed(7)
    model = XTTS(describe(**changes), precision)
    model.set_statistics(-5.0, 2.0)
    return model


def make_batch(rows: int = 3, frames: int = 48, tokens: int = 10, reference: int = 22, seed: int = 0) -> dict:
    """Rows of differing lengths, the first one full; padding as a feed pads."""
    rng = np.random.default_rng(seed)
    frame_lengths = np.r_[frames, rng.integers(frames // 2, frames, rows - 1)].astype(np.int32)
    token_lengths = np.r_[tokens, rng.integers(tokens // 2, tokens, rows - 1)].astype(np.int32)
    reference_lengths = np.r_[reference, rng.integers(5, reference, rows - 1)].astype(np.int32)
    return {
        "tokens": _padded(rng.integers(1, SYMBOLS, (rows, tokens)).astype(np.int32), token_lengths, 0),
        "token_lengths": token_lengths,
        "mel": _padded(_frames(rng, rows, frames), frame_lengths, LOG_FLOOR),
        "frame_lengths": frame_lengths,
        "speaker": np.zeros(rows, np.int32),
        "language": rng.integers(0, 2, rows).astype(np.int32),
        "weight": np.ones(rows, np.float32),
        "reference": _padded(_frames(rng, rows, reference), reference_lengths, LOG_FLOOR),
        "reference_lengths": reference_lengths,
    }


def _frames(rng, rows: int, frames: int) -> np.ndarray:
    return rng.normal(-5, 2, (rows, frames, 80)).astype(np.float32)


def _padded(values: np.ndarray, lengths: np.ndarray, padding: float) -> np.ndarray:
    for row, length in enumerate(lengths):
        values[row, length:] = padding
    return values
