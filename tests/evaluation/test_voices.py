"""Which recordings are whose, and whether a voice is followed: with an encoder that hears the pitch of a tone."""

import numpy as np
import pytest
import soundfile

from myxtts.errors import SpeechError
from myxtts.evaluation.clip import Clip
from myxtts.evaluation.judges import Similarity
from myxtts.evaluation.voices import across_languages, find_people, matrix_of, sentences_for


def write(path, hertz: float = 200.0, seconds: float = 0.5) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path, 0.5 * np.sin(2 * np.pi * hertz * np.arange(int(22050 * seconds)) / 22050), 22050)


def lengths(people) -> dict[str, int]:
    return {person.name: len(person.others) for person in people}


def test_a_folder_for_each_voice(tmp_path):
    for name in ("anna/1", "anna/2", "anna/3", "ben/1"):
        write(tmp_path / f"{name}.wav")
    (tmp_path / "notes").mkdir()
    people = find_people(tmp_path)
    assert lengths(people) == {"anna": 2, "ben": 1}
    assert people[0].reference == tmp_path / "anna" / "1.wav"
    assert people[1].others[0] is people[1].audio  # the only one is compared with itself


def test_names_up_to_the_first_line(tmp_path):
    for name in ("anna_1", "anna_2", "ben-1", "ben-2"):
        write(tmp_path / f"{name}.wav")
    assert lengths(find_people(tmp_path)) == {"anna": 1, "ben": 1}


def test_a_manifest_with_speakers(tmp_path):
    for name in ("a", "b", "c"):
        write(tmp_path / f"{name}.wav")
    (tmp_path / "voices.csv").write_text(
        "audio,text,speaker\na.wav,One.,anna\nb.wav,Two.,anna\nc.wav,Three.,ben\n", encoding="utf-8"
    )
    people = find_people(tmp_path / "voices.csv")
    assert lengths(people) == {"anna": 1, "ben": 1}
    assert {person.language for person in people} == {""}


def test_hidden_files_are_no_recordings(tmp_path):
    for name in ("anna", "ben"):
        write(tmp_path / name / "1.wav")
        (tmp_path / name / "._1.wav").write_bytes(b"what macOS leaves")
    assert lengths(find_people(tmp_path)) == {"anna": 1, "ben": 1}


def test_a_language_that_is_none_counts_as_not_named(tmp_path, caplog):
    pytest.importorskip("espeakng_loader")
    for name in ("a", "b"):
        write(tmp_path / f"{name}.wav")
    lines = "audio,text,speaker,language\na.wav,One.,anna,English\nb.wav,Mi.,zam,nonesuch\n"
    (tmp_path / "voices.csv").write_text(lines, encoding="utf-8")
    languages = {person.name: person.language for person in find_people(tmp_path)}
    assert languages == {"anna": "English", "zam": ""}
    assert "names the language 'nonesuch', which eSpeak does not know" in caplog.text


def test_rows_of_a_manifest_that_cannot_be_read_are_said(tmp_path, caplog):
    for name in ("a", "b"):
        write(tmp_path / f"{name}.wav")
    lines = "audio,text,speaker\na.wav,One.,anna\nb.wav,Two.,ben\ngone.wav,Three.,carla\n"
    (tmp_path / "voices.csv").write_text(lines, encoding="utf-8")
    assert [person.name for person in find_people(tmp_path)] == ["anna", "ben"]
    assert "1 of 3 rows of" in caplog.text
    assert "gone.wav" in caplog.text


def test_a_manifest_tells_the_language_of_each_voice(tmp_path):
    for name in ("a", "b"):
        write(tmp_path / f"{name}.wav")
    lines = "audio,text,speaker,language\na.wav,One.,anna,en-us\nb.wav,Zwei.,ben,de\n"
    (tmp_path / "voices.csv").write_text(lines, encoding="utf-8")
    assert {person.name: person.language for person in find_people(tmp_path)} == {"anna": "en-us", "ben": "de"}


def test_voices_of_other_languages_are_set_beside_its_speakers():
    names, languages = ["anna", "ben", "carla", "dora"], {"anna": "en-us", "ben": "en-gb", "carla": "es", "dora": "fa"}
    values = np.array([[0.9, 0.1, 0.1, 0.1], [0.1, 0.9, 0.1, 0.1], [0.2, 0.3, 0.8, 0.9], [0.7, 0.1, 0.1, 0.6]])
    across = across_languages(names, values, languages, "en-us")
    assert across._asdict() == {
        "language": "en-us", "voices": 2, "speakers": 2, "above_every_speaker": 0.5, "above_their_mean": 1.0
    }  # fmt: skip
    assert "0.50 than to each of its 2 speakers, 1.00 than to their mean" in str(across)
    assert across_languages(names, values, {}, "en-us") is None
    assert across_languages(names, values, languages, "ja") is None  # nobody speaks it of his own
    assert across_languages(names, values, dict.fromkeys(names, "de"), "de") is None


def test_what_is_no_folder_of_voices_is_said(tmp_path):
    with pytest.raises(SpeechError, match="not a folder of voices"):
        find_people(tmp_path / "nowhere")
    write(tmp_path / "anna_1.wav")
    with pytest.raises(SpeechError, match="found one voice, anna, in .* expected at least 2"):
        find_people(tmp_path)
    (tmp_path / "ben_1.wav").write_bytes(b"nothing")
    with pytest.raises(
        SpeechError, match="ben_1.wav, a recording of the voice 'ben', cannot be used: .*give speech as wav"
    ):
        find_people(tmp_path)


def test_the_matrix_has_a_row_for_each_voice_that_was_imitated(tmp_path):
    write(tmp_path / "low_1.wav", 150)
    write(tmp_path / "high_1.wav", 400)
    people = find_people(tmp_path)
    sentences = sentences_for(people, ["One.", "Two.", "Three."], 2, "en")
    assert [(each.speaker, each.text) for each in sentences] == [
        ("high", "One."), ("high", "Two."), ("low", "Three."), ("low", "One.")
    ]  # fmt: skip

    def encode(audio, rate):
        spectrum = np.abs(np.fft.rfft(audio, 22050))
        return np.array([spectrum[100:300].sum(), spectrum[300:500].sum()]) / np.hypot(1, spectrum[100:500].sum())

    judge = Similarity(encode, {person.name: person.others for person in people})
    for sentence in sentences:
        judge(Clip(sentence.text, {"synthetic": sentence.audio}, sentence.speaker, same_text=False))
    matrix = matrix_of(judge, ["high", "low"])
    assert (matrix.argmax(axis=1) == [0, 1]).all()
