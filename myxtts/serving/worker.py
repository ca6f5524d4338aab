"""One thread does all the work, a step of each job in turn: a short sentence does not wait for a book to end.

A job is a generator. It runs on the thread only; what it yields is fetched from the event loop by `await job.next()`;
None is only the end of a step. No more than `most_jobs` are taken. A job whose reader is slow waits, and one whose
reader is gone is closed.

Waking the other thread is what a request costs most of here (0.1 ms each time), so nobody is woken who does not wait.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from myxtts.serving.problems import Foreseen, Problem, too_busy

_MOST_PIECES = 32  # made and not yet sent, 24 s of sound
_TIDY_SECONDS = 10.0
_REMEMBERED = 0.2  # weight of the newest job in the mean time of a job


class Job:
    """One generator, seen from the event loop that submitted it."""

    def __init__(self, worker: Worker, steps: Iterator[Any]):
        self._worker, self._steps = worker, steps
        self._loop, self._came, self._awaited = asyncio.get_running_loop(), asyncio.Event(), False
        self._items: deque[Any] = deque()
        self._cancelled, self._ended = False, False
        self._problem: Problem | None = None
        self.started = time.monotonic()

    @property
    def is_over(self) -> bool:
        """All of it was fetched, and nothing went wrong."""
        return self._ended and not self._items and self._problem is None

    async def next(self) -> Any:
        """What the generator yields next. Its end is `StopAsyncIteration`, as is `cancel`; its failure a `Problem`."""
        while True:
            with self._worker.changed:
                if self._items and not self._cancelled:
                    if len(self._items) == _MOST_PIECES:
                        self._worker.changed.notify()
                    return self._items.popleft()
                if self._ended or self._cancelled:
                    raise self._problem or StopAsyncIteration
                self._came.clear()
                self._awaited = True
            await self._came.wait()

    def cancel(self) -> None:
        """Nobody listens any more. After the end it does nothing."""
        if self._ended:
            return
        with self._worker.changed:
            self._cancelled = True
            self._worker.changed.notify()
        self._came.set()

    # ---- on the thread ----

    def can_run(self) -> bool:
        return self._cancelled or len(self._items) < _MOST_PIECES

    def run(self) -> bool:
        """One step; False when there is none left."""
        if self._cancelled:
            self._steps.close()  # type: ignore[attr-defined]
            return self._end(None)
        try:
            with Foreseen(StopIteration):  # the thread must outlive whatever one request brings about
                item = next(self._steps)
        except StopIteration:
            return self._end(None)
        except Problem as problem:
            return self._end(problem)
        if item is not None:
            with self._worker.changed:
                self._items.append(item)
                self._tell()
        return True

    def _end(self, problem: Problem | None) -> bool:
        with self._worker.changed:
            self._problem, self._ended = problem, True  # in this order: `is_over` reads without the lock
            self._tell()
        return False

    def _tell(self) -> None:
        if self._awaited:
            self._awaited = False
            with contextlib.suppress(RuntimeError):  # the loop was closed: nobody waits
                self._loop.call_soon_threadsafe(self._came.set)


class Worker:
    """`tidy` is called every `tidy_seconds` as long as there is work, and once after that; it returns after how many
    seconds it wants to be called again where nothing happens."""

    def __init__(
        self, most_jobs: int, tidy: Callable[[], float | None] = lambda: None, tidy_seconds: float = _TIDY_SECONDS
    ):
        self._most, self._tidy, self._tidy_seconds = most_jobs, tidy, tidy_seconds
        self._jobs: deque[Job] = deque()
        self._mean_seconds, self._stopping, self._tidied = 1.0, False, time.monotonic()
        self.changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="speaking", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Finish what was submitted, then end the thread."""
        with self.changed:
            self._stopping = True
            self.changed.notify()
        self._thread.join()

    def submit(self, steps: Iterator[Any]) -> Job:
        """To be called from an event loop. More than there is room for is a `Problem` with Retry-After."""
        with self.changed:
            if len(self._jobs) >= self._most or self._stopping:
                wait = self._mean_seconds
                raise too_busy(f"{len(self._jobs)} requests are being spoken or waiting: try again later", wait)
            job = Job(self, steps)
            self._jobs.append(job)
            self.changed.notify()
        return job

    def __len__(self) -> int:
        return len(self._jobs)

    def _run(self) -> None:
        while (job := self._next()) is not None:
            goes_on = job.run()
            with self.changed:
                self._jobs.remove(job)
                if goes_on:
                    self._jobs.append(job)
                else:
                    self._mean_seconds += _REMEMBERED * (time.monotonic() - job.started - self._mean_seconds)
            self._put_in_order()

    def _put_in_order(self) -> float | None:
        """Where it is time to. Returns after how many seconds it will be again; None: not before there is work."""
        now = time.monotonic()
        if now < self._tidied + self._tidy_seconds:
            return self._tidied + self._tidy_seconds - now
        self._tidied = now
        return self._tidy()

    def _next(self) -> Job | None:
        """The one that has waited longest; None at the end."""
        while True:
            with self.changed:
                for job in self._jobs:
                    if job.can_run():
                        return job
                if self._stopping and not self._jobs:
                    return None
                idle = not self._jobs
            wait = self._put_in_order() if idle else None
            with self.changed:
                if not any(job.can_run() for job in self._jobs) and not (self._stopping and not self._jobs):
                    self.changed.wait(wait)
