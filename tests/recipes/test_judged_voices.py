"""The voices to judge by as manifests, and the bars that a base voice has to meet."""

import json
import sys

import numpy as np
import pytest

from myxtts.corpus.read import open_corpus
from myxtts.corpus.utterance import Utterance
from myxtts.evaluation.voices import find_people
from myxtts.models.description import ModelDescription, find_checkpoint
from myxtts.models.shipped import BASE
from recipes.base_voice import bars
from recipes.many_voices import judges
from recipes.many_voices.corpus import Clip, Folder, Source
from recipes.many_voices.plan import held_out_clips, seen_clips, training_clips
from recipes.many_voices.voices import HELD_OUT, SAME, twenty_of

RATE, LETTERS = 2000, ("ar", "da", "de", "es", "fr", "he", "it", "nl", "tn")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """As many voices as the packages have; each clip is a second of a tone, but a minute of the reader's."""
    out = tmp_path_factory.mktemp("judges")
    fill(out / "kokoro", held_out_clips(HELD_OUT))
    fill(out / "seen", seen_clips(twenty_of(ModelDescription.load(find_checkpoint(BASE)).speakers)))
    letters = [f"letters {language}" for language in LETTERS]
    fill(out / "humans", said_by(*judges.READERS, *letters))
    fill(out / "volunteers", said_by(*(f"tuxpaint {number}" for number in range(19))))
    fill(out / "person", the_reader(), seconds=60)
    judges.write_manifests(out)
    return out


def fill(place, clips, seconds=1):
    folder = Folder(place)
    folder.enter(Source("any", "human", "GPL-2+", "a stand-in", ()))
    for clip in clips:
        folder.add(clip, np.full(seconds * RATE, 0.1), RATE)
    folder.save()


def said_by(*speakers):
    return [Clip(f"{who}-{n}", "Some words.", who, who[-2:].strip(), "any") for who in speakers for n in range(2)]


def the_reader():
    """A third in Spanish; some are short, one is recorded twice."""
    for number in range(130):
        language = "es-419" if number % 3 == 2 else "en-us"
        text = f"Sentence {number}." if number % 5 == 0 else f"This is the sentence {number}."
        yield Clip(f"person-{number}", text, "allison", language, "any")
        if number == 4:
            yield Clip("person-4-again", text, "allison", language, "any")


def rows(made, name):
    return list(map(json.loads, (made / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()))


@pytest.mark.parametrize(("name", "voices"), [("seen", 20), ("unseen", 17), ("strangers", 27)])
def test_a_manifest_of_voices_is_read_by_evaluate(made, name, voices):
    people = find_people(made / f"{name}.jsonl")
    assert len(people) == voices
    assert all(person.others for person in people)


def test_voices_that_were_heard_are_not_among_those_that_were_not(made):
    heard = {row["speaker"] for row in rows(made, "seen")}
    assert heard <= set(ModelDescription.load(find_checkpoint(BASE)).speakers)
    assert not heard & {row["speaker"] for name in ("unseen", "strangers") for row in rows(made, name)}


def test_sentences_of_voices_that_were_heard_are_not_learnt_from(made):
    plan = training_clips(["af_bella", "im_nicola"], [], 0)
    learnt = {next(plan).text for _ in range(2000)}
    assert not learnt & {row["text"] for row in rows(made, "seen")}


def test_a_voice_of_two_languages_is_one_of_the_twenty_once():
    twenty = twenty_of(["kokoro-ef_dora", "kokoro-pf_dora", "kokoro-mix003", "kokoro-af_bella-slower", "carlo"])
    assert twenty == ["ef_dora"]
    assert SAME["pf_dora"] == "ef_dora"


def test_more_minutes_of_a_person_hold_the_fewer_ones(made):
    five, ten, thirty = (rows(made, f"person-{minutes}") for minutes in (5, 10, 30))
    assert (len(five), len(ten), len(thirty)) == (5, 10, 30)
    assert thirty[:10] == ten
    assert ten[:5] == five
    assert {row["language"] for row in thirty} == {"en-us"}  # while there is enough of it


def test_held_out_sentences_of_a_person_are_in_no_training_data(made):
    held_out = rows(made, "person-held-out")
    assert len(held_out) == 40
    assert all(row["language"] == "en-us" and len(row["text"].split()) >= 4 for row in held_out)
    assert not {row["text"] for row in held_out} & {row["text"] for row in rows(made, "person-30")}


@pytest.mark.parametrize("name", ["person-5", "person-held-out", "unseen"])
def test_a_manifest_can_be_packed(made, name):
    found = list(open_corpus(made / f"{name}.jsonl").rows())
    assert len(found) == len(rows(made, name))
    assert all(isinstance(row, Utterance) for row in found)


HEARD = {
    "scores": {
        "similarity": {"before": 0.8, "synthetic": 0.87, "real": 0.9},
        "nearest": {"synthetic": 0.6},
        "above_others": {"synthetic": 0.95},
        "wer": {"before": 0.1, "synthetic": 0.11},
        "distillmos": {"before": 4.0, "synthetic": 3.95},
    },
    "across_languages": {"above_every_speaker": 0.85},
}


@pytest.fixture
def run(monkeypatch, made, tmp_path, capsys):
    """run(): the commands, and the lines that are printed."""
    commands = []

    def stand_in(*words):
        commands.append(" ".join(map(str, words)))
        if words[0] == "pack":
            words[-1].mkdir()
        natives = {row["speaker"] for row in rows(made, "strangers") if row["language"].startswith("en")}
        spoken = [spoken_row(name, 0.0) for name in natives] + [spoken_row("tuxpaint 3", 0.25)]
        return json.dumps(HEARD | {"rows": spoken}).encode()

    monkeypatch.setattr(bars, "_myxtts", stand_in)
    monkeypatch.setattr(sys, "argv", ["bars", str(made), str(tmp_path / "work")])

    def run():
        commands.clear()
        bars.main()
        return list(commands), capsys.readouterr().out.splitlines()

    return run


def spoken_row(speaker, wer):
    row = {"text": "Four words are here.", "speaker": speaker, "language": "en-us", "seconds": {}, "heard": {}}
    return row | {"scores": {"wer": {"synthetic": wer}}}


def test_a_table_says_which_bar_is_met(run):
    _, table = run()
    verdicts = [line.split()[-1] for line in table]
    assert len(table) == 1 + 3 + 4 + 2 + 3 * 3
    missed = ["seen voices: the right one of 20", "unseen voices: word error rate", "across languages: word error rate"]
    for line, verdict in zip(table, verdicts, strict=True):
        assert verdict == ("MISSED" if line.startswith(tuple(missed)) else "met")
    assert "0.110 <=  0.120" in next(line for line in table if line.startswith("10 minutes of a person: word"))


def test_a_person_is_judged_by_sentences_that_chose_no_checkpoint(run):
    commands, _ = run()
    trained = [command for command in commands if command.startswith("train")]
    judged = [command for command in commands if "--before base" in command]
    assert len(trained) == len(judged) == 3
    assert all("held-out" not in command and "--from base" in command for command in trained)
    assert all("--val-data" in command and "person-held-out.cache" in command for command in judged)


def test_what_was_heard_is_not_heard_again(run):
    _, first = run()
    commands, again = run()
    assert [command.split()[0] for command in commands] == ["say"]
    assert again[1:] == first[1:]


def test_a_folder_without_voices_names_the_command_that_makes_them(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(sys, "argv", ["bars", str(tmp_path), str(tmp_path / "work")])
    with pytest.raises(SystemExit):
        bars.main()
    assert f"--held-out {tmp_path} --sources" in capsys.readouterr().err
