"""Models are known by name, loaded when used, and unloaded when idle or when another needs the room."""

import pytest

from myxtts.errors import CheckpointError, SpeechError
from myxtts.serving.problems import Problem
from myxtts.serving.served import Served

pytestmark = pytest.mark.slow  # TensorFlow and two models

PLENTY, NEVER = 1e12, 1e9


def test_models_are_named_by_their_folder_or_as_told(models):
    served = Served([str(models.own), f"tts-1={models.voiceless}"], PLENTY, NEVER)
    assert [*served.known] == ["own", "tts-1"]
    assert (served.first.has_voice, served.find("tts-1").has_voice) == (True, False)
    assert served.loaded() == []
    with pytest.raises(Problem, match="'alloy' is not served: choose one of own, tts-1") as error:
        served.find("alloy")
    assert error.value.status == 404


def test_what_cannot_be_served_is_said_at_the_start(models, tmp_path):
    with pytest.raises(SpeechError, match="two models of one name"):
        Served([str(models.own), f"own={models.voiceless}"], PLENTY, NEVER)
    with pytest.raises(SpeechError, match="own needs about .* --memory-gb is 0.001"):
        Served([str(models.own)], 1e6, NEVER)
    with pytest.raises(CheckpointError, match="is not a folder"):
        Served([str(tmp_path / "nothing")], PLENTY, NEVER)


def test_one_makes_room_for_another_but_not_while_it_speaks(models):
    room_for_one = 1.5 * Served([str(models.own)], PLENTY, NEVER).first.needs_bytes
    served = Served([str(models.own), str(models.voiceless)], room_for_one, NEVER)
    with served.use("own") as loaded:
        assert loaded.own_voice is not None
        with pytest.raises(Problem, match="no room for voiceless") as error, served.use("voiceless"):
            pass
        assert error.value.status == 429
        with served.use("own") as again:
            assert again is loaded
    with served.use("voiceless") as other:
        assert other.own_voice is None
    assert served.loaded() == ["voiceless"]


def test_an_idle_model_is_unloaded(models):
    served = Served([str(models.voiceless)], PLENTY, idle_seconds=0.0)
    with served.use("voiceless"):
        served.unload_idle()
        assert served.loaded() == ["voiceless"]
    assert served.unload_idle() is None
    assert served.loaded() == []
    patient = Served([str(models.voiceless)], PLENTY, idle_seconds=1e6)
    with patient.use("voiceless"):
        pass
    assert 0 < patient.unload_idle() <= 1e6
    assert patient.loaded() == ["voiceless"]
