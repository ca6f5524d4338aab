"""Vocoders that are networks: a folder's weights in a graph for clips of any length, traced once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from myxtts.features.mel import N_MELS
from myxtts.models import weights
from myxtts.models.hifigan import HiFiGAN
from myxtts.models.vocoder_folder import WEIGHTS


def load_hifigan(folder: Path) -> Callable[[NDArray[Any]], NDArray[np.float32]]:
    model = HiFiGAN()
    weights.set_weights(model, weights.load(folder / WEIGHTS))
    graph = tf.function(model.call, input_signature=[tf.TensorSpec([1, None, N_MELS], tf.float32)], autograph=False)

    def render(mel: NDArray[Any]) -> NDArray[np.float32]:
        if len(mel) == 0:
            return np.zeros(0, np.float32)
        return graph(np.asarray(mel, np.float32)[None]).numpy()[0]

    return render
