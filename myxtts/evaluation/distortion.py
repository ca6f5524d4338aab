"""How far is it from the recording? Cepstra, pitch, voicing and length, with frames paired by time warping."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.fft
import tensorflow as tf
from numpy.typing import NDArray

from myxtts.evaluation.clip import REAL, Clip, Scores
from myxtts.features.audio import to_int16, trim_silence
from myxtts.features.mel import N_MELS, log_mel
from myxtts.features.voicing import pitch_in_octaves
from myxtts.models.pitch import pitch_of

_COEFFICIENTS = 13  # of the cosine transform, without the first: its envelope, not its loudness
_SILENCE_DB = 45.0
_VOICED = 0.5
_DB = 20.0 / np.log(10.0)

Floats = NDArray[np.float64]


class Distortion:
    """Against the recording of the same text; of another text by the same voice, how far away its pitch is."""

    name = "distortion"

    def __call__(self, clip: Clip) -> Scores:
        if not clip.same_text:
            return _pitch_away(clip)
        trimmed = {kind: trim_silence(audio, _SILENCE_DB) for kind, audio in clip.sounds.items()}
        mels = {kind: log_mel(audio) for kind, audio in trimmed.items()}
        scores: Scores = {}
        for kind in (kind for kind in mels if kind != REAL):
            ratio = len(trimmed[kind]) / max(len(trimmed[REAL]), 1)
            measured = distortion(mels[kind], mels[REAL]) | {
                "duration_ratio": ratio,
                "duration_error": abs(ratio - 1.0),
            }
            for name, value in measured.items():
                scores.setdefault(name, {})[kind] = value
        return scores


def _pitch_away(clip: Clip) -> Scores:
    """By autocorrelation, so that it is not what a voice was brought near to the recording by."""
    found = {kind: pitch_in_octaves(to_int16(audio)) for kind, audio in clip.sounds.items()}
    octaves = {kind: each for kind, each in found.items() if each is not None}
    if (wanted := octaves.pop(REAL, None)) is None or not octaves:
        return {}
    return {"pitch_away": {kind: 12.0 * abs(each - wanted) for kind, each in octaves.items()}}


def distortion(made: NDArray[Any], real: NDArray[Any]) -> dict[str, float]:
    """Of log-mel frames [frames, mels]. `mcd_db` is the root mean square over frequency of the difference of the two
    envelopes in decibels, averaged over the pairs of frames; a pitch counts where both have one."""
    a, b = cepstrum(made), cepstrum(real)
    first, second = warp(a, b)
    away = np.sqrt(np.square(a[first] - b[second]).sum(axis=1) / N_MELS)
    pitch_a, pitch_b = _pitch(made)[first], _pitch(real)[second]
    voiced_a, voiced_b = pitch_a[:, 1] > _VOICED, pitch_b[:, 1] > _VOICED
    scores = {"mcd_db": float(_DB * away.mean()), "voicing_error": float((voiced_a != voiced_b).mean())}
    both = voiced_a & voiced_b
    if both.any():
        scores["pitch_error"] = float(12.0 * np.abs(pitch_a[both, 0] - pitch_b[both, 0]).mean())
    return scores


def cepstrum(mel: NDArray[Any]) -> Floats:
    """[frames, coefficients] of the orthonormal cosine transform."""
    return scipy.fft.dct(np.asarray(mel, np.float64), norm="ortho", axis=1)[:, 1 : _COEFFICIENTS + 1]


def warp(a: Floats, b: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Dynamic time warping: which frame of `a` [n, d] goes with which of `b` [m, d], from the first to the last."""
    squares = np.square(a).sum(axis=1)[:, None] + np.square(b).sum(axis=1)[None] - 2.0 * a @ b.T
    total = _path_costs(np.sqrt(np.maximum(squares, 0.0)))
    at, path = (len(a) - 1, len(b) - 1), []
    while at != (0, 0):
        path.append(at)
        n, m = at
        before = [(n - 1, m - 1), (n - 1, m), (n, m - 1)]
        at = min((step for step in before if min(step) >= 0), key=lambda step: total[step])
    path.append(at)
    first, second = np.array(path[::-1]).T
    return first, second


def _path_costs(costs: Floats) -> Floats:
    """The cost of the cheapest path to each pair. A diagonal from lower left to upper right is computed at once."""
    rows, columns = costs.shape
    total = np.full((rows + 1, columns + 1), np.inf)
    total[0, 0] = 0.0
    for diagonal in range(rows + columns - 1):
        n = np.arange(max(0, diagonal - columns + 1), min(rows, diagonal + 1))
        m = diagonal - n
        best = np.minimum(np.minimum(total[n, m], total[n, m + 1]), total[n + 1, m])
        total[n + 1, m + 1] = costs[n, m] + best
    return total[1:, 1:]


def _pitch(mel: NDArray[Any]) -> NDArray[np.float32]:
    """[frames, 2]: octaves, and how voiced."""
    batch = tf.constant(np.asarray(mel, np.float32)[None])
    return pitch_of(batch, tf.ones_like(batch[..., :1])).numpy()[0]
