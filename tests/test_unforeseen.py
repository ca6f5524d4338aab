"""What nobody foresaw ends a verb as an error does: exit code 2, one line, one JSON object; never 1."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from myxtts.cli import info, main

MYXTTS = [sys.executable, "-m", "myxtts"]


def shell(command: str, *arguments: object) -> subprocess.CompletedProcess:
    words = [*MYXTTS, *map(str, arguments)]
    return subprocess.run(["sh", "-c", f'"$@" {command}', "sh", *words], capture_output=True, text=True, timeout=120)


@pytest.fixture
def bug(monkeypatch, tmp_path):
    """`myxtts info` has one; its traceback goes to a folder of ours."""
    import tempfile

    def run(_):
        raise ZeroDivisionError("no\x1b[2J idea\nsecond line")

    monkeypatch.setattr(info, "run", run)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_a_bug_is_one_line_and_a_file_for_the_report(bug, capsys):
    assert main(["info", "x.cache"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: a bug in MyXTTS (ZeroDivisionError: no\\x1b[2J idea): please report it with")
    assert said.count("\n") == 1
    (file,) = bug.glob("myxtts-bug-*.txt")
    assert "raise ZeroDivisionError" in file.read_text()


def test_a_bug_is_one_json_object(bug, capsys):
    assert main(["info", "x.cache", "--json"]) == 2
    said = capsys.readouterr()
    assert json.loads(said.out)["error"]["type"] == "InternalError"
    assert said.err == ""


def test_too_little_memory_is_not_a_bug(monkeypatch, capsys):
    def run(_):
        raise MemoryError

    monkeypatch.setattr(info, "run", run)
    assert main(["info", "x.cache"]) == 2
    assert "memory is not enough" in capsys.readouterr().err


def test_numbers_that_json_has_not_are_texts(monkeypatch, capsys):
    monkeypatch.setattr(info, "run", lambda _: (0, {"a": float("inf"), "b": [float("nan")]}, ""))
    assert main(["info", "x.cache", "--json"]) == 0
    assert json.loads(capsys.readouterr().out, parse_constant=pytest.fail) == {"a": "Infinity", "b": ["NaN"]}


def test_without_standard_error_a_sound_cache_is_sound(packed_voice):
    done = shell("2>&-", "verify", packed_voice)
    assert (done.returncode, "every byte" in done.stdout) == (0, True)


@pytest.mark.parametrize("flags", [["--json"], []])
def test_a_full_standard_output_is_an_error(packed_voice, flags):
    done = shell(">/dev/full", "info", packed_voice, *flags)
    assert (done.returncode, done.stderr) == (2, "error: the system: No space left on device\n")


def test_standard_input_that_is_closed(tmp_path, packed_voice):
    (tmp_path / "run").mkdir()
    done = shell("<&-", "say", "-", "--model", tmp_path, "-o", tmp_path / "x.wav")
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    done = shell("<&-", "train", "--data", packed_voice, "--run", tmp_path / "run", "--reset")
    assert (done.returncode, "add --yes" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["pack", "CORPUS", "-o", "/"], "cannot be a cache"),
        (["config", "--set", "training.run_dir=2024-13-01"], "quote it"),
        (["config", "--set", f"data.batch_size={'9' * 5000}"], "not a YAML value"),
        (["config", "--set", f"data.max_seconds={'9' * 400}"], "expected a number"),
        (["train", "--data", "x", "--steps", "100000000000000000000"], "--steps"),
        (["train", "--data", "x", "--steps", "9" * 5000], "--steps"),
    ],
    ids=["place", "date", "digits", "huge", "steps", "more steps"],
)
def test_odd_arguments_are_errors(words, said, corpus_folder, capsys):
    assert main([str(corpus_folder) if word == "CORPUS" else word for word in words]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert "a bug in MyXTTS" not in error


def test_an_interrupt_while_importing_says_so():
    script = (
        "import sys, builtins\n"
        "from myxtts import __main__ as door\n"
        "real = builtins.__import__\n"
        "def stop(name, *rest):\n"
        "    if name.startswith('myxtts.cli'): raise KeyboardInterrupt\n"
        "    return real(name, *rest)\n"
        "builtins.__import__ = stop\n"
        "sys.exit(door.run())"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.returncode, "interrupted" in done.stderr, "Traceback" in done.stderr) == (130, True, False)


@pytest.mark.parametrize("verb", ["say", "train"])
def test_without_tensorflow_the_extras_are_named(verb, packed_voice, tmp_path):
    pytest.importorskip("espeakng_loader")
    words = {"say": ["One.", "-o", tmp_path / "x.wav"], "train": ["--data", packed_voice, "--run", tmp_path / "run"]}
    script = (
        "import sys\n"
        "sys.modules['tensorflow'] = sys.modules['keras'] = None\n"  # importing them is an error
        "from myxtts.cli import main\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", script, verb, *map(str, words[verb]), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    error = json.loads(done.stdout)["error"]
    assert (done.returncode, error["type"]) == (2, "MissingExtra")
    assert "this verb needs the package 'tensorflow': run pip install" in error["message"]
    assert "with an NVIDIA GPU: pip install" in error["message"]


@pytest.mark.parametrize("name", ["log.jsonl", "pipe", "sound.wav"])
def test_a_report_replaces_nothing_but_a_page(tmp_path, name, capsys):
    import os

    path = tmp_path / name
    os.mkfifo(path) if name == "pipe" else path.write_text('{"kind": "step"}\n')
    assert main(["report", str(tmp_path), "-o", str(path)]) == 2
    assert main(["doctor", "--run", str(tmp_path), "--html", str(path)]) == 2
    assert "is not an HTML page" in capsys.readouterr().err
    assert name == "pipe" or Path(path).read_text() == '{"kind": "step"}\n'
