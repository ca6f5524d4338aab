"""Training from an S3 server that is killed in the middle of a file and slow when it is back: it waits, says so, and
ends as on the disk; nobody ever sees half a file."""

import contextlib
import os
import socket
import socketserver
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from corpora import feed_config, write_corpus
from object_store import S3

from myxtts.cache.settings import PackSettings
from myxtts.cache.shards import pack_shards
from myxtts.corpus.read import open_corpus
from myxtts.training.run_log import read_log

TESTS = Path(__file__).parents[1]
# The real command with the stand-in for a model, in blocks of 2 steps: it has dozens of steps, not thousands.
RUN = f"""
import runpy
from myxtts.data import pipeline
pipeline._BLOCK_STEPS = 2
runpy.run_path({str(TESTS / "training" / "stand_in_run.py")!r}, run_name="__main__")
"""
STEPS, CUT_AT = 60, 8  # the mirror holds six of the ten shards: the eighth comes when two were read and went


class Door:
    """A port that leads to whatever server there is, slowly if it is told to; while there is none, it is shut. The
    answer with the CUT_AT-th whole file of mel frames is cut off in the middle, and then `cut` is set."""

    def __init__(self, port: int):
        self.target: int | None = port
        self.pause_s, self.files, self.cut = 0.0, 0, threading.Event()
        outer = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                if outer.target is None:
                    return
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", outer.target)) as server:
                    threading.Thread(target=outer.ask, args=(self.request, server), daemon=True).start()
                    outer.answer(server, self.request)

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True

        self._server = Server(("127.0.0.1", 0), Handler)
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def ask(self, client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while piece := client.recv(1 << 16):
                # Single utterances, for statistics and voices, are asked for with a range.
                self.files += b"/mel.npy " in piece and b"\nrange:" not in piece.lower()
                server.sendall(piece)
        with contextlib.suppress(OSError):
            server.shutdown(socket.SHUT_RDWR)

    def answer(self, server: socket.socket, client: socket.socket) -> None:
        while piece := server.recv(1 << 14):
            if self.target is None:
                return
            if self.files >= CUT_AT and not self.cut.is_set() and len(piece) == 1 << 14:
                client.sendall(piece[: 1 << 13])
                self.target = None
                self.cut.set()
                return
            time.sleep(self.pause_s)
            client.sendall(piece)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.mark.slow
def test_training_outlives_a_server_that_is_killed_and_slow(tmp_path):
    corpus, cache = write_corpus(tmp_path / "voice", 100, (1.0, 2.0)), tmp_path / "voice.cache"
    with ThreadPoolExecutor(2) as executor:
        pack_shards(open_corpus(corpus), cache, PackSettings.from_config(feed_config().data), executor, shard_rows=10)
    mirrors, servers = tmp_path / "mirrors", [S3(cache)]
    door = Door(servers[0].port)
    address = {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{door.port}"}
    try:
        process = start("s3://bucket/voice.cache", tmp_path / "there", mirrors, servers[0].environment | address)
        while not door.cut.wait(0.1) and process.poll() is None:
            pass
        servers[0].kill()
        whole = held_whole(mirrors, cache)
        servers.append(S3(cache))
        door.pause_s, door.target = 0.02, servers[1].port
        said = finish(process)
    finally:
        process.kill()
        door.close()
        for server in servers:
            server.kill()
    assert door.cut.is_set()
    assert whole > 0
    assert "trying again in" in said
    assert held_whole(mirrors, cache) > 0
    finish(start(cache, tmp_path / "here", mirrors, {}))
    there, here = (losses(tmp_path / run) for run in ("there", "here"))
    assert len(there) == len(here) == STEPS
    np.testing.assert_array_equal(there, here)


def held_whole(mirrors: Path, cache: Path) -> int:
    """How many files of mel frames are there under their own name: each must be whole."""
    held = 0
    for path in mirrors.glob("*/*.cache/mel.npy"):
        with contextlib.suppress(FileNotFoundError):  # it has just given way to another
            assert path.read_bytes() == (cache / path.parent.name / "mel.npy").read_bytes()
            held += 1
    return held


def start(data: Path | str, run: Path, mirrors: Path, environment: dict[str, str]) -> subprocess.Popen:
    settings = {
        "data.num_buckets": 1, "data.batch_size": 2, "data.reference_frames": 32, "data.shuffle_shards": 2,
        "data.mirror_dir": mirrors, "data.mirror_gb": 0.0013, "data.prefetch_buffer_size": 1,
        "data.auto_tune_performance": "false", "training.precision": "float32", "training.deterministic": "true",
        "training.sample_steps": 0, "training.start_from": "scratch",
    }  # fmt: skip
    words = [sys.executable, "-c", RUN, "train", "--data", data, "--run", run, "--steps", STEPS]
    words += [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    paths = [str(TESTS), str(TESTS / "training"), *filter(None, [os.environ.get("PYTHONPATH")])]
    own = os.environ | environment | {"PYTHONPATH": os.pathsep.join(paths), "TF_CPP_MIN_LOG_LEVEL": "3"}
    return subprocess.Popen([*map(str, words)], env=own, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def finish(process: subprocess.Popen) -> str:
    """What it said."""
    _, said = process.communicate(timeout=900)
    assert process.returncode == 0, said[-3000:]
    return said


def losses(run: Path) -> list[float]:
    return [line["loss"] for line in read_log(run) if line["kind"] == "step"]
