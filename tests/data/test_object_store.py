"""Training from an S3 server that is killed under it and slow when it is back: it waits, and ends as on the disk."""

import contextlib
import json
import os
import socket
import socketserver
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


class Door:
    """A port that leads to whatever server there is, slowly if it is told to; while there is none, it is shut."""

    def __init__(self) -> None:
        self.target: int | None = None
        self.pause_s = 0.0
        outer = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                if outer.target is None:
                    return
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", outer.target)) as server:
                    asked = threading.Thread(target=pump, args=(self.request, server), daemon=True)
                    asked.start()
                    pump(server, self.request)

        def pump(source: socket.socket, sink: socket.socket) -> None:
            with contextlib.suppress(OSError):
                while piece := source.recv(1 << 16):
                    time.sleep(outer.pause_s)
                    sink.sendall(piece)
            with contextlib.suppress(OSError):
                sink.shutdown(socket.SHUT_RDWR)

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True

        self._server = Server(("127.0.0.1", 0), Handler)
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class S3:
    """moto's server in a process of its own, with a cache in it. What it holds dies with it."""

    def __init__(self, folder: Path):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(self.port)]
        self._process = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self._put("bucket", b"", patience=120)
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                self._put(f"bucket/voice.cache/{path.relative_to(folder)}", path.read_bytes())

    def _put(self, key: str, content: bytes, patience: float = 0) -> None:
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/{key}", content, method="PUT")
        request.add_header("Authorization", "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request")
        request.add_header("Content-Type", "application/octet-stream")
        until = time.monotonic() + patience
        while True:
            try:
                urllib.request.urlopen(request, timeout=30).close()
                return
            except urllib.error.URLError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.2)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


@pytest.mark.slow
def test_training_outlives_a_server_that_is_killed_and_slow(tmp_path):
    corpus, cache = write_corpus(tmp_path / "voice", 40, (0.4, 1.2)), tmp_path / "voice.cache"
    with ThreadPoolExecutor(2) as executor:
        pack_shards(open_corpus(corpus), cache, PackSettings.from_config(feed_config().data), executor, shard_rows=4)
    door, mirrors, servers = Door(), tmp_path / "mirrors", [S3(cache)]
    door.target = servers[0].port
    environment = {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{door.port}", "AWS_ACCESS_KEY_ID": "test",
                   "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": "us-east-1"}  # fmt: skip
    trouble = threading.Thread(target=make_trouble, args=(door, servers, cache, mirrors))
    try:
        trouble.start()
        there = train("s3://bucket/voice.cache", tmp_path / "there", mirrors, environment)
        trouble.join()
    finally:
        for server in servers:
            server.kill()
        door.close()
    here = train(cache, tmp_path / "here", mirrors, {})
    assert len(servers) == 2
    assert len(there) == len(here) == 12
    np.testing.assert_allclose(there, here, rtol=1e-4)


def make_trouble(door: Door, servers: list[S3], cache: Path, mirrors: Path) -> None:
    """As soon as the first shard is there the server dies; another one takes its place, and the way to it is slow."""
    while not any(mirrors.glob("*/*/mel.npy")):
        time.sleep(0.005)
    door.target = None
    servers[0].kill()
    servers.append(S3(cache))
    door.pause_s = 0.05
    door.target = servers[1].port


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
