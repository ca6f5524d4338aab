"""One real server for all tests that need a voice: `myxtts serve` in a process of its own, with untrained models."""

import os
import re
import signal
import subprocess
import sys
from types import SimpleNamespace

import pytest


@pytest.fixture(scope="session")
def models(tmp_path_factory):
    """Folders of a model with a voice of its own, and of one without."""
    import numpy as np
    from inference.conftest import write_model

    from myxtts.inference.reference import save_reference
    from myxtts.models.description import REFERENCE_FRAMES

    folder = tmp_path_factory.mktemp("served")
    own, voiceless = write_model(folder / "own", ["en-us", "de"]), write_model(folder / "voiceless", ["en-us"])
    mel = np.random.default_rng(0).normal(-5, 2, (400, 80)).astype(np.float32)
    save_reference(own, [mel], REFERENCE_FRAMES)
    return SimpleNamespace(own=own, voiceless=voiceless)


def start_server(models, folder, *flags):
    """The process, and the ports of both protocols."""
    words = ["serve", f"anna={models.own}", str(models.voiceless), "--vocoder", "griffin-lim", "--port", "0"]
    words += ["--wyoming", "0", "--voices", str(folder / "voices"), *flags]
    process = subprocess.Popen([sys.executable, "-m", "myxtts", *words], stderr=subprocess.PIPE, stdout=subprocess.PIPE,
                               text=True, env=os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3"})  # fmt: skip
    said = ""
    while "serving at" not in said:
        line = process.stderr.readline()
        assert line, f"it did not start: {said}"
        said += line
    port = int(re.search(r"http://127\.0\.0\.1:(\d+)/v1", said)[1])
    wyoming = int(re.search(r"tcp://127\.0\.0\.1:(\d+)", said)[1])
    return SimpleNamespace(process=process, port=port, wyoming=wyoming, voices=folder / "voices")


def end_server(server) -> str:
    """Asked to end, it does: its exit code is 0. Returns what it wrote to stderr."""
    server.process.send_signal(signal.SIGTERM)
    _, said = server.process.communicate(timeout=300)
    assert server.process.returncode == 0, said
    return said


@pytest.fixture(scope="session")
def server(models, tmp_path_factory):
    started = start_server(models, tmp_path_factory.mktemp("server"))
    yield started
    assert "Traceback" not in end_server(started)
