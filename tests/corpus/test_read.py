"""Every layout gives the same utterances, and every bad row its reason."""

import json
from collections import Counter

import pytest
from corpora import write_tone
from hypothesis import given, settings
from hypothesis import strategies as st

from myxtts.corpus.read import open_corpus
from myxtts.corpus.utterance import Rejected, Utterance
from myxtts.errors import CorpusError


@pytest.fixture
def folder(tmp_path):
    for name in ("a", "b", "c"):
        write_tone(tmp_path / "wavs" / f"{name}.wav", 0.3)
    return tmp_path


def rows(path, **options):
    return list(open_corpus(path, **options).rows())


def reasons(path):
    return [row.reason if isinstance(row, Rejected) else "" for row in rows(path)]


def test_ljspeech(folder):
    (folder / "metadata.csv").write_text("a|Dr. A|Doctor A\nb|Just text\n\nc|Text||mary|fa\n", encoding="utf-8")
    corpus = open_corpus(folder, speaker="me", language="de")
    rows = list(corpus.rows())
    assert corpus.count() == 3
    assert [(row.id, row.text, row.speaker, row.language, row.row) for row in rows] == [
        ("a", "Doctor A", "me", "de", 1),
        ("b", "Just text", "me", "de", 2),
        ("c", "Text", "mary", "fa", 4),
    ]
    assert all(row.audio.is_file() for row in rows)


@pytest.mark.parametrize(("name", "delimiter"), [("m.csv", ","), ("m.csv", ";"), ("m.csv", "|"), ("m.tsv", "\t")])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
def test_tables(folder, name, delimiter, ending, bom):
    lines = [["Audio", "Text", "speaker", "language", "id"], ["wavs/a.wav", '"Hello, ""you"""', "x", "fa", "one"]]
    text = "".join(delimiter.join(line) + ending for line in lines)
    (folder / name).write_bytes(bom + text.encode())
    (row,) = rows(folder / name)
    assert (row.id, row.text, row.speaker, row.language) == ("one", 'Hello, "you"', "x", "fa")
    assert row.audio == folder / "wavs/a.wav"


@pytest.mark.parametrize(("name", "delimiter"), [("m.csv", ","), ("m.tsv", "\t"), ("m.csv", "|")])
def test_a_quote_never_swallows_the_rows_below(folder, name, delimiter):
    texts = ['"Hello, he said', "plain", 'and "so" on']
    pairs = zip("abc", texts, strict=True)
    lines = [f"audio{delimiter}text"] + [f"wavs/{name}.wav{delimiter}{text}" for name, text in pairs]
    (folder / name).write_text("\n".join(lines))
    read = rows(folder / name)
    assert len(read) == 3
    assert read[1].text == "plain"
    if delimiter == ",":
        assert isinstance(read[0], Rejected)
        assert "not closed" in read[0].message
    else:
        assert [row.text for row in read] == texts


def test_json_lines_and_other_names(folder):
    lines = [
        {"audio_filepath": "wavs/a.wav", "text": "سلام", "locale": "fa"},
        {"path": "wavs/b.wav", "sentence": "Hi", "client_id": 7},
    ]
    path = folder / "manifest.jsonl"
    path.write_text("\n".join(json.dumps(line, ensure_ascii=False) for line in lines), encoding="utf-8")
    first, second = rows(folder)
    assert (first.id, first.text, first.language) == ("wavs/a", "سلام", "fa")
    assert (second.text, second.speaker) == ("Hi", "7")


def test_a_header_in_metadata_csv_makes_it_a_manifest(folder):
    (folder / "metadata.csv").write_text("file_name,text\nwavs/a.wav,One\n")
    (row,) = rows(folder)
    assert (row.id, row.text) == ("wavs/a", "One")


def test_bad_rows_of_ljspeech(folder):
    lines = [b"a|fine", b"a|again", b"b|", b"only-an-id", b"../a|out", b"/etc/passwd|out", b"nowhere|no audio",
             b"c|\xff\xfe broken", b"c|nul \x00", b"c|" + b"long " * 500, b"|no id", b"c|good"]  # fmt: skip
    (folder / "metadata.csv").write_bytes(b"\n".join(lines))
    assert reasons(folder) == ["", "duplicate_id", "empty_text", "bad_row", "escapes_folder", "escapes_folder",
                               "missing_audio", "bad_encoding", "bad_encoding", "long_text", "bad_row",
                               "duplicate_id"]  # fmt: skip


def test_bad_rows_of_a_manifest(folder):
    lines = [
        b"audio,text",
        b"wavs/a.wav,fine",
        b"wavs/b.wav",
        b",text",
        b"wavs/b.wav,nul\x00",
        b"wavs/b.wav,\xff",
        b"x.wav,no",
    ]
    (folder / "m.csv").write_bytes(b"\n".join(lines))
    assert reasons(folder / "m.csv") == ["", "bad_row", "bad_row", "bad_encoding", "bad_encoding", "missing_audio"]
    lines = ['{"audio": "wavs/a.wav", "text": "ok"}', "{broken", "[1]", '{"text": "no audio"}']
    lines += ['{"audio": ["a"], "text": "b"}', '{"audio": "wavs/a.wav", "text": 5}']
    (folder / "m.jsonl").write_text("\n".join(lines))
    assert reasons(folder / "m.jsonl") == ["", "bad_row", "bad_row", "bad_row", "bad_row", "bad_row"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda folder: folder / "nothing", "there is no corpus"),
        (lambda folder: folder, "is not a corpus: found wavs"),
        (lambda folder: folder / "wavs" / "a.wav", "is not a manifest"),
        (
            lambda folder: _write(folder / "m.csv", "name,words\n1,2\n"),
            "expected a header row that names audio and text",
        ),
    ],
)
def test_no_corpus_says_what_was_found_and_expected(folder, make, message):
    with pytest.raises(CorpusError, match=message):
        rows(make(folder))


def _write(path, text):
    path.write_text(text)
    return path


@settings(max_examples=60)
@given(st.binary(max_size=400))
def test_any_bytes_become_rows_or_a_clear_error(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("fuzz")
    for name in ("metadata.csv", "m.csv", "m.tsv", "m.jsonl"):
        (folder / name).write_bytes(data)
        try:
            read = rows(folder if name == "metadata.csv" else folder / name)
        except CorpusError:
            continue
        assert Counter(type(row) for row in read).keys() <= {Utterance, Rejected}
