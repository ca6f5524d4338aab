"""The recipe's one command: its steps in order, and one run at a time in a folder."""

import os
import sys

import pytest

from myxtts.files import try_lock
from recipes.many_voices import __main__ as recipe


@pytest.fixture
def run(monkeypatch):
    """run(words): the steps that were taken, by stand-ins."""
    taken = []
    for step in recipe.SOURCES[1:]:
        monkeypatch.setattr(getattr(recipe, step), "make", lambda *_, step=step: taken.append(step))
    monkeypatch.setattr(recipe.prompts, "make_prompts", lambda each, *_: taken.append(each.code))
    monkeypatch.setattr(recipe.judges, "make", lambda *_: taken.append("judges"))

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["many_voices", *map(str, words)])
        recipe.main()
        return taken

    return run


def test_all_is_listened_to_before_it_is_shifted(run, tmp_path):
    learnt = ["it", "ru", "hibari", "german", "persian", "kokoro", "listen", "shifted"]
    assert run(tmp_path / "many") == learnt


def test_the_voices_to_judge_by_are_made_first(run, tmp_path):
    taken = run(tmp_path / "many", "--held-out", tmp_path / "judges", "--sources", "shifted", "listen")
    assert taken == ["judges", "listen", "shifted"]


def test_the_voices_to_judge_by_can_be_made_alone(run, tmp_path):
    assert run(tmp_path / "many", "--held-out", tmp_path / "judges", "--sources") == ["judges"]


@pytest.mark.parametrize("busy", ["many", "judges"])
def test_a_folder_that_another_run_makes_is_refused(run, tmp_path, busy):
    (tmp_path / busy).mkdir()
    lock = os.open(tmp_path / busy / ".lock", os.O_RDWR | os.O_CREAT)
    assert try_lock(lock)
    with pytest.raises(SystemExit, match=f"another run is making {tmp_path / busy}: wait"):
        run(tmp_path / "many", "--held-out", tmp_path / "judges")
    os.close(lock)
    assert os.listdir(tmp_path / busy) == [".lock"]


def test_one_folder_cannot_be_both(run, tmp_path, capsys):
    with pytest.raises(SystemExit):
        run(tmp_path / "many", "--held-out", tmp_path / "many" / ".." / "many")
    assert "never learnt from" in capsys.readouterr().err


def test_the_help_says_what_it_needs_and_how_long_it_takes(run, capsys):
    with pytest.raises(SystemExit):
        run("--help")
    told = capsys.readouterr().out
    assert all(each in told for each in ("npm", "apt of Debian 12", "three hours"))
