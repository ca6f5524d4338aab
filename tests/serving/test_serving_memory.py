"""What a long sentence took goes back to the system, but not again and again."""

import asyncio
import ctypes

import pytest

from myxtts.serving.memory import Memory, resident_bytes
from myxtts.serving.worker import Worker

MEGABYTE = 1 << 20


def fragmented():
    """64 MB of small blocks, of which every hundredth stays: the heap cannot shrink by itself."""
    blocks = [bytes(64 << 10) for _ in range(1024)]
    return blocks[::100] + [bytes(1000)]


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="only glibc gives memory back when asked")
def test_free_memory_goes_back_to_the_system():
    now = [0.0]
    memory = Memory(clock=lambda: now[0])
    now[0] = 100.0
    memory.give_back()
    kept = fragmented()
    before = resident_bytes()
    assert memory.give_back() == 10.0  # it was done just now
    now[0] = 110.0
    assert memory.give_back() is None
    assert resident_bytes() < before - 30 * MEGABYTE
    now[0] = 200.0
    assert memory.give_back() is None  # nothing was taken since: nothing to wait for
    assert len(kept) == 12


def test_a_worker_tidies_also_while_there_is_always_something_to_do():
    jobs_left = []
    worker = Worker(1, lambda: jobs_left.append(len(worker)), tidy_seconds=-1.0)

    async def run():
        job = worker.submit(iter(range(3)))
        worker.start()
        return [await job.next() for _ in range(3)]

    assert asyncio.run(run()) == [0, 1, 2]
    worker.stop()
    assert jobs_left.count(1) >= 3


def test_an_idle_worker_tidies_when_it_is_time_and_not_after_every_job():
    tidied = []
    worker = Worker(1, lambda: tidied.append(1), tidy_seconds=1e6)

    async def run():
        for _ in range(5):
            job = worker.submit(iter(["sound"]))
            assert await job.next() == "sound"
            with pytest.raises(StopAsyncIteration):
                await job.next()

    worker.start()
    asyncio.run(run())
    worker.stop()
    assert not tidied
