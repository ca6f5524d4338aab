"""A `myxtts` verb in a process of its own, with its state in a folder: any server can say how far it is, and stop it.

    job.json   what was started, when, and which process it is (number and time of birth: numbers come back)
    out.json   the one object that the verb prints, also when it fails or is interrupted
    err.txt    its progress and warnings

Nothing here waits for it. It has a session of its own, so that it outlives the server and its terminal.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil

from myxtts.files import open_new, read_regular, write_whole

_JOB, _OUT, _ERR = "job.json", "out.json", "err.txt"
_MOST_BYTES, _TAIL_BYTES = 16 << 20, 8 << 10
_BAR = re.compile(r"(\w+):\s+\d+%\|[^|]*\|\s*(\d+)/(\d+)")  # of tqdm
_SAID = re.compile(r"[^\r\n]+")
_children: dict[int, subprocess.Popen[bytes]] = {}  # ours, which would stay as zombies if nobody asked for their end


class Job:
    """What was last done in a folder, or is being done."""

    def __init__(self, folder: Path):
        self.folder = folder

    def start(self, kind: str, words: list[str], **facts: Any) -> None:
        """`words` are those after `myxtts`."""
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / _JOB).unlink(missing_ok=True)
        command = [sys.executable, "-m", "myxtts", *words, "--json"]
        with open_new(self.folder / _OUT) as out, open_new(self.folder / _ERR) as err:
            child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True)
        _children[child.pid] = child
        born = psutil.Process(child.pid).create_time()
        about = {"kind": kind, "words": words, "pid": child.pid, "born": born, "started": time.time(), **facts}
        write_whole(self.folder / _JOB, json.dumps(about, ensure_ascii=False).encode())

    @property
    def about(self) -> dict[str, Any] | None:
        try:
            body = json.loads(read_regular(self.folder / _JOB, _MOST_BYTES))
        except (OSError, ValueError):
            return None
        return body if isinstance(body, dict) and {"kind", "pid", "born", "started"} <= set(body) else None

    def is_running(self) -> bool:
        about = self.about
        return about is not None and _find(about) is not None

    def status(self) -> dict[str, Any] | None:
        """kind, state (running, done, stopped, failed), started, and as there are: progress, message, result."""
        about = self.about
        if about is None:
            return None
        status = {name: value for name, value in about.items() if name not in ("pid", "born", "words")}
        if _find(about) is not None:
            return {**status, "state": "running", "progress": self._progress()}
        return {**status, **self._outcome(bool(about.get("stop_asked")))}

    def stop(self) -> None:
        """Ask it to end: a training finishes its step and saves itself, others are resumed or done again.

        SIGTERM, because children of a shell's background job ignore SIGINT."""
        about = self.about
        process = None if about is None else _find(about)
        if about is not None and process is not None:
            write_whole(self.folder / _JOB, json.dumps({**about, "stop_asked": True}, ensure_ascii=False).encode())
            process.send_signal(signal.SIGTERM)

    def _outcome(self, stop_asked: bool) -> dict[str, Any]:
        try:
            result = json.loads(read_regular(self.folder / _OUT, _MOST_BYTES))
        except (OSError, ValueError):
            if stop_asked:
                return {"state": "stopped"}
            return {"state": "failed", "message": self._last_words() or "it was ended before it could say why"}
        error = result.get("error")
        if isinstance(error, dict):
            state = "stopped" if error.get("type") == "Interrupted" else "failed"
            return {"state": state, "message": str(error.get("message", ""))}
        return {"state": "stopped" if result.get("interrupted") else "done", "result": result}

    def _progress(self) -> dict[str, Any] | None:
        bars = _BAR.findall(self._tail())
        return {"verb": bars[-1][0], "done": int(bars[-1][1]), "total": int(bars[-1][2])} if bars else None

    def _last_words(self) -> str:
        said = [line.strip() for line in _SAID.findall(self._tail()) if line.strip() and not _BAR.search(line)]
        return said[-1][:500] if said else ""

    def _tail(self) -> str:
        try:
            with open(self.folder / _ERR, "rb") as file:
                file.seek(max(os.fstat(file.fileno()).st_size - _TAIL_BYTES, 0))
                return file.read().decode(errors="replace")
        except OSError:
            return ""


def _find(about: dict[str, Any]) -> psutil.Process | None:
    """The process, if it is still that one."""
    child = _children.get(about["pid"])
    if child is not None and child.poll() is not None:
        del _children[about["pid"]]
    try:
        process = psutil.Process(about["pid"])
        same = abs(process.create_time() - about["born"]) < 1.0 and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return None
    return process if same else None
