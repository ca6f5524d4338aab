"""A comparison that is never one-sided, scores that are pooled as they should be, judges that may be missing."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from corpora import write_tone

from myxtts.errors import MissingExtra, NoEars, SpeechError
from myxtts.evaluation.clip import Clip, Sentence
from myxtts.evaluation.evaluate import evaluate
from myxtts.evaluation.intelligibility import Intelligibility
from myxtts.evaluation.judges import JUDGES, EachSound, Similarity, find_judges
from myxtts.evaluation.measures import MEASURES
from myxtts.features.audio import read_audio

PACKAGES = {"distillmos": "distillmos", "dnsmos": "speechmos", "similarity": "resemblyzer"}


@pytest.fixture
def real(tmp_path) -> np.ndarray:
    write_tone(tmp_path / "a.wav", 0.6)
    return read_audio(tmp_path / "a.wav")[0]


def silence(sentence):
    """Spoken at another rate than the recording's."""
    return SimpleNamespace(audio=np.zeros(8000, np.float32), sample_rate=16000)


def test_a_voice_is_always_compared_with_the_recording_and_its_copy(real):
    """The recogniser tells the three apart by their samples, so each must get its own sound."""

    def ear(audio, sample_rate):
        if not audio.any():
            return "one too"
        return "one two" if np.allclose(audio[: len(real)], real / 32768) else "one"

    seen = []
    sentences, judge = [Sentence("One two.", real)] * 2, Intelligibility(lambda language: ear)
    result = evaluate(silence, sentences, [judge], "griffin-lim", progress=seen.append)
    assert result.scores["wer"] == {"synthetic": 0.5, "real": 0.0, "copy": 0.5}
    assert [row.heard["synthetic"] for row in seen] == ["one too"] * 2
    assert result.rows == seen
    assert result.rows[0].seconds["synthetic"] == 0.5
    assert result.rows[0].seconds["copy"] == pytest.approx(0.6, abs=0.02)
    assert result.to_dict()["sentences"] == 2
    assert "real" in str(result)


def test_a_voice_of_before_is_judged_beside_it(real):
    """Also where the recordings say something else."""
    judge = EachSound("distillmos", lambda audio, rate: {"distillmos": float(len(audio))})
    ears = Intelligibility(lambda language: lambda audio, rate: "one" if len(audio) == 11025 else "one two")

    def louder(sentence):
        return SimpleNamespace(audio=np.ones(7000, np.float32), sample_rate=22050, mel=np.zeros((28, 80), np.float32))

    sentences, judges = [Sentence("One two.", real)], [judge, ears]
    result = evaluate(silence, sentences, judges, "griffin-lim", keep_clips=1, same_text=False, before=louder)
    assert result.scores["distillmos"]["synthetic"] == 11025
    assert result.scores["distillmos"]["before"] == 7000
    assert result.scores["wer"] == {"synthetic": 0.5, "before": 0.0}
    assert str(result).splitlines()[0].split() == ["1", "sentences", "before", "spoken", "copy", "real"]
    assert not result.clips[0].mels["before"].any()  # as the model made it
    alone = evaluate(silence, sentences, judges, "griffin-lim")
    assert "before" not in str(alone) + str(alone.to_dict())


def test_error_rates_are_over_all_words_and_scores_over_all_sentences(real):
    heard = iter(["one", "nine two three"])
    judges = [
        Intelligibility(lambda language: lambda audio, rate: "" if audio.any() else next(heard)),
        EachSound("distillmos", lambda audio, rate: {"distillmos": float(audio.any())}),
    ]
    result = evaluate(silence, [Sentence("One.", real), Sentence("One two three.", real)], judges, "griffin-lim")
    assert result.scores["wer"]["synthetic"] == 0.25
    assert result.scores["distillmos"] == {"synthetic": 0.0, "real": 1.0, "copy": 1.0}


def test_no_sentences_is_an_error():
    with pytest.raises(SpeechError, match="no sentence"):
        evaluate(silence, [], [], "griffin-lim")


def test_every_measure_has_a_judge_and_a_direction():
    assert {measure.judge for measure in MEASURES.values()} == set(JUDGES)
    assert {measure.better for measure in MEASURES.values()} == {"higher", "lower", "one"}


def test_a_sound_is_judged_once():
    asked = []
    judge = EachSound("distillmos", lambda audio, rate: {"distillmos": float(asked.append(audio) or 3)})
    for spoken in (1.0, 2.0):
        judge(Clip("a", {"synthetic": np.full(5, spoken, np.float32), "real": np.zeros(5, np.float32)}))
    assert len(asked) == 3


@pytest.mark.parametrize(("judge", "package"), PACKAGES.items())
def test_a_judge_that_is_not_installed_is_named_with_the_command(judge, package, monkeypatch):
    find_spec = __import__("importlib").util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == package else find_spec(name))
    with pytest.raises(MissingExtra, match="run pip install"):
        find_judges([judge], {}, [])
    monkeypatch.setattr("myxtts.evaluation.judges.JUDGES", {name: JUDGES[name] for name in (judge, "speed")})
    judges, missing = find_judges(None, {}, [])
    assert ([each.name for each in judges], list(missing)) == (["speed"], [judge])
    assert package in missing[judge].lower()


def test_a_language_without_ears_leaves_the_other_judges(monkeypatch):
    monkeypatch.setitem(sys.modules, "faster_whisper", None)
    monkeypatch.setattr("myxtts.evaluation.judges.JUDGES", {n: JUDGES[n] for n in ("intelligibility", "speed")})
    judges, missing = find_judges(None, {}, ["fa"])
    assert [judge.name for judge in judges] == ["speed"]
    assert "faster-whisper" in missing["intelligibility"]


def test_a_language_that_nobody_hears_leaves_the_others_heard(monkeypatch):
    def ears(language, folder):
        if language == "ga":
            raise NoEars("Whisper does not know 'ga'")
        return lambda audio, rate: "one two"

    monkeypatch.setattr("myxtts.evaluation.judges.recogniser_for", ears)
    monkeypatch.setattr("myxtts.evaluation.judges.JUDGES", {n: JUDGES[n] for n in ("intelligibility", "speed")})
    judges, missing = find_judges(None, {}, ["en-us", "ga"])
    assert not missing
    assert judges[0].notes() == {"wer": "Whisper does not know 'ga'"}
    sound = {"synthetic": np.ones(9, np.float32)}
    assert judges[0](Clip("One two.", sound, language="en-us"))["wer"] == {"synthetic": 0.0}
    assert judges[0](Clip("A haon.", sound, language="ga")) == {}
    assert [judge.name for judge in find_judges(None, {}, ["ga"])[0]] == ["speed"]
    with pytest.raises(NoEars):
        find_judges(["intelligibility"], {}, ["en-us", "ga"])


def test_an_unknown_judge_is_refused():
    with pytest.raises(SpeechError, match="'mos' is not a judge: choose from distillmos, dnsmos"):
        find_judges(["mos"], {}, [])


def test_similarity_is_told_beside_other_speakers():
    """The embedding of a sound is its first samples."""
    anna, ben = np.array([1, 0, 0], np.float32), np.array([0, 1, 0], np.float32)
    judge = Similarity(lambda audio, rate: audio, {"anna": [anna, anna], "ben": [ben]})
    spoken = np.array([0.6, 0.8, 0], np.float32)
    scores = judge(Clip("a", {"synthetic": spoken, "real": anna}, speaker="anna"))
    assert scores["similarity"] == {"synthetic": pytest.approx(0.6), "real": 1.0}
    assert scores["similarity_others"] == {"synthetic": pytest.approx(0.8), "real": 0.0}
    assert scores["nearest"] == scores["above_others"] == {"synthetic": 0.0, "real": 1.0}
    assert judge(Clip("a", {"synthetic": spoken}, speaker="nobody")) == {}
    assert not judge.notes()


def test_a_lone_speaker_is_said_to_have_nobody_to_be_told_apart_from():
    anna = np.array([1, 0, 0], np.float32)
    judge = Similarity(lambda audio, rate: audio, {"anna": [anna, anna]})
    assert not judge.notes()
    assert set(judge(Clip("a", {"synthetic": anna, "real": anna}, speaker="anna"))) == {"similarity"}
    assert set(judge.notes()) == {"similarity_others"}
    assert "give --others DIR" in judge.notes()["similarity_others"]


def test_the_only_clip_of_a_voice_is_not_compared_with_itself():
    anna, ben = np.array([1, 0, 0], np.float32), np.array([0, 1, 0], np.float32)
    judge = Similarity(lambda audio, rate: audio, {"anna": [anna], "ben": [ben, ben]})
    spoken = np.array([0.8, 0.6, 0], np.float32)
    for speaker, real in (("anna", anna), ("ben", ben)):
        scores = judge(Clip("a", {"synthetic": spoken, "real": real, "copy": real}, speaker=speaker))
        assert {*scores["similarity"]} == ({"synthetic"} if speaker == "anna" else {"synthetic", "real", "copy"})
        assert scores["similarity_others"]["real"] == 0.0
        assert scores["nearest"]["synthetic"] == (speaker == "anna")
    assert judge.notes()["similarity"].startswith("1 of 2 voices have one clip")
