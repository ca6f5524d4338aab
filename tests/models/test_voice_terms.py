"""The term is small when each piece is nearest to its own reference, and says nothing about one speaker."""

import numpy as np
import pytest

from myxtts.models.voice_terms import voice_term


def term(pieces, speaker=(0, 1, 2), weight=(1, 1, 1)):
    reference = np.eye(3, 4, dtype=np.float32)
    return float(voice_term(reference, np.float32(pieces), np.int32(speaker), np.float32(weight)))


def test_own_voices_cost_less_than_exchanged_ones():
    own, exchanged = np.eye(3, 4), np.roll(np.eye(3, 4), 1, axis=0)
    assert term(own) < 0.01
    assert term(exchanged) > 5.0


def test_one_speaker_costs_nothing():
    assert term(np.random.default_rng(0).normal(size=(3, 4)), speaker=(5, 5, 5)) == pytest.approx(0.0, abs=1e-6)


def test_rows_that_only_fill_up_count_on_neither_side():
    pieces = np.eye(3, 4)
    pieces[2] = pieces[0]
    assert term(pieces, weight=(1, 1, 0)) < 0.01
    assert term(pieces) > 1.0
