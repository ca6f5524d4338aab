"""What judges share: weights that lie inside packages whose code is never run, their sample rate, their mel."""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import soxr
import xxhash
from numpy.typing import NDArray

from myxtts.errors import MissingExtra
from myxtts.features.mel import mel_filters

Answer = TypeVar("Answer")
RATE = 16000  # every judge listens at it


def file_in(package: str, inside: str, purpose: str, command: str | None = None) -> Path:
    """The file of an installed package; a missing one is a `MissingExtra` with the `command` that gets it."""
    spec = importlib.util.find_spec(package)
    for folder in (spec and spec.submodule_search_locations) or ():
        if (path := Path(folder) / inside).is_file():
            return path
    raise MissingExtra(package, "evaluation", purpose, command)


def remembering(hear: Callable[[NDArray[Any], int], Answer]) -> Callable[[NDArray[Any], int], Answer]:
    """The same answer for a sound that was heard before: in training, recordings and their copies come again."""
    known: dict[tuple[int, int], Answer] = {}

    def answer(audio: NDArray[Any], sample_rate: int) -> Answer:
        key = xxhash.xxh3_64_intdigest(np.ascontiguousarray(audio).data), sample_rate
        if key not in known:
            known[key] = hear(audio, sample_rate)
        return known[key]

    return answer


def at_16_khz(audio: NDArray[np.float32], sample_rate: int) -> NDArray[np.float32]:
    return soxr.resample(np.asarray(audio, np.float32), sample_rate, RATE)


def power_mel(audio: NDArray[np.float32], fft_samples: int, n_mels: int, hop_samples: int = 160) -> NDArray[np.float32]:
    """Mel of the squared magnitudes up to 8 kHz, edges padded with zeros: float32 [frames, mels].

    The definition of librosa.feature.melspectrogram, with which these judges were trained.
    """
    padded = np.pad(np.asarray(audio, np.float32), fft_samples // 2)
    frames = np.lib.stride_tricks.sliding_window_view(padded, fft_samples)[::hop_samples]
    spectrum = np.fft.rfft(frames * _hann(fft_samples), axis=1)
    return (np.square(np.abs(spectrum)) @ mel_filters(RATE, fft_samples, n_mels, RATE / 2)).astype(np.float32)


@functools.cache
def _hann(samples: int) -> NDArray[np.float32]:
    return (0.5 - 0.5 * np.cos(2.0 * np.pi * np.arange(samples) / samples)).astype(np.float32)
