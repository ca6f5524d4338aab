"""What a long sentence took goes back to the system.

glibc keeps memory that is free below anything that is not. After 300 digits at a quarter of the speed a process held
289 MB; `malloc_trim` gave 146 of them back in 13 ms. Between short sentences it takes 0.8 ms, and 3 ms of the next one,
which has to ask for the 8 MB again: every ten seconds that is nothing.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable

from myxtts.machine import process

_MOST_OFTEN_SECONDS, _WORTH_BYTES = 10.0, 8 << 20


class Memory:
    """Remembers how much was held when it last gave back: an idle process is left alone."""

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock, self._again_at, self._held = clock, clock() + _MOST_OFTEN_SECONDS, 0
        self._trim: Callable[[int], int] | None = getattr(ctypes.CDLL(None), "malloc_trim", None)  # of glibc

    def much_is_free(self) -> None:
        """Next time it is worth it, whatever is held."""
        self._held = -_WORTH_BYTES

    def give_back(self) -> float | None:
        """Where it is worth it, and not too often. Returns after how many seconds to call it again; None if never."""
        if self._trim is None or (now := resident_bytes()) is None:
            return None
        self._held = min(self._held, now)
        if now < self._held + _WORTH_BYTES:
            return None
        wait = self._again_at - self._clock()
        if wait > 0:
            return wait
        self._trim(0)
        self._held, self._again_at = resident_bytes() or 0, self._clock() + _MOST_OFTEN_SECONDS
        return None


def resident_bytes() -> int | None:
    """None where the system does not say, as where no more files may be opened: a server lives on without it."""
    try:
        return process.resident_bytes()
    except OSError:
        return None
