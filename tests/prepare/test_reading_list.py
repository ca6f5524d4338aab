"""Sentences to read aloud: short, of every sound, from text whose origin is named."""

import contextlib
import io

import pytest
from recordings import run

from myxtts.cli import main
from myxtts.errors import PrepareError
from myxtts.prepare.reading_list import reading_list


def test_few_sentences_cover_most_pairs_of_sounds():
    chosen = reading_list("fa", 5)
    assert 280 <= chosen.seconds <= 320
    assert chosen.covered > 0.75 * chosen.known
    assert len(set(chosen.sentences)) == len(chosen.sentences)
    assert chosen.unit in ("sounds", "letters")
    assert "MyXTTS" in chosen.origin


def test_the_command_prints_sentences_and_nothing_else():
    said, remarks = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(remarks):
        assert main(["sentences", "de", "--minutes", "1"]) == 0
    lines = said.getvalue().strip().splitlines()
    assert 6 <= len(lines) <= 25
    assert f"{len(lines)} sentences" in remarks.getvalue()
    assert run("sentences", "de", "--minutes", "1")["sentences"] == lines


def test_another_language_needs_a_text(tmp_path):
    assert "--from FILE" in run("sentences", "it", code=2)["error"]["message"]
    (tmp_path / "it.txt").write_text("Il panettiere all'angolo apre molto presto. Sì! Sai dove sono le chiavi di casa?")
    chosen = reading_list("it", 20, tmp_path / "it.txt")
    assert sorted(chosen.sentences) == [
        "Il panettiere all'angolo apre molto presto.",
        "Sai dove sono le chiavi di casa?",
    ]
    assert (chosen.covered, chosen.origin) == (chosen.known, "it.txt")
    assert reading_list("it-IT", 20, tmp_path / "it.txt").known == chosen.known
    answer = run("sentences", "0,2", "--from", tmp_path / "it.txt", code=2)
    assert "is not one of eSpeak's" in answer["error"]["message"]
    (tmp_path / "it.txt").write_text("Sì!")
    with pytest.raises(PrepareError, match="no sentence"):
        reading_list("it", 20, tmp_path / "it.txt")
