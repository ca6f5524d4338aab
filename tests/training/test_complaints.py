"""When a voice is said to have become worse than its start: not by chance."""

import numpy as np
import pytest

from myxtts.evaluation.clip import Sentence
from myxtts.training.complaints import complaints_of

SILENCE = np.zeros(0, np.int16)


def sentences(count, words=8, language="en-us"):
    return [Sentence(" ".join(["word"] * words), SILENCE, speaker="anna", language=language)] * count


def scores(**heard):
    return {name: {"synthetic": value, "real": 0.03} for name, value in heard.items()}


@pytest.mark.parametrize(
    ("now", "count", "said"), [(0.77, 16, True), (0.79, 16, False), (0.77, 4, False), (0.7, 4, True)]
)
def test_a_voice_that_is_less_similar(now, count, said):
    told = complaints_of(scores(similarity=now), scores(similarity=0.8), sentences(count))
    wanted = f"similarity to the same speaker is {now:.2f} and was 0.80 before this training ({count} sentences)"
    assert told == [wanted] * said


@pytest.mark.parametrize(
    ("now", "words", "said"), [(4 / 24, 24, False), (0.1, 128, False), (0.2, 128, True), (0.9, 24, True)]
)
def test_a_voice_that_is_less_understood(now, words, said):
    told = complaints_of(scores(wer=now), scores(wer=0.0), sentences(words // 8))
    assert bool(told) == said


def test_characters_count_where_there_are_no_words():
    heard, start = scores(cer=0.3), scores(cer=0.05)
    assert "character error rate is 0.30" in complaints_of(heard, start, sentences(16, language="ja"))[0]
    assert complaints_of(heard | scores(wer=0.1), start | scores(wer=0.1), sentences(16)) == []


def test_a_recogniser_that_does_not_know_the_language_says_nothing():
    heard = {"cer": {"synthetic": 0.9, "real": 0.49}, "wer": {"synthetic": 1.0, "real": 0.8}}
    assert complaints_of(heard, scores(cer=0.4, wer=0.6), sentences(16)) == []


def test_what_only_one_of_them_has_is_no_complaint():
    assert complaints_of(scores(wer=0.5), scores(similarity=0.9), sentences(16)) == []
