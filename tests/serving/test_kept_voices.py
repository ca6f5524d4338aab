"""What a server keeps of a voice is all that speaking in it needs."""

import numpy as np
import pytest

from myxtts.models.voice import Voice
from myxtts.serving.problems import Problem
from myxtts.serving.voices import Voices, keep, to_tensors

NUMBERS = np.random.default_rng(0).normal(size=(3, 80)).astype(np.float32)


@pytest.mark.parametrize("colour", [None, NUMBERS[2]])
def test_a_kept_voice_comes_back_whole(tmp_path, colour):
    voice = Voice(NUMBERS[:1], NUMBERS[None, :2], colour)
    Voices(tmp_path).add(keep("tom", "base", "abc-5", "Tom, by letter", 4.0), to_tensors(voice))
    voices = Voices(tmp_path)
    back = Voice(**voices.tensors(voices.find("tom", "base"), "abc-5"))
    for ours, theirs in zip(voice, back, strict=True):
        assert np.array_equal(ours, theirs)


def test_a_voice_that_another_model_heard_is_refused(tmp_path):
    Voices(tmp_path).add(keep("tom", "base", "abc", "Tom, by letter", 4.0), to_tensors(Voice(NUMBERS, NUMBERS)))
    voices = Voices(tmp_path)
    with pytest.raises(Problem, match="base has changed since the voice tom was added: add it again"):
        voices.tensors(voices.find("tom", "base"), "abc-5")
