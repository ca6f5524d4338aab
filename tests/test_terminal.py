"""What a stranger wrote is shown and not obeyed."""

import json

import pytest

from myxtts.cli import main
from myxtts.terminal import name_as_text, printable, printable_json

NASTY = "a\x1b[2J\x1b]0;t\x07b\x9bc\x7f\u202ed\r\ud800"


def test_every_control_is_an_escape_and_all_else_stays():
    assert printable(NASTY) == r"a\x1b[2J\x1b]0;t\x07b\x9bc\x7f\u202ed\x0d\ud800"
    assert printable("سلام\n\tnaïve 你好") == "سلام\n\tnaïve 你好"


def test_json_stays_the_same_json():
    text = json.dumps({"name": NASTY}, ensure_ascii=False)
    assert json.loads(printable_json(text)) == {"name": NASTY}
    assert not set(printable_json(text)) & set("\x7f\x9b\u202e")


def test_the_name_of_a_file_becomes_text():
    assert name_as_text("k\udcff") == "k\\xff"
    assert name_as_text("کتاب") == "کتاب"


@pytest.mark.parametrize("verb", ["info", "verify"])
def test_escape_sequences_of_a_speaker_or_a_path_do_not_reach_the_terminal(verb, tmp_path, capsys):
    from corpora import write_corpus

    corpus = write_corpus(tmp_path / "vo\x1b[2Jice", 3)
    text = (corpus / "metadata.csv").read_text()
    (corpus / "metadata.csv").write_text(text.replace("speaker0", "eve\x1b]0;owned\x07"))
    cache = tmp_path / "\x1b[31mred.cache"
    assert main(["pack", str(corpus), "-o", str(cache), "--set", "data.text_tokens=characters"]) == 0
    assert main([verb, str(cache)]) == 0
    assert main([verb, str(tmp_path / "no\x1b[2J")]) == 2
    said = capsys.readouterr()
    assert "\x1b" not in said.out + said.err
    assert "\\x1b" in said.out
