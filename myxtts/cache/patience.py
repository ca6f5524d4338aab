"""Tries again what a server refused that may be back: five times within half a minute, and that is said."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import TypeVar

from myxtts.cache.remote import Unreachable

log = logging.getLogger(__name__)

PAUSES_SECONDS = (1.0, 2.0, 4.0, 8.0, 16.0)

T = TypeVar("T")


def patiently(work: Callable[[], T], stop: threading.Event | None = None) -> T:
    """What `work` returns. Raises the last Unreachable; at once when `stop` is set, in the middle of a pause too."""
    stop = stop or threading.Event()
    for pause in PAUSES_SECONDS:
        try:
            return work()
        except Unreachable as error:
            if stop.is_set():
                raise
            log.warning("%s; trying again in %.0f s", error, pause)
            if stop.wait(pause):
                raise
    return work()
