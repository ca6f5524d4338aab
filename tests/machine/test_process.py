"""What this process has used, and what the system keeps of its files in memory."""

import mmap
import os

import numpy as np
import psutil

from myxtts.machine import process
from myxtts.machine.page_cache import drop_pages
from myxtts.machine.process import (
    anonymous_bytes,
    forget_peak,
    free_memory_bytes,
    memory_available_share,
    own_cores,
    peak_resident_bytes,
    resident_bytes,
    usable_cores,
    usage,
)


def test_pages_can_be_dropped(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(bytes(1 << 20))
    with open(path, "rb") as file:
        os.fsync(file.fileno())
    assert 0 <= drop_pages([path]) <= 1
    assert drop_pages([]) == 0


def test_work_is_counted(tmp_path):
    (tmp_path / "file").write_bytes(bytes(1 << 16))
    before = usage()
    np.linalg.norm(np.ones((2000, 2000)))
    (tmp_path / "file").read_bytes()
    cpu_seconds, _, _, read_calls, read_bytes = usage() - before
    assert cpu_seconds >= 0
    assert read_calls >= 1
    assert read_bytes >= 1 << 16


def test_memory_of_ones_own_is_counted_and_that_of_a_file_is_not(tmp_path):
    path = tmp_path / "file.npy"
    np.save(path, np.ones(16 << 20, np.uint8))
    before = anonymous_bytes()
    mapped = np.load(path, mmap_mode="r")
    assert mapped.sum() == 16 << 20
    private = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    with mmap.mmap(-1, 64 << 20, flags=private) as own:  # not malloc's, which may have as much free from earlier tests
        own[:: mmap.PAGESIZE] = bytes([1]) * (len(own) // mmap.PAGESIZE)
        assert 60 << 20 < anonymous_bytes() - before < 80 << 20
    assert 0 < memory_available_share() < 1
    assert usable_cores() == len(own_cores()) == len(os.sched_getaffinity(0))


def test_a_peak_is_seen_after_it_is_over():
    forget_peak()
    before = resident_bytes()
    with mmap.mmap(-1, 64 << 20) as fresh:
        fresh.write(bytes(64 << 20))
    assert resident_bytes() < before + (32 << 20)
    assert before + (60 << 20) < peak_resident_bytes() < before + (200 << 20)
    forget_peak()
    assert peak_resident_bytes() < before + (60 << 20)


def test_free_memory_is_the_machines_or_the_containers(monkeypatch):
    monkeypatch.setattr(process, "cgroup_free_bytes", lambda: None)
    assert 0 < free_memory_bytes() <= psutil.virtual_memory().total
    monkeypatch.setattr(process, "cgroup_free_bytes", lambda: 1000)
    assert free_memory_bytes() == 1000
