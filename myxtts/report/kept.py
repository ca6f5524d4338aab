"""Keeps RUN/report.html up to date while a run is active, beside it: in a process of its own, never in its loop.

    with KeptReport("runs/voice"):
        start_training(...)

A new one is made when the run has logged a report of its own, at least every ten minutes, and at the end, however that
comes. Making one takes 0.3 s for 1,000 steps and grows with the log: at most one fiftieth of the time is spent on it.
"""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil

from myxtts.report.run import write_run_report
from myxtts.training.run_log import LOG

log = logging.getLogger(__name__)

_LOOK_SECONDS = 5.0
_AT_LEAST_SECONDS = 600.0
_SHARE = 50  # seconds of rest per second of work
_MARK = b'"kind":"report"'
_NICE = 10


class KeptReport:
    """Started before a run and left after it. What goes wrong here is said, and does not disturb the run."""

    def __init__(self, run: Path | str, look_seconds: float = _LOOK_SECONDS):
        self.run, self._look_seconds = Path(run), look_seconds
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="myxtts-report", daemon=True)
        self._child: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> KeptReport:
        self._before = self._log_bytes()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        if (child := self._child) is not None:
            child.kill()  # it would only be in the way of the last one
        self._thread.join()
        if self._log_bytes() > self._before:
            self._write_last()

    def _write_last(self) -> None:
        try:
            write_run_report(self.run)
        except Exception as error:  # noqa: BLE001 - said; the run is done and its result must not be lost for a picture
            log.warning(
                "%s/report.html was not written (%s: %s): the run itself is whole",
                self.run,
                type(error).__name__,
                error,
            )

    def _log_bytes(self) -> int:
        path = self.run / LOG
        return path.stat().st_size if path.is_file() else 0

    def _watch(self) -> None:
        scanned = written = self._before
        due, rest, wanted = time.monotonic() + _AT_LEAST_SECONDS, 0.0, False
        while not self._stop.wait(max(self._look_seconds, rest)):
            size, rest = self._log_bytes(), 0.0
            wanted, scanned = wanted or self._has_report(scanned, size), size
            if wanted or (size > written and time.monotonic() >= due):
                began = time.monotonic()
                self._write_beside()
                rest, due = _SHARE * (time.monotonic() - began), time.monotonic() + _AT_LEAST_SECONDS
                written, wanted = size, False

    def _has_report(self, read: int, size: int) -> bool:
        if size <= read:
            return False
        with open(self.run / LOG, "rb") as file:
            file.seek(read)
            return _MARK in file.read(size - read)

    def _write_beside(self) -> None:
        """In another process: parsing a log in this one would hold the lock that the training loop needs."""
        command = [sys.executable, "-m", "myxtts", "report", str(self.run), "--json"]
        child = self._child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for the training
        )
        try:
            psutil.Process(child.pid).nice(_NICE)
        except psutil.Error:  # it has ended already, or we may not: then it runs as it is
            log.debug("the process that writes the report keeps its priority")
        _, stderr = child.communicate()
        if child.returncode and not self._stop.is_set():
            why = stderr.decode(errors="replace").strip()[-300:]
            log.warning("%s/report.html was not brought up to date: %s", self.run, why)
        self._child = None
