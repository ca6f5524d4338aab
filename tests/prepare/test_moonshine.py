"""The recogniser, read from its files: what it hears of short and long clips, and how sure it is."""

import numpy as np
import pytest
from recordings import RATE, noise

from myxtts.evaluation.front_end import at_16_khz
from myxtts.evaluation.words import spoken_words
from myxtts.prepare.ears import find_ear


@pytest.fixture(scope="module")
def ear():
    return find_ear("moonshine", "en-us")


def test_a_sentence_and_a_clip_of_twelve_seconds_are_heard(ear, speech):
    heard = ear.hear(at_16_khz(speech.sounds[0], RATE))
    assert heard.text == speech.texts[0]
    assert 0.9 < heard.confidence <= 1.0
    long = ear.hear(at_16_khz(np.concatenate(speech.sounds[:3]), RATE))
    assert spoken_words(long.text) == spoken_words(" ".join(speech.texts[:3]))


def test_it_is_not_sure_of_noise(ear):
    assert ear.hear(at_16_khz(noise(2.0), RATE)).confidence < 0.7
