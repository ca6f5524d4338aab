"""The built wheel, installed into an empty environment, is a working `myxtts` with its data inside."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=300, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_a_wheel_in_an_empty_environment(tmp_path):
    source, environment = tmp_path / "source", tmp_path / "environment"
    shutil.copytree(ROOT / "myxtts", source / "myxtts", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE", "NOTICE"):
        shutil.copy(ROOT / name, source / name)
    run(sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-w", tmp_path, source)
    (wheel,) = tmp_path.glob("myxtts-*.whl")
    run(sys.executable, "-m", "venv", environment)
    # the versions of the lock file, as everywhere else; TensorFlow is not among what these verbs need
    run(environment / "bin" / "pip", "install", f"{wheel}[demo]", "-c", ROOT / "requirements.lock")
    myxtts = environment / "bin" / "myxtts"
    assert "demo-corpus" in run(myxtts, "--help")
    made = json.loads(run(myxtts, "demo-corpus", "corpus", "--utterances", "4", "--json", cwd=tmp_path))
    assert made["utterances"] == 4
    settings = ["--preset", "cpu", "--set", "data.text_tokens=characters"]  # the preset is a file in the package
    packed = json.loads(run(myxtts, "pack", "corpus", "-o", "voice.cache", *settings, "--json", cwd=tmp_path))
    assert packed["utterances"] == 4
    run(myxtts, "verify", "voice.cache", cwd=tmp_path)
