"""Vocoders that are networks: a folder's weights in graphs for clips of any length, each traced once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from myxtts.features.mel import HOP_SAMPLES, N_MELS
from myxtts.models import weights
from myxtts.models.description import weights_file
from myxtts.models.excitation import BINS
from myxtts.models.hifigan import HiFiGAN
from myxtts.models.vocoder import CONTEXT_FRAMES, Vocoder

Audio = NDArray[np.float32]

# 3 frames in its first convolution; then at each level 1 step of the one before and 60 of its own (kernel 11, dilations
# 1, 3 and 5 and three plain ones): 3 + 1 + 60/8 + 1/8 + 60/64 + ... < 14 frames.
_HIFIGAN_CONTEXT = 14


class OurVocoder:
    """Pulses and breath of the whole clip at once, which is quick; their shaping, which is not, piece by piece."""

    def __init__(self, folder: Path):
        self._model = Vocoder()
        own = weights.load(weights_file(folder))
        names = {variable.path for variable in self._model.variables}
        weights.set_weights(self._model, {name: own[name] for name in names & own.keys()})
        frames, spectra = tf.TensorSpec([1, None, N_MELS]), tf.TensorSpec([1, None, BINS], tf.complex64)
        pitch = tf.TensorSpec([1, None, 2])
        self._excite = tf.function(self._all_that_runs_through, input_signature=[frames], autograph=False)
        self._shape = tf.function(self._model.shape, input_signature=[frames, pitch, spectra, spectra], autograph=False)

    def _all_that_runs_through(self, mel: Any) -> tuple[Any, Any, Any]:
        pitch = self._model.pitch(mel)
        return pitch, *self._model.excite(pitch)

    def pieces(self, mel: NDArray[Any], chunk_frames: int) -> Iterator[Audio]:
        whole = tf.constant(np.asarray(mel, np.float32)[None])
        runs = (whole, *self._excite(whole))
        for start in range(0, len(mel), chunk_frames):
            first, end = max(start - CONTEXT_FRAMES, 0), min(start + chunk_frames, len(mel))
            audio = self._shape(*(each[:, first : end + CONTEXT_FRAMES] for each in runs)).numpy()[0]
            yield audio[(start - first) * HOP_SAMPLES : (end - first) * HOP_SAMPLES]


class HiFiGANVocoder:
    """Each piece from its frames and the context around them."""

    def __init__(self, folder: Path):
        model = HiFiGAN()
        weights.set_weights(model, weights.load(weights_file(folder)))
        signature = [tf.TensorSpec([1, None, N_MELS], tf.float32)]
        self._graph = tf.function(model.call, input_signature=signature, autograph=False)

    def pieces(self, mel: NDArray[Any], chunk_frames: int) -> Iterator[Audio]:
        for start in range(0, len(mel), chunk_frames):
            first, end = max(start - _HIFIGAN_CONTEXT, 0), min(start + chunk_frames, len(mel))
            audio = self._graph(np.asarray(mel[first : end + _HIFIGAN_CONTEXT], np.float32)[None]).numpy()[0]
            yield audio[(start - first) * HOP_SAMPLES : (end - first) * HOP_SAMPLES]
