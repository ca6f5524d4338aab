"""What a run tells: `log.jsonl`, which outlives every crash, and the live line, which is only for the eye.

A line of `log.jsonl` is one strict JSON object with `time` (seconds since 1970), `kind` and, where it belongs to one,
`step`. Lines are only ever added. A run that resumes at step N adds `{"kind": "resume", "step": N}`: what was logged
of later steps before it was given up, and `read_log` leaves it out.
"""

from __future__ import annotations

import json
import logging
import math
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from myxtts.errors import TrainingError
from myxtts.files import open_append
from myxtts.terminal import printable
from myxtts.training.log_line import parse_line

log = logging.getLogger(__name__)

LOG = "log.jsonl"
START_SCORES = "start_scores.json"  # what judges said of the model that a run starts from
RESUME = "resume"
_MANY = ("event", RESUME)  # kinds of which a step may have several; of all others the later line counts
_OPENING = b'{"time":'
_MOST_DAMAGED = 5  # that are named; the rest is counted
_MOST_LINE_BYTES = 1 << 24
_TAIL_BYTES = 1 << 20  # a line is 300 bytes: the last intact one is in the first piece read from the end


def plain(value: Any) -> Any:
    """The value as strict JSON can hold it: arrays as lists, NaN and infinities as strings that `float()` reads.

    What JSON does not know becomes its text: a line with an odd value must not end a run of 60 hours.
    """
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "as_list"):  # a TensorShape
        return plain(value.as_list())
    if hasattr(value, "numpy"):  # a tensor
        value = value.numpy()
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, float) and not math.isfinite(value):
        return {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, "NaN")
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


class RunLog:
    """Appends to RUN/log.jsonl. A line is in the kernel's hands when `write` returns, so kill -9 cannot take it."""

    def __init__(self, run: Path | str):
        """Cuts off the line that a killed writer left torn. Hold the run's lock: another writer's line looks torn."""
        self.path = Path(run) / LOG
        self.path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._file = open_append(self.path, buffering=0)
        except OSError as error:
            raise TrainingError(f"cannot write {self.path} ({error.strerror}): choose another --run") from None
        size = os.fstat(self._file.fileno()).st_size
        intact = _intact_bytes(self.path, size)
        self.is_new = not intact
        if not intact and not _is_first_line(self.path):
            self._file.close()
            raise TrainingError(f"{self.path} is not the log of a run: move it away, or choose another --run")
        if intact < size:
            self._file.truncate(intact)
            log.warning("%s ended in %d torn bytes of a killed run: cut off", self.path, size - intact)
            self.write("event", event="recovered", torn_bytes=size - intact)

    def write(self, kind: str, **fields: Any) -> None:
        """Add one line, whole or not at all."""
        record = {"time": round(time.time(), 3), "kind": kind, **fields}
        line = json.dumps(plain(record), ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode() + b"\n"
        before = os.fstat(self._file.fileno()).st_size
        try:
            complete = self._file.write(line) == len(line)  # a full disk may take a part and say nothing
            reason = "the disk is full"
        except OSError as error:
            complete, reason = False, str(error.strerror)
        if not complete:
            os.ftruncate(self._file.fileno(), before)
            raise TrainingError(f"cannot write to {self.path} ({reason}): make room, then start the same command again")

    def resume(self, step: int, **fields: Any) -> None:
        """From here on the run is the one that had done `step` steps: later steps logged above did not happen."""
        self.write(RESUME, step=step, **fields)

    def sync(self) -> None:
        """Make all lines outlive a power cut too: call it before a checkpoint is published."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> RunLog:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _intact_bytes(path: Path, size: int) -> int:
    """How many bytes are whole lines: all but a tail that is not JSON (a torn line; zeros after a power cut)."""
    start = size
    while start:
        start = max(start - _TAIL_BYTES, 0)
        with open(path, "rb") as file:
            file.seek(start)
            tail = file.read(size - start)
        end = tail.rfind(b"\n") + 1
        while end:
            begin = tail.rfind(b"\n", 0, end - 1) + 1
            if (begin or not start) and parse_line(tail[begin:end]) is not None:
                return start + end
            end = begin
    return 0


def _is_first_line(path: Path) -> bool:
    """True if the file is empty or can be what a kill left of its first line; anything else is not ours to cut."""
    with open(path, "rb") as file:
        head = file.read(len(_OPENING)).rstrip(b"\0")
    return _OPENING.startswith(head)


_NEEDED = {
    "step": ("time", "step", "data_ms", "compute_ms"),
    "validation": ("time", "step"),
    "rated": ("time", "step", "by", "value"),
    "resume": ("time", "step"),
}


def timed(records: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Without lines that lack their time, and steps that lack theirs: written by another program, or by hand."""
    for record in records:
        if all(name in record for name in _NEEDED.get(record["kind"], ("time",))):
            yield record


def read_log(run: Path | str, *, given_up: bool = False) -> Iterator[dict[str, Any]]:
    """The history that led to the run as it is; with `given_up` every line that was written, in its order.

    Lines of steps after a later resume point are left out, of several lines of one kind and step the last counts
    (a step may have several events). It may be read while the run is active.
    """
    path = Path(run) / LOG
    if not path.is_file():  # nor a pipe, which would be waited for
        raise TrainingError(f"{run} has no {LOG}: found no run there, expected a directory that 'myxtts train' made")
    with open(path, "rb") as file:
        records = _records(file, path)
        if given_up:
            yield from (record for _, record in records)
            return
        for offset in _effective(records):
            file.seek(offset)
            if (record := parse_line(file.readline())) is not None:  # a line may be cut off meanwhile
                yield record


def _records(file: Any, path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """(offset, record) of each intact line. The last may be in the middle of being written; others are reported."""
    offset = damaged = 0
    for number, line in enumerate(_lines(file), 1):
        record = parse_line(line)
        if record is not None and line.endswith(b"\n"):
            yield offset, record
        elif line.endswith(b"\n"):
            damaged += 1
            if damaged <= _MOST_DAMAGED:
                log.warning("line %d of %s is damaged and left out: %r", number, path, line[:60])
        offset += len(line)
    if damaged > _MOST_DAMAGED:
        log.warning("%d more lines of %s are damaged and left out", damaged - _MOST_DAMAGED, path)


def _lines(file: Any) -> Iterator[bytes]:
    """The lines of a file; of one that is endlessly long the pieces, none of which is a record."""
    return iter(lambda: file.readline(_MOST_LINE_BYTES), b"")


def _effective(records: Iterator[tuple[int, dict[str, Any]]]) -> list[int]:
    """The offsets of the lines that count. Offsets, because a million parsed lines would be a gigabyte."""
    kept: list[tuple[int, str, int]] = []  # (step or -1, kind, offset)
    for offset, record in records:
        step, kind = record.get("step"), record["kind"]
        step = step if isinstance(step, int) else -1
        if kind == RESUME:
            kept = [entry for entry in kept if entry[0] <= step or entry[1] == RESUME]
        elif kind not in _MANY and step >= 0:
            _forget(kept, step, kind)
        kept.append((step, kind, offset))
    return [offset for _, _, offset in kept]


def _forget(kept: list[tuple[int, str, int]], step: int, kind: str) -> None:
    """Remove the earlier line of this kind and step. Steps only grow between resume points, so it is near the end."""
    for place in range(len(kept) - 1, -1, -1):
        if kept[place][:2] == (step, kind):
            del kept[place]
            return
        if 0 <= kept[place][0] < step and kept[place][1] != RESUME:
            return


# ---- the live line --------------------------------------------------------------------------------------------------

_TERMINAL_SECONDS = 0.2
_FILE_SECONDS = 10.0


@dataclass(frozen=True)
class Status:
    """What the live line says. None where it is not known (yet)."""

    step: int
    total_steps: int | None
    epoch: float
    loss: float
    learning_rate: float
    grad_norm: float
    data_ms: float
    compute_ms: float
    utterances_per_second: float
    eta_seconds: float | None

    @property
    def stall(self) -> float:
        """The share of its time that a step waited for its batch."""
        return self.data_ms / max(self.data_ms + self.compute_ms, 1e-9)


def format_eta(seconds: float | None) -> str:
    """1:23:45, or 6:07 below an hour; ? where it is not known."""
    if seconds is None or not math.isfinite(seconds):
        return "?"
    minutes, second = divmod(round(max(seconds, 0)), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02d}:{second:02d}" if hours else f"{minute}:{second:02d}"


def format_status(status: Status, width: int) -> str:
    """One line of at most `width` characters; what matters least is last and goes first."""
    total = "" if status.total_steps is None else f"/{status.total_steps}"
    parts = [
        f"step {status.step}{total}",
        f"loss {status.loss:.4f}",
        f"ETA {format_eta(status.eta_seconds)}",
        f"stall {status.stall:.1%}",
        f"{status.utterances_per_second:.1f} utt/s",
        f"epoch {status.epoch:.2f}",
        f"lr {status.learning_rate:.2e}",
        f"grad {status.grad_norm:.2f}",
        f"data {status.data_ms:.1f} ms",
        f"compute {status.compute_ms:.0f} ms",
    ]
    while len(parts) > 1 and len("  ".join(parts)) > width:
        parts.pop()
    return "  ".join(parts)[: max(width, 0)]


class LiveLine:
    """Shows the status: on a terminal one line that overwrites itself, elsewhere a line every ten seconds."""

    def __init__(self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic):
        self._stream: TextIO | None = sys.stderr if stream is None else stream
        self._clock = clock
        self._terminal = self._stream.isatty()
        self._every = _TERMINAL_SECONDS if self._terminal else _FILE_SECONDS
        self._next = -math.inf
        self._shown = 0  # characters that stand on the line now
        self._waiting: Status | None = None

    def show(self, status: Status) -> None:
        """Show it if it is time; the last one is shown by `close` at the latest."""
        self._waiting = status
        if self._clock() >= self._next:
            self._draw(status)

    def say(self, text: str) -> None:
        """A line of its own, above the live line."""
        self._write(self._erase() + printable(text) + "\n")

    def close(self) -> None:
        if self._waiting is not None:
            self._draw(self._waiting)
        if self._shown:
            self._write("\n")
        self._shown = 0

    def _draw(self, status: Status) -> None:
        self._next, self._waiting = self._clock() + self._every, None
        width = self._width() - 1 if self._terminal else 10_000
        line = format_status(status, width)
        if self._terminal:
            self._write("\r" + line.ljust(min(self._shown, width)))
            self._shown = len(line)
        else:
            self._write(line + "\n")

    def _erase(self) -> str:
        blank, self._shown = "\r" + " " * self._shown + "\r", 0
        return blank if self._terminal else ""

    def _width(self) -> int:
        try:
            return os.get_terminal_size(self._stream.fileno()).columns or 80  # type: ignore[union-attr]
        except (OSError, ValueError, AttributeError):
            return shutil.get_terminal_size().columns

    def _write(self, text: str) -> None:
        """A terminal that was closed, or a pipe whose reader left, ends the line and not the training."""
        if self._stream is None:
            return
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError) as error:
            self._stream = None
            log.warning("the live line cannot be shown any more (%s): follow %s instead", error, LOG)
