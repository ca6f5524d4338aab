"""Each slice gets the words whose sounds it has; what was skipped or is not in the text does not move the others."""

import numpy as np
import pytest

from myxtts.prepare.placement import Expected, place

WORDS, TOKENS, FRAMES = 60, 4, 5  # words of a text, tokens of a word, frames of a token
ENDS = np.arange(WORDS) % 10 == 9  # six sentences of ten words


@pytest.fixture(scope="module")
def text():
    frames = np.random.default_rng(0).standard_normal((WORDS * TOKENS, 80)).astype(np.float32)
    return Expected(frames, np.arange(TOKENS, (WORDS + 1) * TOKENS, TOKENS), ENDS, np.ones(len(frames), bool))


def say(text, first, last, seed=0):
    """The frames of words first to last, with as much noise as they have themselves."""
    clean = np.repeat(text.frames[first * TOKENS : (last + 1) * TOKENS], FRAMES, axis=0)
    return clean + np.random.default_rng(seed).standard_normal(clean.shape).astype(np.float32) * 0.7


def spans(sounds, text):
    return [(one.first, one.last) for one in place(sounds, text)]


def test_a_text_that_was_read_as_it_stands(text):
    cuts = [(0, 9), (10, 13), (14, 29), (30, 31), (32, 59)]
    assert spans([say(text, *cut) for cut in cuts], text) == cuts


def test_skipped_sentences_belong_to_no_slice(text):
    cuts = [(0, 9), (20, 29), (50, 59)]
    assert spans([say(text, *cut) for cut in cuts], text) == cuts


def test_a_text_may_go_on_where_the_recording_ends(text):
    cuts = [(0, 9), (10, 14)]
    assert spans([say(text, *cut) for cut in cuts], text) == cuts


def test_a_slice_that_is_not_in_the_text_has_no_words(text):
    other = np.random.default_rng(9).standard_normal((100, 80)).astype(np.float32)
    first, nothing, second = place([say(text, 0, 9), other, say(text, 10, 19)], text)
    assert (first, second) == ((0, 9), (10, 19))
    assert not nothing


def test_more_slices_than_the_text_has_words_for(text):
    other = np.random.default_rng(9).standard_normal((100, 80)).astype(np.float32)
    assert spans([say(text, 0, 59), other, other], text) == [(0, 59), (60, 59), (60, 59)]


def test_no_slices_have_no_places(text):
    assert place([], text) == []


def test_a_long_text_is_searched_around_the_likeliest_place():
    draw = np.random.default_rng(1)
    words = 800
    frames = draw.standard_normal((words * TOKENS, 80)).astype(np.float32)
    ends = np.arange(TOKENS, (words + 1) * TOKENS, TOKENS)
    text = Expected(frames, ends, np.arange(words) % 10 == 9, np.ones(len(frames), bool))
    cuts = [(first, first + 19) for first in range(0, words, 20) if first not in (200, 220, 600)]
    assert spans([say(text, *cut) for cut in cuts], text) == cuts
