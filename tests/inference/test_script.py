"""In which language a text is read: the one that is asked for, else the one whose letters it has."""

import pytest

from myxtts.errors import SpeechError
from myxtts.features.alphabets import letters_of_language, letters_of_text
from myxtts.features.text import SPECIALS, TextFrontend
from myxtts.inference.request import make_request
from myxtts.inference.script import Script
from myxtts.models.description import ModelDescription

LANGUAGES = ["en-gb", "en-us", "pt-br", "ru", "fa", "hi"]


@pytest.fixture
def script():
    letters = "abcdefghijklmnopqrstuvwxyzйкапривет你好سلام"
    tokens = TextFrontend(kind="characters").settings()
    table = [*SPECIALS, *dict.fromkeys(" .,!?" + letters)]
    return Script(ModelDescription(token_table=table, languages=LANGUAGES, main_language="en-us", tokens=tokens))


@pytest.mark.parametrize(("text", "language"), [
    ("Good morning.", "en-us"), ("Bom dia!", "en-us"), ("Привет, Anna.", "ru"), ("سلام", "fa"), ("12.", "en-us"),
])  # fmt: skip
def test_a_text_is_read_in_a_language_that_is_written_in_its_letters(script, text, language):
    assert LANGUAGES[script.language_of(text)] == language


def test_which_language_was_chosen_is_said(script, caplog):
    with caplog.at_level("INFO"):
        request = make_request(script, "Привет.")
    assert LANGUAGES[request.language] == "ru"
    assert caplog.messages == ["the text is in Cyrillic letters: spoken as ru"]


@pytest.mark.parametrize(
    ("text", "language", "letters"), [("Привет.", "en-us", "Cyrillic"), ("你好 a", None, "Chinese or J")]
)
def test_letters_of_another_language_are_doubted(script, caplog, text, language, letters):
    make_request(script, text, language=language)
    assert f"the text is in {letters}" in caplog.text
    assert "is read as en-us: choose its language, if it is one of en-gb, en-us, pt-br" in caplog.text


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
    ("fa", "ARABIC"), ("Persian", "ARABIC"), ("sr", "CYRILLIC"), ("ja", "CJK"), ("en-us", "LATIN"), ("vi", "LATIN"),
])  # fmt: skip
def test_languages_have_letters(language, letters):
    pytest.importorskip("espeakng_loader")
    assert letters_of_language(language) == letters


@pytest.mark.parametrize(("text", "letters"), [
    ("", None), ("!? 5", None), ("naïve Straße", "LATIN"), ("東京タワーへ", "CJK"), ("سلام world دنیا", "ARABIC"),
])  # fmt: skip
def test_texts_have_letters(text, letters):
    assert letters_of_text(text) == letters
