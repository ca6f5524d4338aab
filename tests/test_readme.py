"""What the README shows, works: its shell blocks name real verbs and targets, its Python blocks run."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from corpora import write_corpus

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w+)([^\n]*)\n(.*?)```", README, flags=re.S)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("readme")
    write_corpus(folder / "my-corpus", 24)  # enough for sentences to be held back
    command = [sys.executable, "-m", "myxtts", "pack", folder / "my-corpus", "-o", folder / "demo" / "voice.cache"]
    subprocess.run(command, check=True, capture_output=True)
    shutil.copy(min((folder / "my-corpus" / "wavs").iterdir()), folder / "me.wav")
    return folder


@pytest.mark.slow
def test_python_blocks_run(folder):
    blocks = [code for language, flags, code in BLOCKS if language == "python" and "no-test" not in flags]
    assert len(blocks) >= 2
    for code in blocks:
        done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, timeout=900)
        assert done.returncode == 0, done.stderr[-1500:]


@pytest.mark.slow
def test_shell_blocks_run(folder):
    lines = [
        line.split("#")[0].strip() for language, _, code in BLOCKS if language == "sh" for line in code.splitlines()
    ]
    verbs = [line for line in lines if line.startswith("myxtts ")]
    assert len(verbs) >= 4
    for line in verbs:
        command = line.replace("myxtts", f"{sys.executable} -m myxtts", 1).replace("~", str(folder))
        command = command.replace("--minutes 60", "--steps 2 --set data.num_buckets=1")  # an hour shortened
        done = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True, timeout=900)
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"


def test_make_targets_exist():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in set(re.findall(r"(?:^|`)make ([a-z-]+)", README, flags=re.M)):
        assert re.search(rf"^{target}:", makefile, flags=re.M), target


def test_the_readme_stays_short():
    assert len(README.splitlines()) < 200
