"""A Dask cluster as an executor: one that runs somewhere, or worker processes of this machine for as long as it takes.

Dask restarts and reschedules. What it cannot mend (a task that kills each worker it meets, a scheduler that is gone) is
said in one line, with what to do: shards that are finished stay.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from concurrent.futures import CancelledError, Executor
from contextlib import ExitStack, contextmanager
from typing import Any

from myxtts.errors import CacheError, MissingExtra

log = logging.getLogger(__name__)

_LOCAL = re.compile(r"local:([1-9]\d{0,3})")
_CONNECT_SECONDS = 20
_AGAIN = "finished shards are kept: run the same command again to resume"


@contextmanager
def dask_executor(where: str) -> Iterator[tuple[Executor, int]]:
    """(an executor, how many processes it has) at the address of a scheduler, or `local:N`."""
    try:
        import distributed
    except ImportError:
        raise MissingExtra("distributed", "cluster", "packing on a Dask cluster") from None
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # forty lines a run; what matters is raised
    with ExitStack() as stack:
        client = _connect(distributed, where, stack)
        workers = max(len(client.scheduler_info(n_workers=-1)["workers"]), 1)
        log.info("packing on %s, %d worker processes", where, workers)
        try:
            yield client.get_executor(pure=False), workers
        except distributed.scheduler.KilledWorker as error:
            raise CacheError(f"packing a shard has killed several workers ({error.task}): {_AGAIN}") from None
        except (CancelledError, distributed.comm.CommClosedError, TimeoutError) as error:
            raise CacheError(f"the Dask scheduler at {where} is gone ({type(error).__name__}): {_AGAIN}") from None


def _connect(distributed: Any, where: str, stack: ExitStack) -> Any:
    local = _LOCAL.fullmatch(where)
    if local is None and "://" not in where and not re.fullmatch(r"[^:/]+:\d+", where):
        raise CacheError(f"--dask is {where!r}, expected local:N or the address of a scheduler such as tcp://host:8786")
    if local is not None:
        # One thread each: a shard is packed by one task, and eSpeak is one per process. No limit of memory that is
        # not the machine's own; a dashboard on whatever port is free.
        address = stack.enter_context(
            distributed.LocalCluster(
                n_workers=int(local[1]), threads_per_worker=1, memory_limit=0, dashboard_address=":0", host="127.0.0.1"
            )
        )
    else:
        address = where
    try:
        return stack.enter_context(distributed.Client(address, timeout=_CONNECT_SECONDS, set_as_default=False))
    except (OSError, TimeoutError, ValueError) as error:
        raise CacheError(f"there is no Dask scheduler at {where} ({error}): start one with 'dask scheduler'") from None
