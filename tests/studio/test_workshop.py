"""The folder of a studio: names that lead nowhere else, clips that are a corpus as they are."""

import io
import json

import pytest
import soundfile
from corpora import write_tone

from myxtts.corpus.read import open_corpus
from myxtts.corpus.utterance import Utterance
from myxtts.serving.problems import Problem
from myxtts.studio.clips import MANIFEST, PROBLEMS, Clips
from myxtts.studio.workshop import Workshop

EVIL = ["..", "../other", "a/b", "/etc", ".hidden", "Anna", "a" * 60, "", "%2e%2e", "a\0b", "spoken"]


@pytest.fixture
def workshop(tmp_path):
    return Workshop(tmp_path / "voices")


@pytest.fixture
def voice(workshop):
    return workshop.create("Anna", "en-us", "my own")


@pytest.fixture(scope="module")
def tone(tmp_path_factory):
    path = tmp_path_factory.mktemp("tone") / "tone.wav"
    write_tone(path, 1.0)
    return path.read_bytes()


def test_a_voice_is_a_folder_of_a_plain_name(workshop):
    names = [workshop.create(title, "fa", "agreed").name for title in ("Anna Berg!", "Anna Berg", "مریم", "spoken")]
    assert names == ["anna-berg", "anna-berg-2", "voice", "spoken-2"]
    assert workshop.voice("voice").about.title == "مریم"
    assert {voice.name for voice in workshop.voices()} == set(names)


@pytest.mark.parametrize("name", EVIL)
def test_no_name_leads_out_of_the_folder(workshop, voice, name):
    with pytest.raises(Problem) as problem:
        workshop.voice(name)
    assert problem.value.status == 404
    with pytest.raises(Problem):
        voice.run(name)
    with pytest.raises(Problem):
        Clips(voice).audio(name)


@pytest.mark.parametrize(
    ("title", "language", "consent"),
    [("", "fa", "yes"), ("a" * 99, "fa", "yes"), ("Anna", "../fa", "yes"), ("Anna", "fa", "  ")],
)
def test_a_voice_without_name_language_or_consent_is_refused(workshop, title, language, consent):
    with pytest.raises(Problem):
        workshop.create(title, language, consent)
    assert workshop.voices() == []


def test_of_a_deleted_voice_nothing_is_left(workshop, voice, tone):
    other = workshop.create("Tom", "en-us", "my own")
    Clips(voice).add(tone, "One.", "one.wav")
    workshop.spoken.mkdir()
    (workshop.spoken / "0123456789abcdef.wav").write_bytes(tone)  # in whose voice nobody knows
    workshop.delete(voice)
    assert sorted(path.name for path in workshop.folder.iterdir()) == ["spoken", "tom"]
    assert not any(workshop.spoken.iterdir())
    assert workshop.voices() == [other]
    assert workshop.create("Anna", "en-us", "my own").name == "anna"


def test_what_a_kill_left_of_a_deleted_voice_goes_at_the_next_start(workshop, voice):
    voice.folder.rename(workshop.folder / ".anna.deleted-by-myxtts")
    kept = {".mine.deleted", "my.deleted-by-myxtts", "..deleted-by-myxtts"}
    for name in kept:
        (workshop.folder / name).mkdir()
    assert workshop.voices() == []
    Workshop(workshop.folder)
    assert {path.name for path in workshop.folder.iterdir()} == kept


def test_clips_are_a_corpus_as_they_are(voice, tone):
    clips = Clips(voice)
    first = clips.add(tone, "The  first\nsentence.", "../../LJ001 (take 2).WAV")
    second = clips.add(tone, "The second one.", "LJ001 (take 2).wav")
    assert (first["id"], second["id"]) == ("lj001-take-2", "lj001-take-2-2")
    assert first["seconds"] == 1.0
    rows = list(open_corpus(voice.corpus).rows())
    assert [(row.id, row.text) for row in rows] == [
        (first["id"], "The first sentence."),
        (second["id"], "The second one."),
    ]
    assert all(isinstance(row, Utterance) and soundfile.info(row.audio).frames == 22050 for row in rows)


def test_a_clip_is_changed_and_removed(voice, tone):
    clips = Clips(voice)
    name = clips.add(tone, "Wrong.", "one.wav")["id"]
    clips.change(name, "Right.")
    assert clips.texts() == {"Right."}
    clips.remove(name)
    assert clips.shown() == []
    assert list((voice.corpus / "wavs").iterdir()) == []
    for change in (lambda: clips.change(name, "x"), lambda: clips.remove(name)):
        with pytest.raises(Problem):
            change()


def test_what_check_said_stands_beside_the_clip(voice, tone):
    clips = Clips(voice)
    name = clips.add(tone, "One.", "one.wav")["id"]
    problem = {"row": 1, "id": name, "reason": "clipped", "message": "too loud", "kind": "warning"}
    (voice.folder / PROBLEMS).write_text(json.dumps(problem) + "\n", encoding="utf-8")
    assert clips.problems() == {name: [{"reason": "clipped", "kind": "warning", "message": "too loud"}]}


def test_a_corpus_of_another_program_is_shown_and_not_changed(voice, tone):
    write_tone(voice.corpus / "wavs" / "a.wav", 0.5)
    (voice.corpus / "metadata.csv").write_text("a|What is said.|What is said.\n", encoding="utf-8")
    clips = Clips(voice)
    assert clips.shown() == [{"id": "a", "text": "What is said.", "seconds": 0.5}]
    assert clips.audio("a").name == "a.wav"
    with pytest.raises(Problem, match="not changed here"):
        clips.add(tone, "", "b.wav")


def test_a_damaged_list_is_said_and_not_overwritten(voice, tone):
    manifest = voice.corpus / MANIFEST
    manifest.write_bytes(b'{"id": "a", "text"\n')
    with pytest.raises(Problem, match="damaged"):
        Clips(voice).add(tone, "", "b.wav")
    assert manifest.read_bytes() == b'{"id": "a", "text"\n'


def test_the_tone_of_these_tests_is_a_wav(tone):
    assert soundfile.info(io.BytesIO(tone)).channels == 1
