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
from myxtts.models.hifigan import HiFiGAN
from myxtts.models.hifigan_layers import CONTEXT_FRAMES as HIFIGAN_CONTEXT
from myxtts.models.vocoder import Vocoder
from myxtts.models.vocoder_description import OURS, VocoderDescription
from myxtts.models.vocoder_table import BINS, CONTEXT_FRAMES, noise_seed

Audio = NDArray[np.float32]


def load_model(folder: Path) -> Vocoder | HiFiGAN:
    """The network of a folder, with its weights; a folder that was trained in also holds those of its judges."""
    model = Vocoder() if VocoderDescription.load(folder).kind == OURS else HiFiGAN()
    own = weights.load(weights_file(folder))
    if isinstance(model, Vocoder):
        own = {name: own[name] for name in {variable.path for variable in model.variables} & own.keys()}
    weights.set_weights(model, own)
    return model


def sound_of(model: Vocoder | HiFiGAN, mel: Any, seed: Any) -> Any:
    """[1, frames, mels] -> [1, frames * hop], inside a graph; `seed` int64 [2] is of what the vocoder draws."""
    if isinstance(model, HiFiGAN):
        return model.call(mel)
    pitch = model.pitch(mel)
    return model.shape(mel, pitch, *model.excite(pitch, seed))


class OurVocoder:
    """Pulses and breath of the whole clip at once, which is quick; their shaping, which is not, piece by piece."""

    def __init__(self, folder: Path):
        self._model = load_model(folder)
        frames, spectra = tf.TensorSpec([1, None, N_MELS]), tf.TensorSpec([1, None, BINS], tf.complex64)
        pitch = tf.TensorSpec([1, None, 2])
        signature = [frames, tf.TensorSpec([2], tf.int64)]
        self._excite = tf.function(self._all_that_runs_through, input_signature=signature, autograph=False)
        self._shape = tf.function(self._model.shape, input_signature=[frames, pitch, spectra, spectra], autograph=False)

    def _all_that_runs_through(self, mel: Any, seed: Any) -> tuple[Any, Any, Any]:
        pitch = self._model.pitch(mel)
        return pitch, *self._model.excite(pitch, seed)

    def pieces(self, mel: NDArray[Any], chunk_frames: int, seed: int | None = None) -> Iterator[Audio]:
        whole = tf.constant(np.asarray(mel, np.float32)[None])
        runs = (whole, *self._excite(whole, np.array(noise_seed(seed), np.int64)))
        for start in range(0, len(mel), chunk_frames):
            first, end = max(start - CONTEXT_FRAMES, 0), min(start + chunk_frames, len(mel))
            audio = self._shape(*(each[:, first : end + CONTEXT_FRAMES] for each in runs)).numpy()[0]
            yield audio[(start - first) * HOP_SAMPLES : (end - first) * HOP_SAMPLES]


class HiFiGANVocoder:
    """Each piece from its frames and the context around them."""

    def __init__(self, folder: Path):
        signature = [tf.TensorSpec([1, None, N_MELS], tf.float32)]
        self._graph = tf.function(load_model(folder).call, input_signature=signature, autograph=False)

    def pieces(self, mel: NDArray[Any], chunk_frames: int) -> Iterator[Audio]:
        for start in range(0, len(mel), chunk_frames):
            first, end = max(start - HIFIGAN_CONTEXT, 0), min(start + chunk_frames, len(mel))
            audio = self._graph(np.asarray(mel[first : end + HIFIGAN_CONTEXT], np.float32)[None]).numpy()[0]
            yield audio[(start - first) * HOP_SAMPLES : (end - first) * HOP_SAMPLES]
