"""`myxtts text` shows every step of a text, and its exit code says whether all of it is read."""

import json

import pytest

from myxtts.cli import main
from myxtts.features.text import TextFrontend, TokenTable


def read(capsys, *words):
    code = main(["text", *words, "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_every_step_is_shown(capsys):
    code, shown = read(capsys, "am 3. Mai 1998", "--language", "de")
    assert code == 0
    assert shown["normalised"] == shown["words"] == "am dritten Mai neunzehnhundertachtundneunzig"
    assert shown["symbols"] == TextFrontend().symbols([shown["normalised"]], "de")[0]
    assert TokenTable.base().decode(shown["tokens"]) == shown["symbols"]
    assert (shown["kind"], shown["left_out"], shown["error"]) == ("phonemes", "", None)


def test_what_is_not_understood_is_named(capsys):
    code, shown = read(capsys, "a ^ b 🙂", "--language", "en")
    assert code == 1
    assert shown["left_out"] == "🙂^"
    assert main(["text", "a ^ b 🙂"]) == 1
    assert "left out    🙂 ^" in capsys.readouterr().out


def test_a_text_that_cannot_be_read_says_why(capsys):
    code, shown = read(capsys, "?!")
    assert (code, shown["symbols"], shown["tokens"]) == (1, [], [])
    assert "no letter or number" in shown["error"]
    assert main(["text", "?!"]) == 1
    assert "no letter or number" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("setting", "spelled"),
    [("data.text_tokens=characters", "five"), ("data.normalise_text=false", "5")],
)
def test_the_settings_are_those_of_the_config(capsys, setting, spelled):
    words = ["5", "--language", "en", "--set", "data.text_tokens=characters", "--set", setting]
    assert read(capsys, *words)[1]["spelled"] == spelled


def test_an_unknown_language_is_an_error(capsys):
    code, shown = read(capsys, "a", "--language", "qqq")
    assert code == 2
    assert "'qqq' is not one of" in shown["error"]["message"]
