"""Alignment search against a plain one in numpy, at its edges, and as part of a graph of unknown lengths."""

import numpy as np
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from myxtts.models.aligner import PRIOR_STEPS, align, diagonal, match, search

ROWS, FRAMES, TOKENS = 4, 24, 9  # one shape, compiled once


def best_score(scores: np.ndarray) -> float:
    """The total of the best monotonic path through scores [frames, tokens] that skips no token."""
    frames, tokens = scores.shape
    best = np.full((frames, tokens), -np.inf)
    best[0, 0] = scores[0, 0]
    for frame in range(1, frames):
        for token in range(tokens):
            come = best[frame - 1, max(token - 1, 0) : token + 1].max()
            best[frame, token] = scores[frame, token] + come
    return best[-1, -1]


def score_of(scores: np.ndarray, durations: np.ndarray) -> float:
    path = np.repeat(np.arange(len(durations)), durations)
    return scores[np.arange(len(path)), path].sum()


@settings(max_examples=60)
@given(st.data())
def test_the_path_is_the_best_one(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    frame_lengths = np.array(data.draw(st.lists(st.integers(1, FRAMES), min_size=ROWS, max_size=ROWS)), np.int32)
    token_lengths = np.minimum(rng.integers(1, TOKENS + 1, ROWS), frame_lengths).astype(np.int32)
    spread = data.draw(st.sampled_from([1, 3, 1000]))  # few values: many ties
    scores = rng.integers(-spread, spread + 1, (ROWS, FRAMES, TOKENS)).astype(np.float32)
    durations = search(scores, token_lengths, frame_lengths).numpy()
    for row, (frames, tokens) in enumerate(zip(frame_lengths, token_lengths, strict=True)):
        assert durations[row].sum() == frames
        assert (durations[row, :tokens] >= 1).all()
        assert (durations[row, tokens:] == 0).all()
        real = scores[row, :frames, :tokens].astype(np.float64)
        assert score_of(real, durations[row, :tokens]) == best_score(real)


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1))
def test_fewer_frames_than_tokens_still_give_every_frame_a_token(seed):
    rng = np.random.default_rng(seed)
    token_lengths = rng.integers(2, TOKENS + 1, ROWS).astype(np.int32)
    frame_lengths = rng.integers(1, token_lengths).astype(np.int32)
    scores = rng.normal(size=(ROWS, FRAMES, TOKENS)).astype(np.float32)
    durations = search(scores, token_lengths, frame_lengths).numpy()
    np.testing.assert_array_equal(durations.sum(1), frame_lengths)
    assert (durations >= 0).all()
    assert all((durations[row, tokens:] == 0).all() for row, tokens in enumerate(token_lengths))


def test_match_is_the_gaussian_likelihood_up_to_a_constant_per_frame():
    rng = np.random.default_rng(0)
    mel, mu = rng.normal(size=(2, 6, 80)).astype(np.float32), rng.normal(size=(2, 4, 80)).astype(np.float32)
    likelihood = -0.5 * np.square(mel[:, :, None] - mu[:, None]).sum(-1)
    away = match(mel, mu).numpy() - likelihood
    np.testing.assert_allclose(away, np.broadcast_to(away[:, :, :1], away.shape), atol=1e-3)


def test_the_diagonal_decides_at_first_and_fades():
    lengths = np.full(2, 8, np.int32), np.full(2, 24, np.int32)
    mel, mu = np.zeros((2, 24, 80), np.float32), np.zeros((2, 8, 80), np.float32)
    mu[:, 0] = 0.01  # a slight dislike of the first token
    first = align(mel, mu, *lengths, tf.constant(0, tf.int64)).numpy()
    np.testing.assert_array_equal(first, 3)
    faded = align(mel, mu, *lengths, tf.constant(PRIOR_STEPS, tf.int64)).numpy()
    np.testing.assert_array_equal(faded, align(mel, mu, *lengths).numpy())
    assert faded[0, 0] == 1
    assert diagonal(lengths[0], lengths[1], [2, 24, 8]).numpy().max() <= 0


def test_lengths_may_be_unknown_when_tracing():
    spec = [tf.TensorSpec([None, None, 80]), tf.TensorSpec([None, None, 80]), *[tf.TensorSpec([None], tf.int32)] * 2]
    traced = tf.function(align, input_signature=spec, autograph=False)
    rng = np.random.default_rng(0)
    for frames, tokens in ((12, 5), (17, 8)):
        mel, mu = (rng.normal(size=(2, n, 80)).astype(np.float32) for n in (frames, tokens))
        lengths = np.array([tokens, tokens - 2], np.int32), np.array([frames, frames - 3], np.int32)
        np.testing.assert_array_equal(traced(mel, mu, *lengths).numpy(), align(mel, mu, *lengths).numpy())
