"""A machine without SciPy computes the same spectra, to rounding."""

import numpy as np

from myxtts.features import fourier
from myxtts.features.mel import log_mel


def test_numpy_stands_in_for_scipy(monkeypatch):
    audio = np.random.default_rng(0).normal(0, 0.1, 9000).astype(np.float32)
    rows = audio[:8192].reshape(8, 1024)
    wanted = log_mel(audio), fourier.rfft(rows.copy()), fourier.irfft(fourier.rfft(rows.copy()), 1024)
    monkeypatch.setattr(fourier, "_has_scipy", lambda: False)
    by_numpy = log_mel(audio), fourier.rfft(rows.copy()), fourier.irfft(fourier.rfft(rows.copy()), 1024)
    for ours, theirs in zip(by_numpy, wanted, strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, atol=1e-4)
