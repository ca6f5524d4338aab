"""A real studio in a process of its own, and small requests to it."""

import os
import re
import signal
import subprocess
import sys
from types import SimpleNamespace

import pytest


def start_studio(folder, *flags, env=None):
    words = [sys.executable, "-m", "myxtts", "studio", str(folder), "--port", "0", *flags]
    process = subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                               env=os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3"} | (env or {}))  # fmt: skip
    said = process.stderr.readline()
    while "the studio is at" not in said:
        line = process.stderr.readline()
        assert line, f"it did not start: {said}"
        said += line
    port = int(re.search(r"http://127\.0\.0\.1:(\d+)", said)[1])
    return SimpleNamespace(process=process, port=port, url=f"http://127.0.0.1:{port}", folder=folder)


def end_studio(studio) -> str:
    studio.process.send_signal(signal.SIGTERM)
    _, said = studio.process.communicate(timeout=300)
    assert studio.process.returncode == 0, said
    return said


@pytest.fixture(scope="session")
def studio(tmp_path_factory):
    started = start_studio(tmp_path_factory.mktemp("studio") / "voices")
    yield started
    assert "Traceback" not in end_studio(started)
