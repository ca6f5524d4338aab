"""`myxtts serve` in a process of its own: where it answers, what it wrote, and how much of the machine it holds."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil

NAME = "m"  # of the one model that is served


class Server:
    """`folder` is for its log, its temporary files and the voices that are added; `flags` are those of the verb.
    At the end of a `with` block it is gone, whatever happened."""

    def __init__(self, model: Path | str, folder: Path, *flags: str):
        folder.mkdir(exist_ok=True)
        self._log, self._temporary = folder / "log.txt", folder / "tmp"
        self._temporary.mkdir()
        words = ["serve", f"{NAME}={model}", "--port", "0", "--voices", str(folder / "voices"), *flags]
        with open(self._log, "w") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "myxtts", *words],
                stdout=log,
                stderr=log,
                env=os.environ | {"TMPDIR": str(self._temporary), "TF_CPP_MIN_LOG_LEVEL": "3"},
            )
        while "serving at" not in self.log():
            if self.process.poll() is not None:
                raise SystemExit(f"the server did not start: {self.log()}")
            time.sleep(0.1)
        self.port, self.wyoming = self._port("http"), self._port("tcp")
        self._seen = psutil.Process(self.process.pid)

    def _port(self, scheme: str) -> int:
        """0 where it does not listen."""
        named = re.search(rf"{scheme}://127\.0\.0\.1:(\d+)", self.log())
        return int(named[1]) if named else 0

    def log(self) -> str:
        return self._log.read_text(errors="replace")

    def resident_bytes(self) -> int:
        return int(self._seen.memory_info().rss)

    def cpu_seconds(self) -> float:
        return float(sum(self._seen.cpu_times()[:2]))

    def holds(self) -> dict[str, int]:
        return {
            "resident_mb": round(self.resident_bytes() / 1e6),
            "descriptors": self._seen.num_fds(),
            "children": len(self._seen.children()),
            "threads": self._seen.num_threads(),
            "files": len([*self._temporary.iterdir()]),
        }

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()

    def end(self) -> int:
        """Its exit code, after it has spoken what it had begun."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(150)
