"""Every number that `evaluate` can give: its name in JSON, what it means, which way is better, how clips are pooled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

Pool = Callable[[Sequence[float], Sequence[float]], float]


def _mean(values: Sequence[float], weights: Sequence[float]) -> float:
    return float(np.average(values, weights=weights))


def _median(values: Sequence[float], weights: Sequence[float]) -> float:
    """Of times: the first sentence also waits for what is compiled once."""
    return float(np.median(values))


@dataclass(frozen=True)
class Measure:
    """`better`: higher, lower, or one for a ratio to the recording that should be 1."""

    key: str
    judge: str
    title: str
    better: str
    pool: Pool = _mean
    digits: int = 2

    def lower_better(self, value: float) -> float:
        """The value, or its negative where higher is better: what checkpoints are chosen by. Twice is the value."""
        return -value if self.better == "higher" else value


_ALL = (
    Measure("distillmos", "distillmos", "naturalness, 1 to 5 (DistillMOS)", "higher"),
    Measure("dnsmos_overall", "dnsmos", "quality, 1 to 5 (DNSMOS P.835)", "higher"),
    Measure("dnsmos_signal", "dnsmos", "speech, 1 to 5 (DNSMOS P.835)", "higher"),
    Measure("dnsmos_background", "dnsmos", "background, 1 to 5 (DNSMOS P.835)", "higher"),
    Measure("dnsmos_p808", "dnsmos", "quality, 1 to 5 (DNSMOS P.808)", "higher"),
    Measure("wer", "intelligibility", "word error rate", "lower", digits=3),
    Measure("cer", "intelligibility", "character error rate", "lower", digits=3),
    Measure("similarity", "similarity", "similarity to the same speaker", "higher"),
    Measure("similarity_others", "similarity", "similarity to other speakers", "lower"),
    Measure("above_others", "similarity", "share nearer than other speakers' mean", "higher"),
    Measure("nearest", "similarity", "share nearest to the right speaker", "higher"),
    Measure("mcd_db", "distortion", "mel-cepstral distortion, dB", "lower"),
    Measure("pitch_error", "distortion", "pitch error, semitones", "lower"),
    Measure("pitch_away", "distortion", "pitch away from the voice's, semitones", "lower"),
    Measure("voicing_error", "distortion", "share of frames voiced wrongly", "lower"),
    Measure("duration_ratio", "distortion", "length over real", "one"),
    Measure("duration_error", "distortion", "length error, share", "lower"),
    Measure("sharpness_bins", "sharpness", "sharpness across frequency, over real", "one"),
    Measure("sharpness_time", "sharpness", "sharpness over time, over real", "one"),
    Measure("rtf", "speed", "real-time factor", "lower", _median, digits=3),
)
MEASURES = {measure.key: measure for measure in _ALL}
