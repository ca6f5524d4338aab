"""The corpus is listened to, by stand-ins that know a clip by its loudness: who is not understood, and who is alike."""

import importlib.util
import json

import numpy as np
import pytest

from myxtts.cli import main as myxtts
from myxtts.errors import MissingExtra
from myxtts.features.audio import read_audio, to_float
from myxtts.features.mel import SAMPLE_RATE
from recipes.many_voices import listen, shifted
from recipes.many_voices.corpus import Clip, Folder, Source

SPEAKERS = ("af_one", "im_two", "mix000", "mix001", "mix002")
ENGLISH = "The old bridge survived the storm."


class Listeners:
    """Hear what was said, but for those in `wrong`; a voice is an axis of its own, unless it is a double."""

    def __init__(self, clips, wrong=(), doubles=None, deaf_to=(), lives=None):
        self.clips, self.doubles = clips, doubles or {}
        self.wrong = wrong if isinstance(wrong, dict) else dict.fromkeys(wrong, "xyz")
        self.deaf_to, self.lives, self.heard = deaf_to, lives, []

    def ears(self, language):
        if language in self.deaf_to:
            raise MissingExtra("faster-whisper", "whisper", "hearing")
        return self._hear

    def encoder(self):
        return self._encode

    def _hear(self, audio, rate):
        if len(self.heard) == self.lives:
            raise KeyboardInterrupt
        clip = self._clip(audio)
        self.heard.append(clip.id)
        return self.wrong.get(clip.id, clip.text)

    def _encode(self, audio, rate):
        speaker = self._clip(audio).speaker.removeprefix("kokoro-")
        return np.eye(len(SPEAKERS))[SPEAKERS.index(self.doubles.get(speaker, speaker))]

    def _clip(self, audio):
        return self.clips[round(float(np.abs(audio).max()) * 100) - 1]


@pytest.fixture
def clips():
    """Three of each speaker; the Italian one speaks Italian."""
    return [
        Clip(f"{voice}-{number}", "Ponti vecchi." if voice == "im_two" else ENGLISH, f"kokoro-{voice}",
             "it" if voice == "im_two" else "en-us", "kokoro")
        for voice in SPEAKERS for number in range(3)
    ]  # fmt: skip


@pytest.fixture
def folder(tmp_path, clips):
    made = Folder(tmp_path / "many")
    made.enter(Source("kokoro", "synthetic", "Apache-2.0", "a stand-in", ()))
    for at, clip in enumerate(clips, 1):
        made.add(clip, np.full(SAMPLE_RATE, at / 100), SAMPLE_RATE)
    made.save()
    return made


def attend(folder, listeners):
    return listen.make(Folder(folder.folder), listeners.ears, listeners.encoder)


def listed(folder):
    return [row["id"] for row in Folder(folder.folder).rows()]


def test_what_is_understood_stays(folder, clips):
    summary = attend(folder, Listeners(clips))
    assert listed(folder) == [clip.id for clip in clips]
    assert summary["left_out"] == {}
    assert summary["wrong_by_language"] == {"en": {"clips": 12, "wrong": 0.0}, "it": {"clips": 3, "wrong": 0.0}}
    assert summary["sampled_voices"] == {"within": dict.fromkeys(("5 %", "50 %", "95 %"), 1.0),
                                         "between": dict.fromkeys(("5 %", "50 %", "95 %"), 0.0)}  # fmt: skip


def test_a_sampled_voice_that_is_not_understood_goes_whole_and_a_clip_alone(folder, clips, capsys):
    summary = attend(folder, Listeners(clips, {"mix001-0", "mix001-1", "mix000-2", "af_one-0", "af_one-1", "af_one-2"}))
    gone = {"kokoro-mix001": 3, "mix000-2": 1, "af_one-0": 1, "af_one-1": 1, "af_one-2": 1}  # a seen voice by clips
    assert summary["left_out"].keys() == gone.keys()
    assert "xyz" in summary["left_out"]["mix000-2"]
    assert len(listed(folder)) == len(clips) - sum(gone.values())
    assert json.loads((folder.folder / "heard.json").read_text()) == summary
    assert set((folder.folder / "left_out.txt").read_text().split()) == gone.keys()
    assert "left out: 5 voices and clips" in capsys.readouterr().out


def test_one_bad_clip_of_three_is_not_the_voice(folder, clips):
    attend(folder, Listeners(clips, {"mix001-0"}))
    assert listed(folder) == [clip.id for clip in clips if clip.id != "mix001-0"]


def test_of_two_voices_that_are_alike_the_sampled_one_goes(folder, clips):
    summary = attend(folder, Listeners(clips, doubles={"mix002": "mix000", "mix001": "af_one", "im_two": "af_one"}))
    assert summary["left_out"] == {
        "kokoro-mix001": "1.00 from kokoro-af_one",
        "kokoro-mix002": "1.00 from kokoro-mix000",
    }
    assert summary["seen_voices_too_near"] == {"kokoro-af_one, kokoro-im_two": 1.0}


def test_a_killed_listener_goes_on_and_nothing_is_heard_twice(folder, clips):
    with pytest.raises(KeyboardInterrupt):
        attend(folder, Listeners(clips, {"mix002-0"}, lives=7))
    with open(folder.folder / "heard.jsonl", "a") as file:
        file.write('{"id": "mix0')  # a line that a kill cut short
    again = Listeners(clips, {"mix002-0"})
    attend(folder, again)
    assert len(again.heard) == len(clips) - 7
    third = Listeners(clips)
    assert attend(folder, third)["left_out"].keys() == {"mix002-0"}
    assert third.heard == []
    assert "mix002-0" not in listed(folder)


def test_a_language_nobody_can_listen_to_is_said_and_kept(folder, clips):
    deaf = Listeners(clips, {"im_two-0"}, deaf_to=("it",))
    summary = attend(folder, deaf)
    assert summary["not_heard"].keys() == {"it"}
    assert "3 clips" in summary["not_heard"]["it"]
    assert "faster-whisper" in summary["not_heard"]["it"]
    assert listed(folder) == [clip.id for clip in clips]
    able = Listeners(clips, {"im_two-0"})
    assert attend(folder, able)["left_out"].keys() == {"im_two-0"}  # once somebody can
    assert able.heard == ["im_two-0", "im_two-1", "im_two-2"]


def test_a_language_that_the_recogniser_does_not_know_is_kept(folder, clips):
    summary = attend(folder, Listeners(clips, {"im_two-0", "im_two-1"}))
    assert summary["unknown_to_the_recogniser"].keys() == {"it"}
    assert listed(folder) == [clip.id for clip in clips]


def test_numbers_in_other_languages_are_not_taken_for_errors(folder, clips):
    attend(folder, Listeners(clips, {"im_two-0": "27 34 99"}))
    assert listed(folder) == [clip.id for clip in clips]


def test_people_and_copies_are_not_judged(folder, clips):
    folder.enter(Source("asterisk-it", "human", "CC-BY-3.0", "a man", ()))
    folder.add(Clip("asterisk-it-uno", "Uno.", "carlo", "it", "asterisk-it"), np.full(SAMPLE_RATE, 0.9), SAMPLE_RATE)
    shifted.make(folder)
    listeners = Listeners(clips, {"mix001-0", "mix001-1"})
    attend(folder, listeners)
    assert sorted(listeners.heard) == sorted(clip.id for clip in clips)
    rows = Folder(folder.folder).rows()
    assert not [row for row in rows if "mix001" in row["speaker"]]
    assert sum(row["source"] == "shifted" for row in rows) == len(rows) // 2


@pytest.mark.slow
def test_the_real_judges_keep_speech_and_leave_out_noise(tmp_path):
    pytest.importorskip("moonshine_voice")
    if importlib.util.find_spec("resemblyzer") is None:
        pytest.skip("pip install --no-deps Resemblyzer==0.1.4")
    assert myxtts(["demo-corpus", str(tmp_path / "demo"), "--utterances", "4"]) == 0
    folder = Folder(tmp_path / "many")
    folder.enter(Source("kokoro", "synthetic", "Apache-2.0", "a stand-in", ()))
    lines = (tmp_path / "demo" / "metadata.csv").read_text(encoding="utf-8").splitlines()
    for at, (id, text, *_) in enumerate(line.split("|") for line in lines):
        samples, rate = read_audio(tmp_path / "demo" / "wavs" / f"{id}.wav")
        noise = np.random.default_rng(at).normal(0, 0.1, len(samples))
        for voice, sound in (("mix000", to_float(samples)), ("mix001", noise)):
            folder.add(Clip(f"{voice}-{at}", text, f"kokoro-{voice}", "en-us", "kokoro"), sound, rate)
    summary = listen.make(folder)
    assert summary["not_heard"] == {}
    assert "kokoro-mix001" in summary["left_out"]
    assert {row["speaker"] for row in folder.rows()} == {"kokoro-mix000"}
    assert summary["sampled_voices"]["within"]["50 %"] > 0.8
