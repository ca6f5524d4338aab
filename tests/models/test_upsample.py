"""Frames, tokens and durations: who speaks when, whole numbers of frames, crops."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from myxtts.models.duration import whole_frames
from myxtts.models.upsample import crop_frames, tokens_at

DURATIONS = st.lists(st.integers(0, 9), min_size=1, max_size=12).filter(sum)


@settings(max_examples=60)
@given(DURATIONS, st.integers(0, 3))
def test_each_frame_belongs_to_its_token(durations, padding):
    durations = np.array([durations + [0] * padding], np.int32)
    total = durations.sum()
    token, place = tokens_at(durations, np.arange(total + 2, dtype=np.int32)[None])
    spoken = np.repeat(np.arange(durations.shape[1]), durations[0])
    np.testing.assert_array_equal(token[0, :total], spoken)
    assert (token.numpy()[0, total:] == spoken[-1]).all()  # past the end: the last token that is spoken
    share = np.concatenate([(np.arange(n) + 0.5) / n for n in durations[0] if n])
    np.testing.assert_allclose(place[0, :total, 0], share, rtol=1e-6)


@settings(max_examples=60)
@given(st.lists(st.floats(0.015625, 30, width=32), min_size=1, max_size=40), st.integers(0, 3))
def test_whole_frames_keep_the_sum(durations, padding):
    inside = np.array([[1.0] * len(durations) + [0.0] * padding], np.float32)
    frames = whole_frames(np.array([durations + [5.0] * padding], np.float32), inside).numpy()[0]
    assert (frames[: len(durations)] >= 1).all()
    assert (frames[len(durations) :] == 0).all()
    raised = sum(1.0 for each in durations if each < 1)  # a token that lasts less than a frame gets one all the same
    assert sum(durations) - 1 <= frames.sum() <= sum(durations) + 1 + raised


def test_crops_start_even_and_stay_inside():
    lengths = np.array([40, 64, 128, 129, 200, 201], np.int32)
    starts = np.stack([crop_frames(lengths, 201, 64, [3, n]).numpy()[:, 0] for n in range(50)])
    assert (starts % 2 == 0).all()
    assert (starts[:, :2] == 0).all()
    assert (starts + 64 <= np.maximum(lengths, 64)).all()
    assert (starts[:, 4] >= 130).any()
    assert (starts[:, 4] <= 6).any()
    np.testing.assert_array_equal(crop_frames(lengths, 201, 64, None)[:, 0], 0)
