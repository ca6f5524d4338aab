"""Each layout is recognised by what is in it, gives utterances with speaker and language, and names its bad rows."""

import json
import os
import shutil
from pathlib import Path

import pytest
from corpora import write_tone
from hypothesis import given, settings
from hypothesis import strategies as st

from myxtts.corpus.detect import LAYOUTS
from myxtts.corpus.read import open_corpus
from myxtts.corpus.reasons import REASONS
from myxtts.corpus.utterance import Rejected, Utterance
from myxtts.errors import CorpusError


@pytest.fixture(scope="session")
def tone(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("tone") / "tone.wav"
    write_tone(path, 0.3)
    return path


@pytest.fixture
def put(tone, tmp_path):
    """Writes files by their paths: a text, or a tone where the path is that of audio."""

    def write(files: dict[str, str | None]) -> Path:
        for name, text in files.items():
            path = tmp_path / "corpus" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if text is None:
                shutil.copy(tone, path)
            else:
                path.write_text(text, encoding="utf-8")
        return tmp_path / "corpus"

    return write


def seen(corpus):
    """(id, text, speaker, language) of utterances, (row, id, reason) of the others."""
    return [
        (row.row, row.id, row.reason) if isinstance(row, Rejected) else (row.id, row.text, row.speaker, row.language)
        for row in corpus.rows()
    ]


def opened(folder, layout, **options):
    """Recognised by itself as this layout, and the same when named."""
    by_itself = open_corpus(folder, **options)
    assert by_itself.layout.name == layout
    named = open_corpus(folder, layout, **options)
    assert seen(named) == seen(by_itself)
    assert all(row.audio.is_file() for row in named.rows() if isinstance(row, Utterance))
    assert named.count() == len(seen(named))
    return seen(named)


def test_ljspeech(put):
    folder = put({"metadata.csv": "a|Dr. No|Doctor No\nb|Two words|\n", "wavs/a.wav": None, "wavs/b.flac": None})
    assert opened(folder, "ljspeech") == [
        ("a", "Doctor No", "speaker", "en-us"),
        ("b", "Two words", "speaker", "en-us"),
    ]


@pytest.mark.parametrize("name", ["metadata.csv", "train_filelist.txt"])
def test_a_list_without_header_may_be_named_itself(put, name):
    folder = put({name: "wavs/a.wav|Some words here.\nb|Two words\n", "wavs/a.wav": None, "wavs/b.flac": None})
    corpus = open_corpus(folder / name, speaker="me")
    assert [entry[1:3] for entry in seen(corpus)] == [("Some words here.", "me"), ("Two words", "me")]


def test_vctk(put):
    folder = put(
        {
            "txt/p225/p225_001.txt": "Please call Stella.\n",
            "txt/p225/p225_002.txt": "Ask her.",
            "txt/p226/p226_001.txt": "Please call Stella.",
            "wav48_silence_trimmed/log.txt": "not a speaker",
            "wav48_silence_trimmed/p225/p225_001_mic1.flac": None,
            "wav48_silence_trimmed/p225/p225_001_mic2.flac": None,
            "wav48_silence_trimmed/p226/p226_001_mic2.flac": None,
            "wav48_silence_trimmed/p315/p315_001_mic1.flac": None,
        }
    )
    corpus = open_corpus(folder, language="en-gb")
    assert corpus.layout.name == "vctk"
    assert seen(corpus) == [
        ("p225_001", "Please call Stella.", "p225", "en-gb"),
        (2, "p225_002", "missing_audio"),
        ("p226_001", "Please call Stella.", "p226", "en-gb"),
        (4, "p315_001", "missing_text"),
    ]
    assert [row.audio.name for row in corpus.rows() if isinstance(row, Utterance)] == [
        "p225_001_mic1.flac",
        "p226_001_mic2.flac",
    ]


def test_vctk_of_the_first_release(put):
    folder = put({"txt/p225/p225_001.txt": "Hello.", "wav48/p225/p225_001.wav": None, "speaker-info.txt": "ID AGE"})
    assert opened(folder, "vctk") == [("p225_001", "Hello.", "p225", "en-us")]


def libritts(*names):
    files = {}
    for name in names:
        reader, chapter, *_ = name.split("_")
        stem = f"LibriTTS/dev-clean/{reader}/{chapter}/{name}"
        files |= {f"{stem}.wav": None, f"{stem}.normalized.txt": f"Mister {name}.", f"{stem}.original.txt": "Mr."}
    return files


@pytest.mark.parametrize("inside", ["", "LibriTTS", "LibriTTS/dev-clean", "LibriTTS/dev-clean/84"])
def test_libritts(put, inside):
    folder = put(libritts("84_121_000001_000000", "84_122_000001_000000")) / inside
    assert opened(folder, "libritts") == [
        ("84_121_000001_000000", "Mister 84_121_000001_000000.", "84", "en-us"),
        ("84_122_000001_000000", "Mister 84_122_000001_000000.", "84", "en-us"),
    ]


def test_libritts_with_a_loop_and_faults(put):
    folder = put(libritts("84_121_000001_000000", "85_1_1_1", "86_1_1_1"))
    below = folder / "LibriTTS/dev-clean"
    (below / "84/121/round").symlink_to(folder, target_is_directory=True)
    (below / "85/1/85_1_1_1.wav").unlink()
    (below / "86/1/86_1_1_1.normalized.txt").unlink()
    (below / "86/1/86_1_1_1.original.txt").unlink()
    (below / "86/1/86_1_1_2.original.txt").write_bytes(b"caf\xe9")
    assert seen(open_corpus(folder)) == [
        ("84_121_000001_000000", "Mister 84_121_000001_000000.", "84", "en-us"),
        (2, "round", "symlink_loop"),
        (3, "85_1_1_1", "missing_audio"),
        (4, "86_1_1_1", "missing_text"),
        (5, "86_1_1_2", "bad_encoding"),
    ]


CV_HEADER = "client_id\tpath\tsentence_id\tsentence\tup_votes\taccents\tlocale\n"


def test_common_voice(put):
    rows = 'c1\tcv_1.mp3\tx\tسلام "دنیا\t2\t\tfa\nc2\tcv_2\tx\tHi\t2\t\t\nc1\t../out.mp3\tx\tOut\t2\t\tfa\n'
    folder = put({"validated.tsv": CV_HEADER + rows, "train.tsv": CV_HEADER, "clips/cv_1.mp3": None})
    shutil.copy(folder / "clips/cv_1.mp3", folder / "clips/cv_2.mp3")
    assert opened(folder, "common_voice", language="de") == [
        ("cv_1", 'سلام "دنیا', "c1", "fa"),
        ("cv_2", "Hi", "c2", "de"),
        (4, "../out", "escapes_folder"),
    ]
    assert open_corpus(folder / "train.tsv").layout.metadata == folder / "train.tsv"


def test_piper(put):
    rows = "".join(f"u{n}|{'anna' if n % 2 else 'Bo Li'}|Text number {n}.\n" for n in range(6))
    bad = "u1|anna\n|anna|x\nu2|anna|\n"  # one bad row does not make it another layout
    folder = put({"metadata.csv": rows + bad, **{f"wav/u{n}.wav": None for n in range(6)}})
    utterances = opened(folder, "piper")
    assert utterances[:2] == [("u0", "Text number 0.", "Bo Li", "en-us"), ("u1", "Text number 1.", "anna", "en-us")]
    assert utterances[6:] == [(7, "u1", "duplicate_id"), (8, "", "bad_row"), (9, "u2", "duplicate_id")]


@pytest.mark.parametrize(("row", "place"), [("a.wav|Just text", "wavs/a.wav"), ("a|Just text", "wav/a.wav")])
def test_piper_of_one_speaker(put, row, place):
    folder = put({"metadata.csv": row, place: None})
    assert [entry[1:3] for entry in opened(folder, "piper", speaker="me")] == [("Just text", "me")]


def test_few_rows_of_three_cells_are_not_guessed_at(put):
    folder = put({"metadata.csv": "a|hello|bonjour\n", "wavs/a.wav": None})
    with pytest.raises(CorpusError, match="too few to tell.*--layout ljspeech or --layout piper"):
        open_corpus(folder)
    assert seen(open_corpus(folder, "piper"))[0][1:3] == ("bonjour", "hello")
    assert seen(open_corpus(folder, "ljspeech"))[0][1:3] == ("bonjour", "speaker")


def test_texts_that_differ_from_their_normalised_form_are_not_speakers(put):
    rows = "".join(f"a{n}|{n}月|{n} yuè\n" for n in range(30))
    assert open_corpus(put({"metadata.csv": rows, "wavs/a1.wav": None})).layout.name == "ljspeech"


def test_kaldi(put, tmp_path):
    marker = tmp_path / "executed"
    scp = f"u1 audio/1.wav\nu2 touch {marker} |\nu3 {{}}/audio/1.wav\nu5 audio/1.wav\nu6\tgone.wav\nu7 |cat\n"
    text = "u1 hello there\nu2 two\nu3 three\nu4 four\nu6\tsix words\nu7 seven\n"
    folder = put({"text": text, "utt2spk": "u1 anna\nu3 bo\n", "audio/1.wav": None})
    (folder / "wav.scp").write_text(scp.format(folder))
    (folder / "utt2lang").write_text("u3 fa\n")
    assert seen(open_corpus(folder)) == [
        ("u1", "hello there", "anna", "en-us"),
        (2, "u2", "command"),
        ("u3", "three", "bo", "fa"),
        (4, "u4", "missing_audio"),
        (5, "u6", "missing_audio"),
        (6, "u7", "command"),
        (4, "u5", "missing_text"),
    ]
    assert open_corpus(folder).layout.name == open_corpus(folder / "wav.scp").layout.name == "kaldi"
    assert not marker.exists()
    (folder / "wav.scp").write_text("u1 audio/1.wav\nu1 other.wav\n")
    (folder / "text").write_text("u1 hello\n")
    assert seen(open_corpus(folder)) == [(1, "u1", "duplicate_id")]
    (folder / "segments").touch()
    with pytest.raises(CorpusError, match="segments.*cut the audio first"):
        open_corpus(folder)


@pytest.mark.parametrize("name", ["metadata.csv", "metadata_train.csv"])
def test_coqui(put, name):
    table = "audio_file|text|speaker_name|emotion_name\nwavs/a.wav|Hello.|anna|calm\nwavs/b.wav|No file.|bo|calm\n"
    folder = put({name: table + "../c.wav|Out.|bo|calm\n", "wavs/a.wav": None})
    assert opened(folder, "coqui") == [
        ("wavs/a", "Hello.", "anna", "en-us"),
        (3, "wavs/b", "missing_audio"),
        (4, "../c", "escapes_folder"),
    ]


@pytest.mark.parametrize("split", ["", "train/"])
def test_huggingface(put, split):
    table = 'file_name,transcription,speaker_id\ndata/a.wav,"Hello, you.",7\n../a.wav,Out.,7\n'
    folder = put({f"{split}metadata.csv": table, f"{split}data/a.wav": None, "README.md": "# card"})
    assert opened(folder, "huggingface") == [("data/a", "Hello, you.", "7", "en-us"), (3, "../a", "escapes_folder")]


def test_huggingface_json_lines_and_several_splits(put):
    line = json.dumps({"file_name": "a.wav", "text": "Hello."})
    folder = put({"train/metadata.jsonl": line, "train/a.wav": None})
    assert opened(folder, "huggingface") == [("a", "Hello.", "speaker", "en-us")]
    put({"test/metadata.jsonl": line, "test/a.wav": None})
    with pytest.raises(CorpusError, match="2 splits.*name one of .*test, .*train"):
        open_corpus(folder)
    assert opened(folder / "test", "huggingface") == [("a", "Hello.", "speaker", "en-us")]


def test_manifest(put):
    table = "id,audio,text,language\none,a.wav,Hello.,fa\n../two,a.wav,Two.,fa\n"
    folder = put({"manifest.csv": table, "a.wav": None})
    assert opened(folder, "manifest") == [("one", "Hello.", "speaker", "fa"), (3, "../two", "escapes_folder")]


def test_a_quoted_cell_may_go_on_over_lines(put):
    table = 'audio,text,id\na.wav,"One ""two""\n\nthree, four",x\na.wav,Plain,y\na.wav,"The\r\nend",z\n'
    folder = put({"manifest.csv": table, "a.wav": None})
    assert [(row.row, row.id, " ".join(row.text.split())) for row in open_corpus(folder).rows()] == [
        (2, "x", 'One "two" three, four'),
        (5, "y", "Plain"),
        (6, "z", "The end"),
    ]
    assert opened(folder, "manifest")[2][1] == "The end"
    assert opened(put({"metadata.csv": 'file_name,text\na.wav,"One\ntwo"\n'}) / "metadata.csv", "huggingface")


def test_a_quoted_cell_over_lines_may_come_before_the_audio(put):
    table = 'text,audio,id\n"Hello\nworld",a.wav,x\n"A\nb\nc",a.wav,y\nPlain,a.wav,z\n'
    rows = open_corpus(put({"manifest.csv": table, "a.wav": None})).rows()
    assert [(row.row, " ".join(row.text.split())) for row in rows] == [(2, "Hello world"), (4, "A b c"), (7, "Plain")]


@pytest.mark.parametrize(
    "lonely",
    ['a.wav,"never closed,x', 'a.wav,"ends" too early,x', '"a.wav,Text,x', 'a.wav,Text,"x', 'a.wav,"Text, ""x""'],
)
@pytest.mark.parametrize("after", ["", 'a.wav,"A, b",q\n', 'a.wav,late",q\n', 'a.wav,x,"\n', 'a.wav,"c\nd",q\n'])
@pytest.mark.parametrize("good", [1, 99, 300])
def test_a_quote_that_is_never_closed_costs_its_own_line(put, lonely, after, good):
    """Whatever follows: rows without quotes, with quotes, and one with the other half of the quote."""
    rows = "".join(f"a.wav,Text {n},id{n}\n" for n in range(good))
    read = seen(open_corpus(put({"manifest.csv": f"audio,text,id\n{lonely}\n{rows}{after}", "a.wav": None})))
    assert read[0] == (2, "", "bad_row")
    assert [row[0] for row in read[1 : good + 1]] == [f"id{n}" for n in range(good)]
    message = next(open_corpus(put({}), "manifest").rows()).message
    assert "line 2" in message or "columns" in message


def test_lists_that_are_no_csv_stay_lines(put):
    folder = put({"metadata.csv": 'a|"One\nb|two"\n', "wavs/a.wav": None, "wavs/b.wav": None})
    assert [row.text for row in open_corpus(folder).rows()] == ['"One', 'two"']


def test_two_files_of_one_name_are_one_utterance_and_a_rejection(put):
    folder = put({**libritts("84_121_1_0"), "LibriTTS/dev-clean/84/121/84_121_1_0.flac": None})
    assert opened(folder, "libritts")[0][0] == "84_121_1_0"
    assert opened(folder, "libritts")[1:] == [(2, "84_121_1_0", "duplicate_id")]
    first, second = open_corpus(folder).rows()
    assert first.audio.suffix == ".wav"
    assert "84_121_1_0.flac" in second.message


def test_two_microphones_are_no_duplicates_but_two_formats_are(put):
    names = ["p1_1_mic1.flac", "p1_1_mic1.wav", "p1_1_mic2.flac", "p1_2.ogg", "p1_2.mp3"]
    texts = {f"txt/p1/p1_{n}.txt": "Hello." for n in (1, 2)}
    folder = put({**texts, **{f"wav48/p1/{name}": None for name in names}})
    rows = list(open_corpus(folder).rows())
    assert [row.audio.name for row in rows[:2]] == ["p1_1_mic1.wav", "p1_2.ogg"]
    assert [(row.id, row.reason, row.message.split("/")[-1].split(":")[0]) for row in rows[2:]] == [
        ("p1_1", "duplicate_id", "p1_1_mic1.flac"),
        ("p1_2", "duplicate_id", "p1_2.mp3"),
    ]


# ---- which one ------------------------------------------------------------------------------------------------------


def test_two_layouts_in_one_folder_are_an_error_that_names_both(put):
    folder = put({"metadata.csv": "a|Some text", "manifest.jsonl": "{}", "wavs/a.wav": None})
    with pytest.raises(CorpusError, match="ljspeech .by corpus/metadata.csv. and manifest .by corpus/manifest.jsonl."):
        open_corpus(folder)
    assert seen(open_corpus(folder, "ljspeech")) == [("a", "Some text", "speaker", "en-us")]


def test_nothing_known_names_what_was_found_and_every_layout(put):
    folder = put({"notes.md": "", "wavs/a.wav": None})
    with pytest.raises(CorpusError, match="is not a corpus: found notes.md, wavs; expected one of") as caught:
        open_corpus(folder)
    assert all(f"{name}: " in str(caught.value) for name in LAYOUTS)


@pytest.mark.parametrize("layout", sorted(LAYOUTS))
def test_a_layout_that_is_not_there_is_a_clear_error(put, layout):
    folder = put({"notes.md": ""})
    if layout == "libritts":  # any tree of folders is one, without rows
        assert seen(open_corpus(folder, layout)) == []
        return
    with pytest.raises(CorpusError, match=layout):
        open_corpus(folder, layout)


def test_an_unknown_layout_names_the_known_ones(put):
    with pytest.raises(CorpusError, match="'ljspeach' is not a layout: choose one of ljspeech, vctk"):
        open_corpus(put({"notes.md": ""}), "ljspeach")


def test_another_encoding_is_an_error_with_the_cure(put):
    folder = put({"wavs/a.wav": None})
    (folder / "metadata.csv").write_text("a|Hällo", encoding="utf-16")
    with pytest.raises(CorpusError, match="is UTF-16, expected UTF-8: convert it with 'iconv -f UTF-16"):
        open_corpus(folder)


def test_odd_files_are_rejected_and_never_opened(put):
    folder = put({"metadata.csv": "".join(f"{name}|Some text\n" for name in "abcd"), "wavs/e.wav": None})
    os.mkfifo(folder / "wavs/a.wav")  # reading it would wait for ever
    (folder / "wavs/b.wav").symlink_to("b.wav")
    (folder / "wavs/c.wav").touch()
    (folder / "wavs/d.wav").mkdir()
    reasons = [row.reason for row in open_corpus(folder).rows()]
    assert reasons == ["missing_audio", "symlink_loop", "empty_audio", "missing_audio"]


def test_json_that_breaks_readers_is_a_bad_row(put):
    lines = ["[" * 100_000, '{"audio": "a.wav", "text": ' + "9" * 5000 + "}", '{"audio": "a.wav", "text": "\\ud800"}']
    lines += ['{"audio": "a.wav", "text": "b", "speaker": {"a": 1}}', '{"audio": "\\u0000", "text": "b"}']
    folder = put({"m.jsonl": "\n".join(lines), "a.wav": None})
    reasons = [row.reason for row in open_corpus(folder / "m.jsonl").rows()]
    assert reasons == ["bad_row", "bad_row", "bad_encoding", "bad_row", "bad_encoding"]


PIECES = [b"\n", b"\r\n", b"|", b"\t", b",", b" ", b'"', b"\0", b"\xff", b"\xef\xbb\xbf", b"a", b"a.wav", b"..", b"/",
          b"audio_file|text|speaker_name\n", b"file_name,text\n", b"path\tsentence\n", b"path\tsentence\tlocale\n",
          b'{"file_name": "a.wav", "text": ', b"}", b"hello there", "سلام".encode(), b"~" * 300]  # fmt: skip
LISTS = ["metadata.csv", "metadata.jsonl", "metadata_train.csv", "validated.tsv", "wav.scp", "text", "utt2spk",
         "manifest.csv", "txt/p1/a.txt", "1/2/1_2_3.normalized.txt"]  # fmt: skip


@settings(max_examples=150)
@given(
    st.dictionaries(st.sampled_from(LISTS), st.lists(st.sampled_from(PIECES), max_size=12), min_size=1, max_size=3),
    st.sampled_from(["auto", "auto", *LAYOUTS]),
)
def test_any_list_becomes_rows_or_a_clear_error(tmp_path_factory, lists, layout):
    folder = tmp_path_factory.mktemp("fuzz")
    for name in ("clips/a.wav", "wavs/a.wav", "a.wav", "wav48/p1/a.wav", "1/2/1_2_3.wav"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"RIFF")
    for name, pieces in lists.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"".join(pieces))
    try:
        rows = list(open_corpus(folder, layout).rows())
    except CorpusError:
        return
    for row in rows:
        if isinstance(row, Utterance):
            assert row.id
            assert row.text.strip()
            assert row.audio.is_file()
            json.dumps([row.id, row.text, row.speaker, row.language]).encode()
        else:
            assert row.reason in REASONS
            (row.id + row.message).encode()


# ---- speakers by pattern --------------------------------------------------------------------------------------------


def test_speaker_and_language_from_a_pattern(put):
    folder = put({"metadata.csv": "fa/anna/1|One.\nde/bo/1|Two.\n3|Three.\n"} | dict.fromkeys(
        ["wavs/fa/anna/1.wav", "wavs/de/bo/1.wav", "wavs/3.wav"]))  # fmt: skip
    pattern = "(?P<language>[^/]+)/(?P<speaker>[^/]+)/[^/]+$"
    corpus = open_corpus(folder, speaker_pattern="wavs/" + pattern)
    assert seen(corpus) == [
        ("fa/anna/1", "One.", "anna", "fa"),
        ("de/bo/1", "Two.", "bo", "de"),
        (3, "3", "no_speaker"),
    ]
    assert seen(open_corpus(folder, **corpus.defaults)) == seen(corpus)


@pytest.mark.parametrize("pattern", ["([^/]+)", "(?P<name>x)", "(?P<speaker>x", "plain"])
def test_a_pattern_without_a_group_is_an_error(put, pattern):
    folder = put({"metadata.csv": "a|Text here\n", "wavs/a.wav": None})
    with pytest.raises(CorpusError, match="speaker pattern"):
        open_corpus(folder, speaker_pattern=pattern)


# ---- a reader of one's own ------------------------------------------------------------------------------------------

READER = """
from myxtts.corpus.layout import Layout, look, read_text

class Labs(Layout):
    about = "one .lab file beside every .wav"

    @classmethod
    def recognise(cls, path):
        return next(path.glob("*.lab"), None) if path.is_dir() else None

    def rows(self):
        for row, lab in enumerate(sorted(self.folder.glob("*.lab")), start=1):
            audio = lab.with_suffix(".wav")
            yield self.utterance(row, lab.stem, look(audio) or audio, read_text(lab), speaker="lab")
"""


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A package with a reader, and one with a broken reader, as pip leaves them."""
    site = tmp_path / "site-packages"
    for name, entry in {"lab_reader": "labs = lab_reader:Labs", "broken": "broken = broken_reader:Nothing"}.items():
        info = site / f"{name}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[myxtts.layouts]\n{entry}\n")
    (site / "lab_reader.py").write_text(READER)
    monkeypatch.syspath_prepend(site)


def test_an_installed_reader_is_found_by_entry_point(put, installed, caplog):
    folder = put({"one.lab": "Hello.", "one.wav": None, "two.lab": " ", "two.wav": None, "x.lab": "No audio."})
    expected = [("one", "Hello.", "lab", "en-us"), (2, "two", "empty_text"), (3, "x", "missing_audio")]
    assert seen(open_corpus(folder, "labs")) == expected
    corpus = open_corpus(folder)
    assert (corpus.layout.name, corpus.count()) == ("labs", 3)
    assert seen(corpus) == expected
    assert "'broken' (broken_reader:Nothing) does not load" in caplog.text  # and nobody is kept from their corpus
    with pytest.raises(CorpusError, match="'broken'.*does not load: ModuleNotFoundError"):
        open_corpus(folder, "broken")
