"""Words that were said are told from words that were not, whoever speaks and however short the text is."""

import numpy as np
import pytest

from myxtts.prepare.likelihood import Judge, by_chance
from myxtts.prepare.placement import Expected, Place, without_pauses
from myxtts.prepare.trust import LEAST_TRUST, likelihood

WORDS, TOKENS, FRAMES = 40, 4, 5  # words of a text, tokens of a word, frames of a token


@pytest.fixture(scope="module", params=[WORDS, 8])
def text(request):
    """Half of what a sound has is common to all of them, as of a voice."""
    tokens = request.param * TOKENS
    draw = np.random.default_rng(0)
    frames = draw.standard_normal((tokens, 80)) * 0.5 + draw.standard_normal(80)
    is_sound = np.arange(tokens) % TOKENS != TOKENS - 1  # a space after each word
    ends = np.arange(TOKENS, tokens + 1, TOKENS)
    return Expected(frames.astype(np.float32), ends, np.ones(request.param, bool), is_sound)


def say(text, first, last):
    clean = np.repeat(text.frames[first * TOKENS : (last + 1) * TOKENS], FRAMES, axis=0)
    return clean + np.random.default_rng(first).standard_normal(clean.shape).astype(np.float32) * 0.7


def trust_in(text, sound, first, last):
    chance = by_chance([say(text, 0, 3), say(text, 4, 7)], text)
    return likelihood(Judge(text).of(sound, Place(first, last)), chance)


def test_words_that_were_said_are_likely(text):
    assert trust_in(text, say(text, 0, 3), 0, 3) > LEAST_TRUST


def test_as_many_other_words_are_not(text):
    assert trust_in(text, say(text, 0, 3), 4, 7) < LEAST_TRUST


def test_nor_are_the_same_words_in_another_order(text):
    swapped = np.concatenate([say(text, 2, 3), say(text, 0, 1)])
    assert trust_in(text, swapped, 0, 3) < LEAST_TRUST


def test_a_stretch_of_other_sounds_makes_all_of_a_slice_unlikely(text):
    other = np.random.default_rng(7).standard_normal((60, 80)).astype(np.float32) * 3
    whole = Judge(text).of(say(text, 0, 5), Place(0, 5))
    partly = Judge(text).of(np.concatenate([say(text, 0, 5), other]), Place(0, 5))
    assert partly.worst > whole.worst + 5


def test_the_same_slice_is_judged_the_same_at_any_time(text):
    judge, sound = Judge(text), say(text, 0, 3)
    before = judge.of(sound, Place(0, 3))
    judge.of(sound, Place(4, 7))
    assert judge.of(sound, Place(0, 3)) == before == Judge(text).of(sound, Place(0, 3))


def test_pauses_shrink_and_closures_stay():
    loud, quiet = np.ones((30, 80), np.float32), np.full((30, 80), -5, np.float32)
    assert len(without_pauses(np.concatenate([loud, quiet, loud]))) == 68
    assert len(without_pauses(np.concatenate([quiet[:2], loud, quiet[:4], loud]))) == 66
    assert len(without_pauses(np.concatenate([quiet, loud]))) == 38
