"""Whose voice is it? 256 numbers for a clip, near each other for one speaker: Resemblyzer's encoder (GE2E, 2018).

Its package needs PyTorch; here only its file of weights is read, by a reader that runs nothing. Three layers of LSTM
over 1.6 s at a time are small enough for numpy.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.ndimage
from numpy.typing import NDArray
from scipy.special import expit

from myxtts.errors import MissingExtra
from myxtts.evaluation.front_end import RATE, at_16_khz, file_in, power_mel
from myxtts.models.torch_file import read_tensors

COMMAND = "pip install --no-deps Resemblyzer==0.1.4 webrtcvad-wheels==2.0.14.post1"

_PURPOSE = "hearing whose voice it is"
_QUIETEST_DB = -30.0  # a quieter clip is made as loud as this
_HOP = 160
_CUT_FRAMES, _CUT_STEP = 160, 77  # 1.6 s, 1.3 cuts a second
_LEAST_SHARE = 0.75  # of the last cut that must be audio
_VAD_SAMPLES = RATE * 30 // 1000
_VAD_AROUND, _VAD_REACH = 8, 6  # windows that are averaged, and that a voiced one reaches in all
_LAYERS = 3

Embedding = NDArray[np.float32]


class SpeakerEncoder:
    """audio [samples] -> its embedding, of length 1: the product of two is their similarity."""

    def __init__(self) -> None:
        try:
            import webrtcvad
        except ImportError:
            raise MissingExtra("webrtcvad-wheels", "evaluation", _PURPOSE, COMMAND) from None
        self._new_detector = webrtcvad.Vad
        path = file_in("resemblyzer", "pretrained.pt", _PURPOSE, COMMAND)
        self._weights = {name: np.asarray(part) for name, part in read_tensors(path, under="model_state").items()}

    def __call__(self, audio: NDArray[np.float32], sample_rate: int) -> Embedding:
        audio = self._voiced(_as_loud(at_16_khz(audio, sample_rate)))
        starts = _starts(len(audio))
        padded = np.pad(audio, (0, max((starts[-1] + _CUT_FRAMES) * _HOP - len(audio), 0)))
        mel = power_mel(padded, 400, 40)
        return _unit(self._encode(np.stack([mel[at : at + _CUT_FRAMES] for at in starts])).mean(axis=0))

    def _voiced(self, audio: NDArray[np.float32]) -> NDArray[np.float32]:
        """Without long silences: some of each is left."""
        audio = audio[: len(audio) // _VAD_SAMPLES * _VAD_SAMPLES]
        detector = self._new_detector(3)  # it remembers what it has heard: a new one for each clip
        windows = np.round(np.clip(audio, -1, 1) * 32767).astype(np.int16).reshape(-1, _VAD_SAMPLES)
        if not len(windows):
            return audio
        flags = np.array([detector.is_speech(window.tobytes(), RATE) for window in windows], float)
        padded = np.pad(flags, ((_VAD_AROUND - 1) // 2, _VAD_AROUND // 2))
        means = np.convolve(padded, np.ones(_VAD_AROUND), "valid") / _VAD_AROUND
        kept = scipy.ndimage.binary_dilation(np.round(means).astype(bool), np.ones(_VAD_REACH + 1))
        return audio[np.repeat(kept, _VAD_SAMPLES)]

    def _encode(self, mels: NDArray[np.float32]) -> NDArray[np.float32]:
        """[cuts, frames, 40] -> [cuts, 256]"""
        for layer in range(_LAYERS):
            mels = self._lstm(mels, layer)
        seen = np.maximum(mels[:, -1] @ self._weights["linear.weight"].T + self._weights["linear.bias"], 0.0)
        return _unit(seen)

    def _lstm(self, inputs: NDArray[np.float32], layer: int) -> NDArray[np.float32]:
        """[cuts, frames, n] -> the hidden states [cuts, frames, 256]."""
        own = {name: self._weights[f"lstm.{name}_l{layer}"] for name in _PARTS}
        seen = inputs @ own["weight_ih"].T + (own["bias_ih"] + own["bias_hh"])
        turned = np.ascontiguousarray(own["weight_hh"].T)
        hidden = cell = np.zeros((len(inputs), len(turned)), np.float32)
        states = np.empty((*seen.shape[:2], len(turned)), np.float32)
        for frame in range(seen.shape[1]):
            enter, forget, new, leave = np.split(seen[:, frame] + hidden @ turned, 4, axis=1)
            cell = expit(forget) * cell + expit(enter) * np.tanh(new)
            hidden = states[:, frame] = expit(leave) * np.tanh(cell)
        return states


_PARTS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")


def _starts(n_samples: int) -> list[int]:
    """The first frames of the cuts; the last one may be left out if it is mostly beyond the end."""
    frames = -(-(n_samples + 1) // _HOP)
    starts = list(range(0, max(1, frames - _CUT_FRAMES + _CUT_STEP + 1), _CUT_STEP))
    share = (n_samples - starts[-1] * _HOP) / (_CUT_FRAMES * _HOP)
    return starts[:-1] if share < _LEAST_SHARE and len(starts) > 1 else starts


def _as_loud(audio: NDArray[np.float32]) -> NDArray[np.float32]:
    level = 10.0 * np.log10(max(float(np.mean(np.square(audio))), 1e-10))
    return audio * np.float32(10.0 ** (max(_QUIETEST_DB - level, 0.0) / 20.0))


def _unit(vectors: NDArray[Any]) -> NDArray[np.float32]:
    return (vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-9)).astype(np.float32)
