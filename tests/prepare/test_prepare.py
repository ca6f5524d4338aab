"""`myxtts prepare` from the sound to a corpus that can be packed; all the ways in which it says no."""

import re
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import soundfile
from recordings import RATE, chord, lines, noise, run


@pytest.fixture(scope="module")
def prepared(speech, tmp_path_factory):
    """The first four sentences after a chord and noise, without a text."""
    folder = tmp_path_factory.mktemp("prepared")
    quiet = np.zeros(RATE // 2, np.float32)
    speech.write(folder / "talk.wav", range(4), rest=(chord(4.0), quiet, noise(2.0), quiet))
    return folder, run("prepare", folder / "talk.wav", "-o", folder / "corpus", "--speaker", "anna")


def test_each_sentence_becomes_a_row_with_what_was_heard(prepared, speech):
    folder, summary = prepared
    rows = lines(folder / "corpus" / "manifest.jsonl")
    assert summary["rows"] == len(rows) == 4
    assert [row["text"] for row in rows][0] == speech.texts[0]
    assert all(row["speaker"] == "anna" and row["source"] == "talk" and row["trust"] > 0.8 for row in rows)
    for row, sound in zip(rows, speech.sounds[:4], strict=True):
        info = soundfile.info(folder / "corpus" / row["audio"])
        assert (info.samplerate, info.channels) == (RATE, 1)
        assert info.duration == pytest.approx(row["end"] - row["start"], abs=1e-3)
        assert info.duration == pytest.approx(len(sound) / RATE, abs=0.6)


def test_every_second_is_accounted_for(prepared):
    folder, summary = prepared
    spans = [(each["start"], each["end"]) for name in ("manifest", "aside", "left_out")
             for each in lines(folder / "corpus" / f"{name}.jsonl")]  # fmt: skip
    spans.sort()
    assert spans[0][0] == 0.0
    assert spans[-1][1] == pytest.approx(soundfile.info(folder / "talk.wav").duration, abs=2e-3)
    assert all(one[1] == pytest.approx(other[0], abs=2e-3) for one, other in zip(spans, spans[1:], strict=False))
    assert summary["unaccounted_seconds"] == 0
    assert summary["left_out"]["music"]["seconds"] == pytest.approx(4.0, abs=0.5)
    assert summary["left_out"]["noise"]["seconds"] == pytest.approx(2.0, abs=0.5)


def test_the_result_is_an_ordinary_corpus(prepared, tmp_path):
    folder, _ = prepared
    assert run("check", folder / "corpus", "--list", tmp_path / "list.check.jsonl")["utterances"] == 4
    packed = run("pack", folder / "corpus", "-o", tmp_path / "x.cache", "--set", "data.text_tokens=characters")
    assert (packed["utterances"], packed["speakers"]) == (4, {"anna": 4})


def test_again_with_more_only_does_what_is_new(prepared, speech, tmp_path, monkeypatch):
    from myxtts.prepare import prepare

    folder = shutil.copytree(prepared[0], tmp_path / "again")
    before = lines(folder / "corpus" / "manifest.jsonl")
    listened = []
    real = prepare.listen
    monkeypatch.setattr(prepare, "listen", lambda path, moved: listened.append(path.name) or real(path, moved))
    speech.write(folder / "more.wav", [4])
    summary = run("prepare", folder / "talk.wav", folder / "more.wav", "-o", folder / "corpus", "--speaker", "anna")
    assert listened == ["more.wav"]
    assert (summary["rows"], summary["recordings"]) == (5, 2)
    assert lines(folder / "corpus" / "manifest.jsonl")[:4] == before


def test_a_recording_that_was_moved_is_cut_from_its_new_place(prepared, tmp_path):
    folder = shutil.copytree(prepared[0], tmp_path / "moved")  # the journal still names the old place
    (folder / "talk.wav").rename(folder / "renamed.wav")
    for path in (folder / "corpus" / "wavs").iterdir():
        path.unlink()
    (prepared[0] / "talk.wav").rename(prepared[0] / "away.wav")
    try:
        summary = run("prepare", folder / "renamed.wav", "-o", folder / "corpus", "--speaker", "anna")
    finally:
        (prepared[0] / "away.wav").rename(prepared[0] / "talk.wav")
    assert (summary["rows"], summary["recordings"]) == (4, 1)
    assert len(list((folder / "corpus" / "wavs").iterdir())) == 4


def test_two_copies_of_a_recording_are_one_and_leave_the_journal_as_it_is(prepared, tmp_path):
    folder = shutil.copytree(prepared[0], tmp_path / "copies")
    shutil.copy(folder / "talk.wav", folder / "copy.wav")
    sizes = []
    for _ in range(2):
        summary = run("prepare", folder / "talk.wav", folder / "copy.wav", "-o", folder / "corpus", "--speaker", "anna")
        sizes.append((folder / "corpus" / "prepare" / "journal.jsonl").stat().st_size)
    assert (summary["recordings"], sizes[0]) == (1, sizes[1])


def test_with_a_text_rows_have_its_words_and_both_lists_are_found(prepared, speech, tmp_path):
    folder = shutil.copytree(prepared[0], tmp_path / "text")
    never = "The committee postponed its annual decision about the harbour lights."
    (folder / "text.txt").write_text(" ".join([speech.texts[0], never, speech.texts[1], speech.texts[3]]))
    summary = run("prepare", folder / "talk.wav", "-o", folder / "corpus", "--text", folder / "text.txt")
    assert [row["text"] for row in lines(folder / "corpus" / "manifest.jsonl")] == [speech.texts[n] for n in (0, 1, 3)]
    assert [(row["reason"], "text" in row) for row in lines(folder / "corpus" / "aside.jsonl")] == [
        ("not_in_text", False)
    ]
    assert (summary["not_read"], summary["not_in_text"]) == (1, 1)
    passages = {each["kind"]: each["text"] for each in lines(folder / "corpus" / "differences.jsonl")}
    assert passages["not_read"] == never


def test_a_slice_that_is_only_partly_in_the_text_is_cut_there(speech, tmp_path):
    speech.write(tmp_path / "talk.wav", range(4), pause=0.05)  # the sentences have pauses of their own at both ends
    (tmp_path / "talk.txt").write_text(" ".join(speech.texts[n] for n in (0, 2, 3)))
    summary = run("prepare", tmp_path / "talk.wav", "-o", tmp_path / "corpus", "--text", tmp_path / "talk.txt")
    rows, aside = (lines(tmp_path / "corpus" / name) for name in ("manifest.jsonl", "aside.jsonl"))
    assert " ".join(row["text"] for row in rows) == " ".join(speech.texts[n] for n in (0, 2, 3))
    assert [row["reason"] for row in aside] == ["not_in_text"]
    assert summary["unaccounted_seconds"] == 0
    assert len(list((tmp_path / "corpus" / "wavs").iterdir())) == len(rows) + 1


def test_rows_that_are_not_trusted_are_put_aside(prepared, tmp_path):
    folder = shutil.copytree(prepared[0], tmp_path / "strict")
    summary = run("prepare", folder / "talk.wav", "-o", folder / "corpus", "--min-trust", "1", code=1)
    assert summary["rows"] == 0
    assert summary["aside"]["low_confidence"]["count"] == 4


def test_stereo_mp3_at_another_rate_is_cut_where_it_is_heard(speech, tmp_path):
    speech.write(tmp_path / "talk.wav", range(3))
    sound, _ = soundfile.read(tmp_path / "talk.wav")
    soundfile.write(tmp_path / "talk.mp3", np.stack([sound, 0.5 * sound], axis=1), 32000)  # a little faster
    summary = run("prepare", tmp_path / "talk.mp3", "-o", tmp_path / "corpus", "--asr", "none", code=1)
    rows = lines(tmp_path / "corpus" / "aside.jsonl")
    assert (len(rows), summary["unaccounted_seconds"]) == (3, 0)
    for row in rows:
        part, rate = soundfile.read(tmp_path / "corpus" / row["audio"])
        where = round(row["start"] * rate)
        assert (rate, part.ndim) == (32000, 1)
        assert np.corrcoef(part, 0.75 * sound[where : where + len(part)])[0, 1] > 0.95


def test_a_journal_that_was_damaged_is_told_of_and_made_good(prepared, tmp_path, caplog):
    folder = shutil.copytree(prepared[0], tmp_path / "damaged")
    before = (folder / "corpus" / "manifest.jsonl").read_bytes()
    journal = folder / "corpus" / "prepare" / "journal.jsonl"
    journal.write_bytes(journal.read_bytes().replace(b'"rate"', b'"rage"'))
    next(journal.parent.glob("*.windows.npy")).unlink()
    run("prepare", folder / "talk.wav", "-o", folder / "corpus", "--speaker", "anna")
    assert "is damaged" in caplog.text
    assert (folder / "corpus" / "manifest.jsonl").read_bytes() == before


def _write_film(begin):
    return lambda path: path.write_bytes(begin + bytes(2000))


def _write(sound):
    return lambda path: soundfile.write(path, sound, RATE)


@pytest.mark.parametrize(
    ("name", "write", "message"),
    [
        ("silence.wav", _write(np.zeros(RATE * 5)), "no speech to make rows of, but 5.0 s silence"),
        ("music.wav", _write(chord(5.0)), r"no speech to make rows of, but .*s music"),
        ("short.wav", _write(noise(2.0)), "no speech to make rows of, but 2.0 s noise"),
        ("empty.wav", _write(np.zeros(0)), "holds no sound"),
        ("film.mp4", _write_film(b"\0\0\0 ftypisom"), "is a film .* ffmpeg -i film.mp4 -vn film.flac"),
        ("film.mkv", _write_film(b"\x1aE\xdf\xa3"), "is a film .* ffmpeg -i film.mkv -vn film.flac"),
        ("film.avi", _write_film(b"RIFF\0\0\0\0AVI LIST"), "is a film .* ffmpeg -i film.avi -vn film.flac"),
        ("letter.wav", lambda path: path.write_text("Dear Anna"), "expected wav, flac, ogg, opus or mp3"),
        ("nan.wav", lambda path: soundfile.write(path, np.full(RATE, np.nan), RATE, "FLOAT"), "not numbers"),
    ],
)
def test_what_cannot_be_prepared_is_explained(tmp_path, name, write, message):
    write(tmp_path / name)
    error = run("prepare", tmp_path / name, "-o", tmp_path / "corpus", "--asr", "none", code=2)["error"]
    assert error["type"] == "PrepareError"
    assert re.search(message, error["message"]), error["message"]


def test_two_seconds_of_speech_are_a_row_or_aside_with_a_reason(speech, tmp_path):
    soundfile.write(tmp_path / "short.wav", speech.sounds[0][: 2 * RATE], RATE)
    summary = run("prepare", tmp_path / "short.wav", "-o", tmp_path / "corpus", "--asr", "none", code=1)
    assert (summary["rows"], summary["aside"]["untranscribed"]["count"]) == (0, 1)
    assert (summary["seconds"], summary["unaccounted_seconds"]) == (2.0, 0)


def test_a_text_of_another_language_or_encoding_is_refused(prepared, tmp_path):
    folder = shutil.copytree(prepared[0], tmp_path / "other")
    before = (folder / "corpus" / "manifest.jsonl").read_bytes()
    texts = {"de.txt": ("Die Bäckerei an der Ecke öffnet schon sehr früh. " * 9).encode(), "latin.txt": b"Caf\xe9 " * 9}
    for name, message in (("de.txt", "is not that of talk"), ("latin.txt", "not UTF-8")):
        (folder / name).write_bytes(texts[name])
        answer = run("prepare", folder / "talk.wav", "-o", folder / "corpus", "--text", folder / name, code=2)
        assert message in answer["error"]["message"]
        assert (folder / "corpus" / "manifest.jsonl").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.wav", "-o", "corpus"], "there is no recording nowhere.wav"),
        (["{folder}", "-o", "corpus"], "holds no recording"),
        (["{folder}/x", "-o", "{folder}"], "did not make"),
        (["{folder}/x", "-o", "corpus", "--text", "nowhere.txt"], "there is no text nowhere.txt"),
        (["{folder}/x", "-o", "corpus", "--asr", "nowhere"], "expected moonshine, whisper, none"),
        (["{folder}/x", "-o", "corpus", "--min-trust", "7"], "not a number from 0 to 1"),
        (["{folder}/x", "-o", "corpus", "--aligner", "base"], "name a text and no recogniser"),
        (["{folder}/x", "-o", "corpus", "--text", "{folder}/text", "--asr", "none"], "leave --asr none out"),
    ],
)
def test_usage_errors(tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    soundfile.write(tmp_path / "in" / "x", np.zeros(RATE), RATE, format="WAV")
    (tmp_path / "in" / "text").write_text("Good morning.")
    given = [one.replace("{folder}", "in") for one in arguments]
    assert message in run("prepare", *given, code=2)["error"]["message"]


@pytest.mark.slow
def test_killed_at_any_moment_it_ends_the_same(speech, tmp_path):
    speech.write(tmp_path / "talk.wav", [0, 1, 2, 3, 4] * 2)
    (tmp_path / "talk.txt").write_text(" ".join(speech.texts * 2), encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "myxtts",
        "prepare",
        str(tmp_path / "talk.wav"),
        "--text",
        str(tmp_path / "talk.txt"),
    ]
    command += ["--speaker", "anna", "-o"]
    begin = time.monotonic()
    subprocess.run([*command, str(tmp_path / "whole")], check=True, capture_output=True)
    took = time.monotonic() - begin
    for n in range(4):
        running = subprocess.Popen(
            [*command, str(tmp_path / "killed")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        time.sleep(took * (n + 1) / 5)
        running.send_signal(signal.SIGKILL)
        running.wait()
    subprocess.run([*command, str(tmp_path / "killed")], check=True, capture_output=True)
    assert _contents(tmp_path / "whole") == _contents(tmp_path / "killed")


def _contents(corpus):
    files = (path for path in corpus.rglob("*") if path.is_file() and path.name != "journal.jsonl")
    return {str(path.relative_to(corpus)): path.read_bytes() for path in files}


@pytest.fixture(scope="module")
def aligned(speech, tmp_path_factory):
    """Five sentences, and a way to prepare them with a text by the base voice."""
    pytest.importorskip("espeakng_loader")
    folder = tmp_path_factory.mktemp("aligned")
    speech.write(folder / "talk.wav", range(5))

    def by_the_base(name, text, code=0):
        (folder / f"{name}.txt").write_text(text)
        command = ["prepare", folder / "talk.wav", "-o", folder / name, "--aligner", "base"]
        return folder / name, run(*command, "--text", folder / f"{name}.txt", code=code)

    return by_the_base


NEVER = "The committee postponed its annual decision about the harbour lights."


@pytest.mark.slow
def test_a_voice_finds_the_words_of_a_text_without_a_recogniser(aligned, speech):
    folder, summary = aligned("whole", " ".join(speech.texts))
    rows = lines(folder / "manifest.jsonl")
    assert [row["text"] for row in rows] == speech.texts
    assert all(row["trust"] > 0.9 for row in rows)
    assert (summary["not_read"], summary["not_in_text"], summary["unaccounted_seconds"]) == (0, 0, 0)
    before = (folder / "manifest.jsonl").read_bytes()
    aligned("whole", " ".join(speech.texts))
    assert (folder / "manifest.jsonl").read_bytes() == before


@pytest.mark.slow
def test_a_voice_lists_what_was_not_read_and_what_is_not_in_the_text(aligned, speech):
    folder, _ = aligned("other", " ".join([speech.texts[0], NEVER, speech.texts[1], *speech.texts[3:]]))
    rows, aside = lines(folder / "manifest.jsonl"), lines(folder / "aside.jsonl")
    assert [row["text"] for row in rows] == [*speech.texts[:2], *speech.texts[3:]]
    assert {row["reason"] for row in aside} == {"not_in_text"}
    differences = lines(folder / "differences.jsonl")
    assert [each["text"] for each in differences if each["kind"] == "not_read"] == [NEVER]
    assert [each["row"] for each in differences if each["kind"] == "not_in_text"] == [row["id"] for row in aside]


@pytest.mark.slow
def test_a_voice_refuses_a_text_of_other_words(aligned, speech):
    backwards = " ".join(" ".join(reversed(text.rstrip(".?!").split())) + "." for text in speech.texts)
    for name, text in (("twice", f"{NEVER} Nobody knew why. " * 9), ("backwards", backwards)):
        folder, summary = aligned(name, text, code=2)
        assert "is not that of talk" in summary["error"]["message"]
        assert not (folder / "manifest.jsonl").exists()


def test_a_voice_that_is_not_there_or_speaks_another_language_is_named_at_once(speech, tmp_path):
    speech.write(tmp_path / "talk.wav", [0])
    (tmp_path / "text.txt").write_text(speech.texts[0])
    command = ["prepare", tmp_path / "talk.wav", "-o", tmp_path / "corpus", "--text", tmp_path / "text.txt"]
    assert "is not a folder" in run(*command, "--aligner", "nowhere", code=2)["error"]["message"]
    assert "this model speaks" in run(*command, "--aligner", "base", "--language", "fi", code=2)["error"]["message"]
    assert not (tmp_path / "corpus").exists()
