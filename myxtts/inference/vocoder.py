"""The vocoders by name: each turns natural-log mel [frames, mels] into float32 sound [frames * hop_samples]."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myxtts.errors import SpeechError
from myxtts.inference.griffin_lim import griffin_lim

Vocoder = Callable[[NDArray[Any]], NDArray[np.float32]]

DEFAULT_VOCODER = "griffin-lim"
VOCODERS: dict[str, Callable[[], Vocoder]] = {DEFAULT_VOCODER: lambda: griffin_lim}


def find_vocoder(name: str) -> Vocoder:
    if name not in VOCODERS:
        raise SpeechError(f"found the vocoder '{name}', expected one of: {', '.join(sorted(VOCODERS))}")
    return VOCODERS[name]()
