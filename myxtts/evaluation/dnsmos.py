"""How clean does it sound, 1 to 5? DNSMOS P.835 and P.808 (C. Reddy and others, Microsoft, 2022), by onnxruntime.

The two networks are files inside the package speechmos, whose code is not run: it would need librosa. Made for noise
suppression, so it hears noise and rattling better than a blurred voice: a second opinion beside DistillMOS.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from myxtts.errors import MissingExtra
from myxtts.evaluation.front_end import RATE, at_16_khz, file_in, power_mel

_PURPOSE = "hearing how clean a voice sounds"
_CUT_SECONDS = 9.01
_CUT_SAMPLES = int(_CUT_SECONDS * RATE)
# From the networks' scale to that of listeners: the polynomials of its authors, highest power first.
_SCALES = {
    "dnsmos_signal": (-0.08397278, 1.22083953, 0.0052439),
    "dnsmos_background": (-0.13166888, 1.60915514, -0.39604546),
    "dnsmos_overall": (-0.06766283, 1.11546468, 0.04602535),
}


class DnsMos:
    """audio [samples] -> signal, background, overall and P.808 scores by name."""

    def __init__(self, most_cuts: int | None = None, threads: int = 1):
        """`most_cuts`: of P.835, which costs 0.4 CPU-seconds each; without it the scores are its package's."""
        self._most = most_cuts
        try:
            import onnxruntime
        except ImportError:
            raise MissingExtra("onnxruntime", "evaluation", _PURPOSE) from None
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = threads

        def load(name: str) -> Any:
            path = file_in("speechmos", f"dnsmos_models/{name}.onnx", _PURPOSE)
            return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])

        self._p835, self._p808 = load("sig_bak_ovr"), load("model_v8")

    def __call__(self, audio: NDArray[np.float32], sample_rate: int) -> dict[str, float]:
        cuts = _cuts(np.clip(at_16_khz(audio, sample_rate), -1.0, 1.0))
        three = np.mean([self._raw_to_scores(cut) for cut in cuts[: self._most]], axis=0)
        scores = dict(zip(_SCALES, three.tolist(), strict=True))
        return scores | {"dnsmos_p808": float(np.mean([self._p808_of(cut) for cut in cuts]))}

    def _raw_to_scores(self, cut: NDArray[np.float32]) -> list[float]:
        raw = self._p835.run(None, {"input_1": cut[None]})[0][0]
        return [float(np.polyval(by, value)) for by, value in zip(_SCALES.values(), raw, strict=True)]

    def _p808_of(self, cut: NDArray[np.float32]) -> float:
        return float(self._p808.run(None, {"input_1": _decibels(power_mel(cut[:-160], 321, 120))[None]})[0][0][0])


def _cuts(audio: NDArray[np.float32]) -> list[NDArray[np.float32]]:
    """9 s each, a second apart; a shorter clip is repeated. Where a cut ends is rounded as its authors round it: some
    are a sample short of what the networks take, and are left out."""
    while len(audio) < _CUT_SAMPLES:
        audio = np.append(audio, audio)
    hops = range(int(len(audio) // RATE - _CUT_SECONDS) + 1)
    cuts = [audio[hop * RATE : int((hop + _CUT_SECONDS) * RATE)] for hop in hops]
    return [cut for cut in cuts if len(cut) == _CUT_SAMPLES]


def _decibels(mel: NDArray[np.float32]) -> NDArray[np.float32]:
    """Below the loudest, at most 80, from 1 to -1."""
    level = 10.0 * np.log10(np.maximum(mel, 1e-10))
    level = level - level.max()
    return ((np.maximum(level, -80.0) + 40.0) / 40.0).astype(np.float32)
