"""What a server keeps of a voice is all that speaking in it needs."""

import numpy as np
import pytest

from myxtts.models.description import ModelDescription
from myxtts.models.shipped import BASE, shipped
from myxtts.models.voice import Voice
from myxtts.serving import served
from myxtts.serving.problems import Problem
from myxtts.serving.served import Known
from myxtts.serving.voices import Voices, keep, to_tensors

NUMBERS = np.random.default_rng(0).normal(size=(3, 80)).astype(np.float32)


@pytest.mark.parametrize("rest", [[], [NUMBERS[2]], [NUMBERS[2], NUMBERS[1:2], NUMBERS[None, 1:], np.float32(0.3)]])
def test_a_kept_voice_comes_back_whole(tmp_path, rest):
    voice = Voice(NUMBERS[:1], NUMBERS[None, :2], *rest)
    Voices(tmp_path).add(keep("tom", "base", "abc-5", "Tom, by letter", 4.0), to_tensors(voice))
    voices = Voices(tmp_path)
    back = Voice(**voices.tensors(voices.find("tom", "base"), "abc-5"))
    for ours, theirs in zip(voice, back, strict=True):
        assert np.array_equal(ours, theirs)


def test_a_voice_that_another_model_heard_is_refused(tmp_path):
    Voices(tmp_path).add(keep("tom", "base", "abc", "Tom, by letter", 4.0), to_tensors(Voice(NUMBERS, NUMBERS)))
    voices = Voices(tmp_path)
    with pytest.raises(Problem, match="base, or how it follows voices, has changed since the voice tom was added: add"):
        voices.tensors(voices.find("tom", "base"), "abc-5")


def test_a_model_that_follows_voices_in_another_way_is_another(monkeypatch):
    """A voice is kept as it was followed: with another rule, the same numbers would be another voice."""
    base = shipped(BASE)
    known = Known("base", base, ModelDescription.load(base), created=0)
    of_this_rule = known.fingerprint()
    monkeypatch.setattr(served, "FOLLOWING", served.FOLLOWING + 1)
    of_another_rule = known.fingerprint()
    known.description.voice_reach += 0.5
    assert len({of_this_rule, of_another_rule, known.fingerprint()}) == 3
