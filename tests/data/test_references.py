"""References: another utterance of the same speaker, chosen and cropped by (seed, step, row)."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from myxtts.data.references import References

relaxed = settings(max_examples=40)
seeds = st.integers(0, 2**31 - 1)


@relaxed
@given(st.lists(st.integers(0, 6), min_size=1, max_size=80), seeds, st.integers(0, 2**32 - 1))
def test_a_reference_is_another_utterance_of_the_speaker(speakers, seed, step):
    speakers = np.array(speakers)
    utterances = np.arange(len(speakers))
    reference, crop = References(seed, [speakers]).pick(utterances, step)
    assert reference.dtype == np.int64
    assert np.array_equal(speakers[reference], speakers)
    alone = np.bincount(speakers)[speakers] == 1
    assert np.array_equal(reference == utterances, alone)
    assert crop.dtype == np.float32
    assert ((crop >= 0) & (crop < 1)).all()


def test_every_other_utterance_of_the_speaker_is_chosen_alike():
    references = References(0, [np.array(["x", "a", "a", "a", "a", "y"])])
    chosen = np.concatenate([references.pick(np.full(50, 2), step)[0] for step in range(80)])
    counts = np.bincount(chosen, minlength=6)
    assert counts[[0, 2, 5]].tolist() == [0, 0, 0]
    assert counts[[1, 3, 4]].min() > 1200  # 1,333 expected, deviation 30


def test_rows_and_steps_draw_for_themselves():
    references = References(0, [np.zeros(1000, int)])
    picks = np.stack([references.pick(np.zeros(20, int), step)[0] for step in range(20)])
    crops = np.stack([references.pick(np.zeros(20, int), step)[1] for step in range(20)])
    assert len(np.unique(picks)) > 250
    assert len(np.unique(crops)) == 400


def test_references_come_only_from_the_given_part_and_from_the_same_cache():
    speakers = [np.array([0, 0, 0, 1]), np.array([0, 0, 0])]
    references = References(0, speakers, utterances=[[0, 2, 3], [0, 1]])
    for step in range(20):
        assert references.pick([0, 2, 3], step, 0)[0].tolist() == [2, 0, 3]
        assert references.pick([0, 1], step, 1)[0].tolist() == [1, 0]
