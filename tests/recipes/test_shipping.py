"""A run becomes what ships: half precision, and how far from its own voice it has learnt others."""

import numpy as np
import pytest
from training.small_run import SMALL

from myxtts.cache.open import open_cache
from myxtts.errors import SpeechError
from myxtts.features.mel import log_mel
from myxtts.inference.reference import make_reference, voice_frames
from myxtts.inference.synthesizer import Synthesizer
from myxtts.models import sizes, weights
from myxtts.models.description import ModelDescription, find_checkpoint, weights_file
from myxtts.models.format import WEIGHTS
from myxtts.models.voice import distance
from recipes.base_voice.ship import NAMED, OWN, ship, to_name


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setitem(sizes.SIZES, "tiny", SMALL)


def test_it_takes_half_of_the_bytes(trained_run, tmp_path):
    ship(trained_run[0], tmp_path / "shipped")
    trained = weights.load(weights_file(find_checkpoint(trained_run[0])))
    shipped = weights.load(tmp_path / "shipped" / WEIGHTS)
    before, after = (sum(tensor.nbytes for tensor in tensors.values()) for tensors in (trained, shipped))
    assert after < 0.51 * before
    assert ModelDescription.load(tmp_path / "shipped").voice_reach == 0
    assert ModelDescription.load(tmp_path / "shipped").attribution == [OWN]


def test_those_who_ask_are_named():
    assert to_name(["kokoro-af", "carlo", "ivrvoice_slow"]) == [OWN, NAMED["carlo"], NAMED["ivrvoice"]]


def test_a_language_that_it_has_not_learnt_is_refused(trained_run, tmp_path):
    with pytest.raises(SpeechError, match="has not learnt 'xx': choose from en"):
        ship(trained_run[0], tmp_path / "shipped", language="xx")


def test_with_its_data_it_knows_how_far_a_voice_may_be(trained_run, packed_voice, tmp_path):
    ship(trained_run[0], tmp_path / "shipped", data=packed_voice)
    reach = ModelDescription.load(tmp_path / "shipped").voice_reach
    assert 0 < reach < np.inf
    cache, synthesizer = open_cache(packed_voice), Synthesizer.load(tmp_path / "shipped")
    frames, follows = synthesizer.description.reference_frames, synthesizer.description.follows_pitch
    heard = [synthesizer.hear_within_colours(make_reference([voice_frames(log_mel(cache.samples(row)))], frames))
             for row in range(len(cache))]  # fmt: skip
    far = np.array([distance(voice, synthesizer.hear(), follows) for voice in heard])
    assert far.min() <= reach <= far.max()
