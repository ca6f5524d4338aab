"""The built wheel, installed into an empty environment, is a working `myxtts` with its data inside."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
import soundfile

ROOT = Path(__file__).resolve().parents[1]


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=300, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    shutil.copytree(ROOT / "myxtts", source / "myxtts", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE", "NOTICE"):
        shutil.copy(ROOT / name, source / name)
    run(sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-w", folder, source)
    (wheel,) = folder.glob("myxtts-*.whl")
    return wheel


@pytest.mark.slow
def test_a_wheel_in_an_empty_environment(wheel, tmp_path):
    environment = tmp_path / "environment"
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


# What can be blocked without being root: whoever looks for a host or calls one ends the process.
OFFLINE = """
import socket
def refuse(*_, **__):
    raise SystemExit("the network was used")
socket.getaddrinfo = socket.create_connection = refuse
socket.socket.connect = socket.socket.connect_ex = refuse
"""


@pytest.fixture
def installed(wheel, tmp_path) -> Path:
    """An environment with the wheel and, behind it, the packages of this one: nothing is downloaded."""
    environment = tmp_path / "environment"
    run(sys.executable, "-m", "venv", "--without-pip", environment)
    python = environment / "bin" / "python"
    run(sys.executable, "-m", "pip", "--python", python, "install", "--no-index", "--no-deps", wheel)
    packages = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    (packages / "offline.py").write_text(OFFLINE)
    (packages / "others.pth").write_text(f"{sysconfig.get_path('purelib')}\nimport offline\n")
    return environment


@pytest.mark.slow
def test_an_installed_wheel_speaks_without_a_network(installed, tmp_path):
    """The first thing that a newcomer hears: a sentence in the voice of a clip, with no model named."""
    pytest.importorskip("espeakng_loader")
    alone = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    options = {"cwd": tmp_path, "env": alone}
    where = "import myxtts, offline, socket; assert socket.getaddrinfo is offline.refuse; print(myxtts.__file__)"
    assert Path(run(installed / "bin" / "python", "-c", where, **options)).is_relative_to(installed)
    say = [installed / "bin" / "myxtts", "say", "Good morning.", "--voice", ROOT / "docs" / "hello.flac", "-o", "x.wav"]
    run(*unshared(), *say, **options)
    with soundfile.SoundFile(tmp_path / "x.wav") as spoken:
        assert 0.4 < spoken.frames / spoken.samplerate < 3.0
        assert spoken.copy_metadata()["comment"] == "Synthetic speech made with MyXTTS"


def unshared() -> list[str]:
    """Where the kernel lets us, the command has no network at all."""
    command = ["unshare", "--net"]
    can = shutil.which("unshare") and not subprocess.run([*command, "true"], capture_output=True).returncode
    return command if can else []
