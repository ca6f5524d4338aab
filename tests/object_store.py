"""A real S3 server on loopback: moto's, in a process of its own. What it holds dies with it."""

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

CREDENTIALS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": "us-east-1"}


class S3:
    """With a bucket, and in it `voice.cache` if there is a folder to copy."""

    def __init__(self, folder: Path | None = None):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(self.port)]
        own = {**os.environ, "OMP_NUM_THREADS": "1"}
        self._process = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=own)
        self.put("bucket", b"", patience=120)
        for path in sorted(folder.rglob("*")) if folder else ():
            if path.is_file():
                self.put(f"bucket/voice.cache/{path.relative_to(folder)}", path.read_bytes())

    @property
    def environment(self) -> dict[str, str]:
        """What tools of the store, and we, look at."""
        return {**CREDENTIALS, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.port}"}

    def put(self, key: str, content: bytes, patience: float = 0) -> None:
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
