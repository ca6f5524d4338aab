"""What the recipe of the base voice runs and ships, by stand-ins: its product knows its language and its own voice."""

import sys

import numpy as np
import pytest

from myxtts.features.mel import SAMPLE_RATE
from recipes.base_voice import __main__ as recipe
from recipes.many_voices.corpus import Clip, Folder, Source


@pytest.fixture
def corpus(tmp_path):
    """An Italian comes first, and speaks longest."""
    folder = Folder(tmp_path / "many")
    folder.enter(Source("hibari", "synthetic", "Apache-2.0", "a stand-in", ()))
    said = [("asterisk-it", "it", 9), ("hibari", "en-us", 3), ("hibari", "en-us", 5), ("hibari", "en-us", 4)]
    for number, (source, language, seconds) in enumerate(said):
        samples = np.full(seconds * SAMPLE_RATE, 0.1)
        folder.add(Clip(f"{source}-{number}", "A text.", source, language, source), samples, SAMPLE_RATE)
    folder.save()
    return folder.folder


@pytest.fixture
def run(monkeypatch, tmp_path, corpus):
    """run(words): the commands, and what was shipped."""
    commands, shipped = [], []
    monkeypatch.setattr(recipe.subprocess, "run", lambda words, check: commands.append(words[3:]))
    monkeypatch.setattr(recipe, "ship", lambda *words, **named: shipped.append((words, named)) or 1)

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["base_voice", str(corpus), str(tmp_path / "work"), *map(str, words)])
        recipe.main()
        return commands, shipped

    run.commands = commands
    return run


def test_it_speaks_american_english_in_hibaris_voice_by_default(run, corpus, tmp_path):
    commands, shipped = run()
    assert [words[0] for words in commands] == ["pack", "train", "train", "train"]
    work, clip = tmp_path / "work", corpus / "wavs" / "hibari" / "hibari-2.wav"
    assert shipped == [
        ((work / "first_vocoder", recipe.WEIGHTS / "vocoder"), {}),
        ((work / "base", recipe.WEIGHTS / "base", "en-us", [clip], work / "many.cache"), {}),
        ((work / "vocoder", recipe.WEIGHTS / "vocoder"), {}),
    ]


def test_language_and_voice_can_be_named(run, corpus):
    clips = [corpus / "wavs" / "asterisk-it" / "asterisk-it-0.wav", corpus / "wavs" / "hibari" / "hibari-1.wav"]
    _, shipped = run("--language", "it", "--voice", *clips, "--minutes", "1")
    assert shipped[1][0][2:4] == ("it", clips)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--language", "fr"), r"--language fr: expected one that .* speaks \(en-us, it\)"),
        (("--voice", "nowhere.wav"), "nowhere.wav is not a file"),
    ],
)
def test_what_cannot_ship_is_refused_before_the_training(run, words, said):
    with pytest.raises(SystemExit, match=said):
        run(*words)
    assert run.commands == []


def test_a_corpus_without_hibari_asks_for_a_voice(run, corpus):
    Folder(corpus).leave_out(["hibari"])
    with pytest.raises(SystemExit, match="no clip of hibari: name one"):
        run("--language", "it")
    assert run.commands == []
