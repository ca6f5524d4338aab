"""Training from an S3 server that is killed and stopped under it: it waits, and ends as it would have on the disk."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from corpora import feed_config, write_corpus

from myxtts.cache.settings import PackSettings
from myxtts.cache.shards import pack_shards
from myxtts.corpus.read import open_corpus

RUN = Path(__file__).parents[1] / "training" / "small_run.py"


class S3:
    """moto's server in a process of its own. What it holds dies with it."""

    def __init__(self, folder: Path):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self._folder = folder
        self.environment = {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self._port}",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_REGION": "us-east-1",
        }
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(self._port)]
        self.process = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self._ask("PUT", "bucket", b"", patience=120)
        for path in sorted(self._folder.rglob("*")):
            if path.is_file():
                self._ask("PUT", f"bucket/voice.cache/{path.relative_to(self._folder)}", path.read_bytes())

    def _ask(self, method: str, key: str, content: bytes, patience: float = 0) -> None:
        request = urllib.request.Request(f"{self.environment['AWS_ENDPOINT_URL']}/{key}", content, method=method)
        request.add_header("Authorization", "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request")
        until = time.monotonic() + patience
        while True:
            try:
                urllib.request.urlopen(request, timeout=30).close()
                return
            except urllib.error.URLError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.2)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.mark.slow
def test_training_outlives_a_server_that_is_killed_and_stopped(tmp_path):
    corpus, cache = write_corpus(tmp_path / "voice", 40, (0.4, 1.2)), tmp_path / "voice.cache"
    with ThreadPoolExecutor(2) as executor:
        pack_shards(open_corpus(corpus), cache, PackSettings.from_config(feed_config().data), executor, shard_rows=4)
    server = S3(cache)
    mirrors = tmp_path / "mirrors"
    try:
        trouble = threading.Thread(target=make_trouble, args=(server, mirrors))
        trouble.start()
        there = train("s3://bucket/voice.cache", tmp_path / "there", mirrors, server.environment)
        trouble.join()
    finally:
        server.close()
    here = train(cache, tmp_path / "here", mirrors, {})
    assert len(there) == len(here) == 12
    np.testing.assert_allclose(there, here, rtol=1e-4)


def make_trouble(server: S3, mirrors: Path) -> None:
    """As soon as the first shard is there the server dies with all it has; when it is back, it stands still."""
    while not any(mirrors.glob("*/*/mel.npy")):
        time.sleep(0.005)
    server.close()
    time.sleep(1)
    server.start()
    os.kill(server.process.pid, signal.SIGSTOP)
    time.sleep(1)
    os.kill(server.process.pid, signal.SIGCONT)


def train(data: Path | str, run: Path, mirrors: Path, environment: dict[str, str]) -> list[float]:
    """The losses of a run by the real command."""
    settings = {
        "data.text_tokens": "characters", "data.num_buckets": 2, "data.batch_size": 8, "data.reference_frames": 32,
        "data.shuffle_shards": 2, "data.mirror_dir": mirrors, "data.auto_tune_performance": "false",
        "training.precision": "float32", "training.deterministic": "true", "training.sample_steps": 0,
    }  # fmt: skip
    words = [sys.executable, RUN, "train", "--data", data, "--run", run, "--steps", "12", "--json"]
    words += [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    done = subprocess.run([*map(str, words)], env=os.environ | environment, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[-3000:]
    lines = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
    return [line["loss"] for line in lines if "loss" in line and line.get("kind", "step") == "step"]
