"""In which language a text is read: the one that is asked for, else the one whose letters it has."""

import pytest

from myxtts.errors import SpeechError
from myxtts.features.alphabets import letters_of_language, letters_of_text
from myxtts.features.text import SPECIALS, TextFrontend
from myxtts.inference.request import make_request
from myxtts.inference.script import Script
from myxtts.models.description import ModelDescription

LANGUAGES = ["en-gb", "en-us", "pt-br", "ru", "fa", "hi"]


def script_of(languages, main, kind="characters"):
    letters = "abcdefghijklmnopqrstuvwxyzйкапривет你好سلام"
    tokens = TextFrontend(kind=kind).settings()
    table = [*SPECIALS, *dict.fromkeys(" .,!?" + letters)]
    return Script(ModelDescription(token_table=table, languages=languages, main_language=main, tokens=tokens))


@pytest.fixture
def script():
    return script_of(LANGUAGES, "en-us")


@pytest.mark.parametrize(("main", "text"), [
    ("sr", "Dobar dan."), ("sr", "Привет."), ("mn", "Привет."), ("ku", "سلام"), ("nonesuch", "Привет."),
])  # fmt: skip
def test_a_language_of_several_or_unknown_letters_keeps_its_texts(main, text, caplog):
    script = script_of([*LANGUAGES, main], main)
    assert script.languages[script.language_of(text)] == main
    make_request(script, text)
    assert "letters" not in caplog.text


@pytest.mark.parametrize(("text", "language"), [
    ("Good morning.", "en-us"), ("Bom dia!", "en-us"), ("Привет, Anna.", "ru"), ("سلام", "fa"), ("12.", "en-us"),
])  # fmt: skip
def test_a_text_is_read_in_a_language_that_is_written_in_its_letters(script, text, language):
    assert LANGUAGES[script.language_of(text)] == language


def test_which_language_was_chosen_is_said(script, caplog):
    with caplog.at_level("INFO"):
        request = make_request(script, "Привет.")
    assert LANGUAGES[request.manner.language] == "ru"
    assert caplog.messages == ["the text is in Cyrillic letters: spoken as ru"]


@pytest.mark.parametrize(("language", "text"), [("en-us", "Привет."), (None, "你好 a")])
def test_a_model_of_letters_has_learnt_those_that_it_has_learnt(script, caplog, language, text):
    make_request(script, text, language=language)
    assert "is read as" not in caplog.text


@pytest.mark.parametrize(("text", "language", "letters"), [
    ("Привет, a.", "en-us", "Cyrillic"), ("你好", None, "Chinese or Japanese"), ("Hi.", "fa", "Latin"),
])  # fmt: skip
def test_letters_of_another_language_are_doubted(caplog, text, language, letters):
    pytest.importorskip("espeakng_loader")
    make_request(script_of(LANGUAGES, "en-us", "phonemes"), text, language=language)
    read = (
        f"the text is in {letters} letters and is read as {language or 'en-us'}: choose its language, if it is one of"
    )
    assert f"{read} en-gb, en-us, pt-br, ru, fa, hi" in caplog.text


@pytest.mark.parametrize(("asked", "spoken"), [
    ("en-us", "en-us"), ("EN_us", "en-us"), ("en-us-nyc", "en-us"), ("en-gb-scotland", "en-gb"), ("pt-pt", "pt-br"),
    ("pt", "pt-br"), ("ru", "ru"),
])  # fmt: skip
def test_another_region_is_the_same_language(script, asked, spoken):
    assert LANGUAGES[script.language(asked)] == spoken


@pytest.mark.parametrize("asked", ["ja", "xx", "", "auto"])
def test_another_language_is_refused(script, asked):
    with pytest.raises(SpeechError, match=f"speaks en-gb, .*, hi, not {asked or chr(39) * 2}: choose one of those"):
        script.language(asked)


@pytest.mark.parametrize(("language", "letters"), [
    ("fa", "ARABIC"), ("Persian", "ARABIC"), ("fa-IR", "ARABIC"), ("sr", None), ("ru-latn", None),
    ("mn", None), ("ja", "CJK"), ("en-us", "LATIN"), ("vi", "LATIN"),
])  # fmt: skip
def test_languages_have_letters(language, letters):
    pytest.importorskip("espeakng_loader")
    assert letters_of_language(language) == letters


@pytest.mark.parametrize(("text", "letters"), [
    ("", None), ("!? 5", None), ("naïve Straße", "LATIN"), ("東京タワーへ", "CJK"), ("ＡＢＣ", "LATIN"),
    ("سلام world دنیا", "ARABIC"),
])  # fmt: skip
def test_texts_have_letters(text, letters):
    assert letters_of_text(text) == letters
