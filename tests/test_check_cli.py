"""`myxtts check` as a user types it, and the layout flags of the verbs that read a corpus."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import bad_rows
import pytest

from myxtts.cache.reader import Cache
from myxtts.cli import _parser, main
from myxtts.cli.shared import cache_of, load_config
from myxtts.errors import CacheMismatch


@pytest.fixture
def ask(capsys, tmp_path, monkeypatch):
    """Run a verb in an empty folder; what it printed."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")

    def run(*words, code=0):
        assert main([str(word) for word in words]) == code
        return capsys.readouterr()

    return run


@pytest.fixture(scope="module")
def clips(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clips") / "voice"
    return folder, bad_rows.write_good(folder, 24)


@pytest.fixture
def corpus(clips):
    folder, rows = clips
    (folder / "metadata.csv").write_bytes(b"\n".join(rows))
    return folder


def test_a_good_corpus(ask, corpus, tmp_path):
    answer = ask("check", corpus).out
    assert "rows        24, usable 24" in answer
    assert "0 errors\n0 warnings\nevery problem: voice.check.jsonl\n" in answer
    assert f"next: myxtts pack {corpus}" in answer
    assert (tmp_path / "here" / "voice.check.jsonl").read_text() == ""


def test_errors_are_counted_shown_with_their_cure_and_listed(ask, corpus, tmp_path):
    with open(corpus / "metadata.csv", "ab") as file:
        file.write(b"\n" + b"\n".join(f"gone{n}|Some text".encode() for n in range(5)) + b"\ngood00000|Again")
    answer = ask("check", corpus, "--list", tmp_path / "all.jsonl", "--plot", tmp_path / "x.png", code=1).out
    assert "6 errors" in answer
    assert "5  missing_audio: there is no such audio file\n          cure: put the file there" in answer
    assert "row 25  gone0: there is no file" in answer
    assert "and 2 more" in answer
    assert "next:" not in answer
    assert len((tmp_path / "all.jsonl").read_text().splitlines()) == 6
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")
    result = json.loads(ask("check", corpus, "--json", code=1).out)
    assert result["errors"] == {"missing_audio": 5, "duplicate_id": 1}
    assert (result["layout"], result["ok"], result["rows"], result["utterances"]) == ("ljspeech", False, 30, 24)
    assert [example["row"] for example in result["examples"]["missing_audio"]] == [25, 26, 27]
    assert result["list"] == "voice.check.jsonl"


def test_warnings_are_wrong_only_for_the_strict(ask, corpus):
    rows = (corpus / "metadata.csv").read_bytes()
    (corpus / "metadata.csv").write_bytes(b"\xef\xbb\xbf" + rows)
    assert json.loads(ask("check", corpus, "--json").out)["warnings"] == {"bom": 1}
    assert "byte order mark" in ask("check", corpus, "--strict", code=1).out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere"], "there is no corpus nowhere"),
        (["{corpus}", "--layout", "vtck"], "'vtck' is not a layout: choose one of ljspeech, vctk"),
        (["{corpus}", "--layout", "kaldi"], "has no wav.scp"),
        (["{corpus}", "--speaker-pattern", "("], "is not a regular expression"),
        (["{corpus}", "--list", "/proc/list.jsonl"], "/proc/list.jsonl"),
        (["{corpus}", "--list", "nowhere/list.jsonl"], "nowhere/list.jsonl cannot be written"),
        (["{corpus}", "--plot", "{corpus}"], "cannot be written"),
    ],
)
def test_what_cannot_be_done_is_one_line(ask, corpus, words, message):
    words = [word.format(corpus=corpus) for word in words]
    answer = ask("check", *words, code=2)
    assert message in answer.err
    assert answer.out == ""
    assert message in json.loads(ask("check", *words, "--json", code=2).out)["error"]["message"]


@pytest.mark.parametrize("words", [["--list", "/proc/a.jsonl"], ["--plot", "/proc/a.png"], ["--plot", "/dev/full"]])
def test_a_target_that_cannot_be_written_is_found_before_the_work(ask, corpus, words, monkeypatch):
    """Also by root, whom the permissions of a folder do not stop."""
    monkeypatch.setattr("myxtts.corpus.check.check", lambda *_: pytest.fail("the work was done first"))
    assert f"{words[1]} cannot be written" in ask("check", corpus, *words, code=2).err


def test_trying_a_target_leaves_no_trace(ask, corpus, tmp_path):
    earlier = (tmp_path / "x.png", tmp_path / "x.jsonl")
    ask("check", corpus, "--plot", earlier[0], "--list", earlier[1])
    (corpus / "metadata.csv").write_bytes(b"")
    before = {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    ask("check", corpus, "--plot", earlier[0], "--list", earlier[1], code=2)
    assert {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == before


def test_flags_name_layout_speaker_and_language(ask, corpus, tmp_path):
    """What `check` read as one layout, `pack` reads as the same, and the cache remembers how."""
    (corpus / "metadata.csv").write_text("good00001|anna|One two three.\ngood00002|bo|Four five.\nbad|bo|Six.\n")
    result = json.loads(ask("check", corpus, "--layout", "piper", "--language", "de", "--json", code=1).out)
    assert (sorted(result["speakers"]), list(result["languages"])) == (["anna", "bo"], ["de"])
    ask("pack", corpus, "-o", tmp_path / "x.cache", "--layout", "piper", "--language", "de")
    cache = Cache(tmp_path / "x.cache")
    assert (list(cache.speakers), list(cache.languages)) == (["anna", "bo"], ["de"])
    (tmp_path / "x.cache" / "tokens.npy").write_bytes(b"damaged")
    assert "0 left" in ask("verify", tmp_path / "x.cache", "--fix", corpus).out
    pattern = "(?P<speaker>good)"
    ask("pack", corpus, "-o", tmp_path / "y.cache", "--layout", "piper", "--speaker-pattern", pattern)
    assert list(Cache(tmp_path / "y.cache").speakers) == ["good"]


def test_train_packs_with_the_same_flags(corpus, tmp_path):
    """Up to where TensorFlow would begin."""
    (corpus / "metadata.csv").write_text("good00001|anna|One two three.\ngood00002|bo|Four five.\n")
    words = ["train", "--train-data", str(corpus), "--layout", "piper", "--language", "de", "--speaker", "me"]
    config = load_config(_parser().parse_args(words))
    cache = cache_of(Path(config.data.dataset_path), config)
    assert (Cache(cache).speakers, Cache(cache).languages) == (["anna", "bo"], ["de"])
    assert cache_of(cache, config) == cache
    config = load_config(_parser().parse_args([*words, "--language", "fa"]))
    with pytest.raises(CacheMismatch, match=r"data.language is fa \(--language\), the cache has de"):
        cache_of(cache, config)
    shutil.rmtree(cache.parent)


def test_no_tensorflow_and_no_pyplot(corpus, tmp_path):
    script = """
import sys
from myxtts.cli import _parser, main
from myxtts.cli.shared import cache_of
from myxtts.config.config import XTTSConfig
assert main(["check", sys.argv[1], "--list", sys.argv[2], "--plot", sys.argv[3]]) == 0
assert not {"tensorflow", "matplotlib.pyplot"} & set(sys.modules)
"""
    command = [sys.executable, "-c", script, corpus, tmp_path / "list", tmp_path / "x.png"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_help_has_examples_and_exit_codes(capsys):
    with pytest.raises(SystemExit):
        main(["check", "--help"])
    printed = capsys.readouterr().out
    assert "examples:\n  myxtts check" in printed
    assert "exit codes: 0 nothing is wrong" in printed
