"""Faults made for real: special files, signals, limits, mounts. Each ends in a clear error or a listed rejection."""

import json
import os
import resource
import signal
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest
from corpora import write_corpus, write_tone

from myxtts.cache.pack import pack
from myxtts.cache.publish import building_folder
from myxtts.cache.reader import Cache
from myxtts.cache.settings import PackSettings
from myxtts.cli import main
from myxtts.corpus.read import open_corpus
from myxtts.errors import CacheError
from myxtts.features.audio import AudioSettings
from myxtts.features.text import TextFrontend

CHARACTERS = ["--set", "data.text_tokens=characters"]
SETTINGS = PackSettings(AudioSettings(), TextFrontend(kind="characters"))


def pack_command(folder: Path, cache: Path) -> list[str]:
    return [sys.executable, "-m", "myxtts", "pack", str(folder), "-o", str(cache), *CHARACTERS]


def files_of(cache: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in cache.iterdir()}


# ---- files that are no files ----------------------------------------------------------------------------------------


def pipe(path):
    os.mkfifo(path)


def endless(path):
    path.symlink_to("/dev/zero")


def failing(path):
    path.symlink_to("/proc/self/mem")  # reading it at 0 is a real EIO


def folder(path):
    path.mkdir()


def loop(path):
    path.symlink_to(path.name)


@pytest.mark.parametrize("make", [pipe, endless, failing, folder, loop])
def test_a_row_whose_audio_is_no_file_is_listed_and_the_rest_is_packed(make, tmp_path, capsys):
    corpus = write_corpus(tmp_path / "c", 6)
    victim = corpus / "wavs" / "utt00003.wav"
    victim.unlink()
    make(victim)
    done = subprocess.run([*pack_command(corpus, tmp_path / "x.cache"), "--json"], capture_output=True, timeout=300)
    assert done.returncode == 0, done.stderr.decode()
    assert json.loads(done.stdout)["utterances"] == 5
    (row,) = (tmp_path / "x.cache" / "rejected.jsonl").read_text().splitlines()
    assert json.loads(row)["id"] == "utt00003"
    done = subprocess.run([sys.executable, "-m", "myxtts", "check", str(corpus), "--json", "--list",
                           str(tmp_path / "list.jsonl")], capture_output=True, timeout=300)  # fmt: skip
    assert done.returncode == 1
    assert "Traceback" not in done.stderr.decode()


@pytest.mark.parametrize("make", [pipe, endless, folder])
def test_metadata_that_is_no_file_is_a_clear_error(make, tmp_path):
    corpus = write_corpus(tmp_path / "c", 2)
    (corpus / "metadata.csv").unlink()
    make(corpus / "metadata.csv")
    done = subprocess.run(pack_command(corpus, tmp_path / "x.cache"), capture_output=True, timeout=300)
    assert done.returncode == 2
    assert done.stderr.decode().startswith("error: ")
    assert not (tmp_path / "x.cache").exists()


# ---- nothing to pack ------------------------------------------------------------------------------------------------


def test_an_empty_folder_no_metadata_and_no_audio(tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    assert main(["pack", str(tmp_path / "empty"), "-o", str(tmp_path / "x.cache")]) == 2
    assert "expected one of these layouts" in capsys.readouterr().err
    only_audio = tmp_path / "audio"
    write_tone(only_audio / "wavs" / "a.wav", 1.0)
    assert main(["pack", str(only_audio), "-o", str(tmp_path / "x.cache")]) == 2
    assert "metadata.csv" in capsys.readouterr().err
    only_text = write_corpus(tmp_path / "text", 3)
    for wav in (only_text / "wavs").iterdir():
        wav.unlink()
    assert main(["pack", str(only_text), "-o", str(tmp_path / "x.cache"), *CHARACTERS]) == 2
    assert "3 missing_audio" in capsys.readouterr().err
    (only_text / "metadata.csv").write_bytes(b"")
    assert main(["pack", str(only_text), "-o", str(tmp_path / "x.cache"), *CHARACTERS]) == 2
    assert "error" in capsys.readouterr().err
    (only_text / "metadata.csv").write_bytes(b"audio,text\n")
    assert main(["pack", str(only_text), "-o", str(tmp_path / "x.cache"), *CHARACTERS]) == 2
    assert "has no rows: nothing to pack" in capsys.readouterr().err
    assert not (tmp_path / "x.cache").exists()
    assert not building_folder(tmp_path / "x.cache").exists()


# ---- places that cannot be written ----------------------------------------------------------------------------------


def test_a_read_only_place_is_a_clear_error(tmp_path, mounted, capsys):
    corpus, place = write_corpus(tmp_path / "c", 3), mounted("ro,size=1m")
    assert main(["pack", str(corpus), "-o", str(place / "x.cache"), *CHARACTERS]) == 2
    said = capsys.readouterr().err
    assert "cannot write" in said
    assert "-o" in said


def test_a_write_that_fails_in_the_middle_leaves_the_old_cache(tmp_path):
    """A limit on the length of files stands in for a disk that fails: the same errors come from the same calls."""
    corpus, cache = write_corpus(tmp_path / "c", 40, (2.0, 3.0)), tmp_path / "x.cache"
    small = write_corpus(tmp_path / "small", 3)
    assert main(["pack", str(small), "-o", str(cache), *CHARACTERS]) == 0
    before = files_of(cache)
    done = subprocess.run(
        [*pack_command(corpus, cache), "--rebuild"],
        capture_output=True,
        timeout=300,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20)),
    )
    assert done.returncode == 2
    assert done.stderr.decode().startswith("error: "), done.stderr.decode()
    assert files_of(cache) == before
    assert subprocess.run([*pack_command(corpus, cache), "--rebuild"], capture_output=True, timeout=300).returncode == 0
    assert len(Cache(cache)) == 40


# ---- signals --------------------------------------------------------------------------------------------------------


# Ctrl-C at a moment that no machine's speed decides: as soon as a commit is on disk. A shell that starts tests in the
# background has the signal ignored, so what a terminal would set is set.
INTERRUPTED_PACK = """
import os, signal, sys
from myxtts.cache import writer
from myxtts.cache.journal import Journal
from myxtts.cli import main

writer._COMMIT_SECONDS = writer._COMMIT_SHARE = 0.0  # at every chance, not every half second

append = Journal.append

def append_and_interrupt(journal, entry):
    append(journal, entry)
    os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)
Journal.append = append_and_interrupt
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.slow
def test_ctrl_c_says_how_to_resume_and_the_next_run_ends_the_same(tmp_path):
    corpus = write_corpus(tmp_path / "c", 300, (1.0, 4.0))
    whole, cache = tmp_path / "whole.cache", tmp_path / "x.cache"
    pack(open_corpus(corpus), whole, SETTINGS)
    arguments = pack_command(corpus, cache)[3:]
    process = subprocess.run([sys.executable, "-c", INTERRUPTED_PACK, *arguments], capture_output=True, timeout=300)
    said = process.stderr
    assert process.returncode == 130, said.decode()
    assert "run the same command again, it resumes" in said.decode()
    assert "Traceback" not in said.decode()
    assert not cache.exists()
    assert subprocess.run(pack_command(corpus, cache), capture_output=True, timeout=300).returncode == 0
    assert files_of(cache) == files_of(whole)


def suicidal(paths, settings, tracks):
    """A worker that the kernel kills, as it does when memory runs out."""
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_killed_worker_is_a_clear_error_and_the_next_run_goes_on(tmp_path, monkeypatch):
    corpus, cache = write_corpus(tmp_path / "c", 40), tmp_path / "x.cache"
    with monkeypatch.context() as patched, ProcessPoolExecutor(2) as pool:
        patched.setattr("myxtts.cache.prepare.prepare_clips", suicidal)
        with pytest.raises(CacheError, match="a packing worker died.*run the same command again"):
            pack(open_corpus(corpus), cache, SETTINGS, executor=pool)
    assert not cache.exists()
    pack(open_corpus(corpus), cache, SETTINGS)
    assert len(Cache(cache)) == 40


# ---- caches that are not what they were -----------------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["info", "verify", "doctor"])
def test_a_truncated_cache_is_named_by_every_verb(verb, tmp_path, capsys):
    corpus, cache = write_corpus(tmp_path / "c", 6), tmp_path / "x.cache"
    assert main(["pack", str(corpus), "-o", str(cache), *CHARACTERS]) == 0
    os.truncate(cache / "audio.npy", (cache / "audio.npy").stat().st_size - 700)
    given = ["doctor", "--data", str(cache), *CHARACTERS] if verb == "doctor" else [verb, str(cache)]
    assert main(given) in (1, 2)
    said = capsys.readouterr()
    assert "audio.npy" in said.err + said.out
    assert "Traceback" not in said.err


def test_settings_that_do_not_fit_the_cache_name_the_command(tmp_path, capsys):
    corpus, cache = write_corpus(tmp_path / "c", 6), tmp_path / "x.cache"
    assert main(["pack", str(corpus), "-o", str(cache), *CHARACTERS]) == 0
    assert main(["pack", str(corpus), "-o", str(cache), *CHARACTERS, "--set", "data.trim_silence=false"]) == 2
    assert "myxtts pack --rebuild" in capsys.readouterr().err


def test_a_mapped_file_that_is_cut_off_is_named(tmp_path):
    """SIGBUS: without a handler the process ends without a word."""
    folder = write_corpus(tmp_path / "voice", 3)
    pack(open_corpus(folder), tmp_path / "x.cache", SETTINGS)
    script = (
        "import os, sys\nfrom pathlib import Path\nfrom myxtts.cache.cut_off import explain_cut_off_files\n"
        "from myxtts.cache.reader import Cache\ncache = Cache(Path(sys.argv[1]))\n"
        "explain_cut_off_files(lambda text: print(text, file=sys.stderr))\n"
        "os.truncate(cache.folder / 'mel.npy', 1000)\ncache.mel[-1].sum()\nprint('read')"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, tmp_path / "x.cache"], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "mel.npy was cut off while it was read: it has 1000 bytes" in done.stderr
    assert "myxtts verify" in done.stderr


def test_a_corpus_folder_whose_name_is_not_utf8(tmp_path, capsys):
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/k\xff"))
    os.rename(write_corpus(tmp_path / "voice", 3), folder)
    cache = tmp_path / "x.cache"
    assert main(["check", str(folder), "--list", str(tmp_path / "l.jsonl"), *CHARACTERS]) == 0
    assert main(["pack", str(folder), "-o", str(cache), *CHARACTERS]) == 0
    assert Cache(cache).body["corpora"][0]["name"] == "k\\xff"
    other = write_corpus(tmp_path / "other", 3)
    assert main(["pack", str(other), "-o", str(tmp_path / "y.cache"), *CHARACTERS]) == 0
    assert main(["add", str(folder), "-o", str(tmp_path / "y.cache")]) == 0
    assert "bug" not in capsys.readouterr().err


def test_a_repair_that_was_killed_when_it_was_done_leaves_nothing(tmp_path):
    folder, cache = write_corpus(tmp_path / "voice", 3), tmp_path / "x.cache"
    pack(open_corpus(folder), cache, SETTINGS)
    building_folder(cache).mkdir()
    (building_folder(cache) / "mel.npy").write_bytes(b"old")
    (cache / "journal").write_bytes(b"")
    assert main(["verify", str(cache), "--fix", str(folder), "--json"]) == 0
    assert not building_folder(cache).exists()
    assert not (cache / "journal").exists()
