"""The verbs, as a user types them: exit codes, one JSON object, no traceback, no TensorFlow where none is needed."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from corpora import write_corpus

MYXTTS = [sys.executable, "-m", "myxtts"]


def run(*arguments, code=0):
    done = subprocess.run([*MYXTTS, *map(str, arguments)], capture_output=True, text=True, timeout=120)
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done


def run_json(*arguments, code=0):
    return json.loads(run(*arguments, "--json", code=code).stdout)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_corpus(tmp_path_factory.mktemp("cli") / "voice", 6)


def test_pack_verify_info_and_fix(folder, tmp_path):
    cache = tmp_path / "voice.cache"
    assert "next: myxtts verify" in run("pack", folder, "-o", cache).stdout
    info = run_json("info", cache)
    assert info["utterances"] == 6
    assert info["settings"]["tokens"]["kind"] == "phonemes"
    assert run_json("verify", cache)["intact"] is True
    data = bytearray((cache / "mel.npy").read_bytes())
    data[-1] ^= 1
    (cache / "mel.npy").write_bytes(data)
    damaged = run_json("verify", cache, code=1)
    assert [entry["id"] for entry in damaged["damaged"]] == ["utt00005"]
    assert "utt00005" in run("verify", cache, code=1).stdout
    fixed = run_json("verify", cache, "--fix", folder)
    assert (fixed["intact"], fixed["unrepaired"]) == (True, [])
    assert "every byte" in run("verify", cache).stdout


def test_the_default_place_is_in_the_corpus(folder, tmp_path):
    corpus = Path(shutil.copytree(folder, tmp_path / "mine"))
    run("pack", corpus, "--mode", "audio", "--set", "data.text_tokens=characters")
    assert (corpus / "cached_features" / "mine.cache" / "cache.json").is_file()
    assert run_json("info", corpus)["mode"] == "audio"
    assert run_json("verify", corpus)["intact"] is True
    assert run_json("pack", corpus, "--mode", "audio", "--set", "data.text_tokens=characters")["utterances"] == 6


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["pack", "nowhere"], "there is no corpus nowhere"),
        (["info", "nowhere"], "nowhere is not a cache"),
        (["verify", "nowhere"], "nowhere is not a cache"),
        (["pack"], "CORPUS"),
        (["fly"], "invalid choice"),
        (["pack", "x", "--workers", "0"], "1 or more"),
        (["pack", "x", "--set", "data.bach_size=3"], "did you mean 'batch_size'"),
        (["config", "--config", "nowhere.yaml"], "cannot read nowhere.yaml"),
    ],
)
def test_user_errors_are_one_line_or_one_object(arguments, message, tmp_path):
    plain = run(*arguments, code=2)
    assert message in plain.stderr
    assert plain.stdout == ""
    assert message in run_json(*arguments, code=2)["error"]["message"]


def test_settings_that_do_not_fit_name_the_command(folder, tmp_path):
    cache = tmp_path / "x.cache"
    run("pack", folder, "-o", cache)
    error = run("pack", folder, "-o", cache, "--set", "data.trim_silence=false", code=2).stderr
    assert f"myxtts pack --rebuild {folder} -o {cache}" in error
    assert "audio trim_silence True, not False" in error
    run("pack", "--rebuild", folder, "-o", cache, "--set", "data.trim_silence=false")


def test_help_has_examples():
    for verb in ("pack", "verify", "info", "demo-corpus", "config"):
        text = run(verb, "--help").stdout
        assert "examples:" in text
        assert f"myxtts {verb}" in text


def test_no_tensorflow_for_packing(folder, tmp_path):
    script = """
import sys
from myxtts.cli import main
corpus, cache, demo = sys.argv[1:]
for arguments in (["pack", corpus, "-o", cache], ["verify", cache], ["info", cache],
                  ["demo-corpus", demo, "--utterances", "2", "--engine", "espeak"]):
    assert main(arguments) == 0
assert "tensorflow" not in sys.modules
"""
    command = [sys.executable, "-c", script, folder, tmp_path / "x.cache", tmp_path / "demo"]
    subprocess.run(command, check=True, capture_output=True, timeout=120)


def test_importing_the_cli_imports_no_room():
    script = (
        "import sys, myxtts.cli; rooms = {m.split('.')[1] for m in sys.modules if m.startswith('myxtts.')}; "
        "print(sorted(rooms), 'numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['cli', 'errors', 'terminal'] False"


@pytest.mark.parametrize("name", ["rejected.jsonl", "index.language.npy", "tokens.npy"])
def test_a_repair_reads_the_corpus_as_it_was_packed(folder, tmp_path, name):
    """The language and the speaker came from --set; nobody has to remember that for the repair."""
    corpus = Path(shutil.copytree(folder, tmp_path / "plain"))
    lines = (corpus / "metadata.csv").read_text().splitlines()
    rows = [line.rsplit("|", 2)[0] for line in lines] + ["nothing|No audio."]
    (corpus / "metadata.csv").write_text("\n".join(rows))
    cache = tmp_path / "de.cache"
    run("pack", corpus, "-o", cache, "--set", "data.language=de", "--set", "data.speaker=anna")
    before = {path.name: path.read_bytes() for path in cache.iterdir()}
    data = bytearray(before[name])
    data[-1] ^= 1
    (cache / name).write_bytes(data)
    assert run_json("verify", cache, "--fix", corpus)["intact"] is True
    assert {path.name: path.read_bytes() for path in cache.iterdir()} == before


def test_a_lost_manifest_is_rebuilt(folder, tmp_path):
    cache = tmp_path / "x.cache"
    run("pack", folder, "-o", cache)
    before = (cache / "cache.json").read_bytes()
    (cache / "cache.json").unlink()
    assert "cache.json is missing" in run("verify", cache, code=1).stdout
    assert "cache.json is lost" in run("verify", cache, "--fix", folder).stderr
    assert (cache / "cache.json").read_bytes() == before
