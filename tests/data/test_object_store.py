"""A cache in an object store: read from a real S3 server, on loopback."""

import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from corpora import feed_config, write_corpus

from myxtts.cache.open import open_cache, open_or_pack
from myxtts.cache.remote import Remote
from myxtts.cache.settings import PackSettings
from myxtts.cache.shards import pack_shards
from myxtts.corpus.read import open_corpus
from myxtts.errors import CacheError


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
def test_a_cache_is_read_from_an_object_store(tmp_path, monkeypatch):
    corpus, folder = write_corpus(tmp_path / "voice", 12), tmp_path / "voice.cache"
    with ThreadPoolExecutor(2) as executor:
        pack_shards(open_corpus(corpus), folder, PackSettings.from_config(feed_config().data), executor, shard_rows=4)
    server = S3(folder)
    named = {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.port}", "AWS_REGION": "us-east-1"}
    for name, value in {**named, "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}.items():
        monkeypatch.setenv(name, value)
    try:
        remote = Remote("s3://bucket/voice.cache")
        assert remote.read("cache.json") == (folder / "cache.json").read_bytes()
        assert remote.read("00000.cache/mel.npy", 100, 140) == (folder / "00000.cache/mel.npy").read_bytes()[100:140]
        with pytest.raises(CacheError, match="check the address"):
            remote.read("nowhere")
        there, here = open_or_pack("s3://bucket/voice.cache", feed_config(mirror_dir=str(tmp_path))), open_cache(folder)
        assert there.id == here.id
        np.testing.assert_array_equal(there.frames(7), here.frames(7))
    finally:
        server.kill()
