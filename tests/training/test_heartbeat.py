"""Workers meet, compare what they have, and end together: two of them in one process, each in its own thread."""

import os
import queue
import socket
import threading
import time
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from myxtts.errors import TrainingError
from myxtts.training import heartbeat
from myxtts.training.cluster import Cluster
from myxtts.training.heartbeat import Heartbeat, open_port
from myxtts.training.launch import free_ports

SAME = {
    "devices": "GPU",
    "version": "1",
    "tensorflow": "2",
    "cache": "c",
    "settings": {"data.batch_size": 8},
    "plan": "p",
}


@pytest.fixture
def last_words(monkeypatch):
    """(rank, line) of each worker that would have ended its process."""
    codes: list[int] = []
    monkeypatch.setattr(os, "_exit", codes.append)
    monkeypatch.setattr(heartbeat, "_EVERY", 0.05)
    said = queue.Queue()
    said.beats = []  # to be left at the end
    yield said
    leave(said.beats)
    assert set(codes) <= {heartbeat.LOST}


def meet(said: queue.Queue, passports: list[dict], deadline: float = 60.0) -> list:
    """Each worker's heartbeat, or what kept it from starting."""
    ports = free_ports(len(passports))
    addresses = tuple(f"127.0.0.1:{port}" for port in ports)
    outcomes: list = [None] * len(passports)

    def begin(rank: int) -> None:
        beat = Heartbeat(Cluster(addresses, rank), deadline, passports[rank], lambda line: said.put((rank, line)))
        try:
            outcomes[rank] = beat.__enter__()
            said.beats.append(beat)
        except TrainingError as error:
            outcomes[rank] = str(error)

    threads = [threading.Thread(target=begin, args=(rank,)) for rank in range(len(passports))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcomes


def wait_until(true: Callable[[], bool]) -> None:
    for _ in range(600):
        if true():
            return
        time.sleep(0.05)
    raise AssertionError("it did not become true in half a minute")


def leave(beats: list, error: Exception | None = None) -> None:
    for beat in beats:
        beat.__exit__(type(error) if error else None, error, None)


def test_workers_that_are_alike_begin_and_leave(last_words):
    beats = meet(last_words, [SAME] * 3)
    leave(beats[1:])
    time.sleep(0.3)
    leave(beats[:1])
    assert last_words.empty()


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"version": "2"}, "MyXTTS 2, not 1"),
        ({"devices": "CPU"}, "trains on CPU, not GPU: run 'myxtts gpu-check' on the machine that finds no GPU"),
        ({"cache": "other"}, "cache other, not c"),
        ({"settings": {"data.batch_size": 9}}, "data.batch_size is 9, not 8"),
        ({"plan": "q"}, "another order"),
    ],
)
def test_one_that_differs_is_named_to_all_and_none_begins(last_words, change, named):
    outcomes = meet(last_words, [SAME, SAME, SAME | change])
    refused = [line for line in outcomes if isinstance(line, str)]
    assert all("worker 2 on" in line and named in line for line in refused)
    assert isinstance(outcomes[0], str)
    assert isinstance(outcomes[2], str)


def test_one_that_is_killed_ends_the_others_with_its_name_and_last_step(last_words):
    beats = meet(last_words, [SAME] * 3)
    beats[2].enter(7, "step")
    time.sleep(0.2)
    beats[2]._over.set()  # as if its process were gone: nothing is said any more, and its connection closes
    beats[2]._lines[0].close()
    lines = dict(last_words.get(timeout=20) for _ in range(2))
    assert lines.keys() == {0, 1}
    assert lines[0] == lines[1]
    assert f"worker 2 on {socket.gethostname()} is lost after step 7: its connection was closed" in lines[0]


def test_one_that_fails_says_why_and_so_does_the_chief(last_words):
    beats = meet(last_words, [SAME] * 2)
    leave(beats[1:], OSError("the disk is full"))
    assert "worker 1" in (line := last_words.get(timeout=20)[1])
    assert "the disk is full" in line
    beats = meet(last_words, [SAME] * 2)
    leave(beats[:1], OSError("the disk is full"))
    rank, line = last_words.get(timeout=20)
    assert rank == 1
    assert "worker 0" in line
    assert "gave up: the disk is full" in line


@pytest.mark.parametrize("silent", [0, 1])
def test_one_that_is_silent_is_lost_after_the_deadline(last_words, silent):
    beats = meet(last_words, [SAME] * 2, deadline=0.5)
    beats[silent]._over.set()  # as if it were stopped: its connection stays
    rank, line = last_words.get(timeout=20)
    assert rank == 1 - silent
    assert f"worker {silent} on" in line
    assert "said nothing for" in line


@pytest.mark.parametrize("phase", ["data", "step"])
def test_one_that_falls_silent_is_named_by_its_silence_whatever_it_did(last_words, phase):
    beats = meet(last_words, [SAME] * 2, deadline=3.0)
    beats[1].enter(3, phase)
    state = beats[0]._peers[1]
    wait_until(lambda: state.phase == phase and state.heard - state.since > 0.3)
    beats[0].enter(3, "step")
    beats[1]._over.set()
    _, line = last_words.get(timeout=20)
    assert "worker 1 on" in line
    assert "said nothing for" in line


def test_the_time_for_which_a_worker_itself_was_stopped_is_nobodys_fault(last_words, monkeypatch):
    """As when a batch system suspends a job: all go on where they were."""
    hours = [0.0]
    clock = SimpleNamespace(monotonic=lambda: time.monotonic() + hours[0], sleep=time.sleep)
    monkeypatch.setattr(heartbeat, "time", clock)
    beats = meet(last_words, [SAME] * 2, deadline=60.0)
    beats[0].enter(3, "data")
    hours[0] = 3600.0
    wait_until(lambda: clock.monotonic() - beats[0].own.since < 60)
    time.sleep(0.3)
    assert last_words.empty()


def test_one_that_is_stuck_is_named_by_what_it_does(last_words):
    beats = meet(last_words, [SAME] * 2, deadline=0.5)
    beats[0].enter(3, "step")
    beats[1].enter(3, "data")
    lines = dict(last_words.get(timeout=20) for _ in range(2))
    assert lines[0] == lines[1]
    assert "worker 1" in lines[0]
    assert "busy with 'data'" in lines[0]


def test_what_may_take_long_is_waited_for(last_words):
    beats = meet(last_words, [SAME] * 2, deadline=0.3)
    beats[0].enter(3, "validating")
    beats[1].enter(3, "step")
    time.sleep(1.0)
    assert last_words.empty()


def test_one_that_never_comes_is_named(last_words, monkeypatch):
    monkeypatch.setattr(heartbeat, "START_SECONDS", 0.3)
    ports = free_ports(2)
    addresses = tuple(f"127.0.0.1:{port}" for port in ports)
    with pytest.raises(TrainingError, match=rf"worker 1 \({addresses[1]}\) did not come"):
        Heartbeat(Cluster(addresses, 0), 5, SAME).__enter__()
    with pytest.raises(TrainingError, match="worker 0 did not answer"):
        Heartbeat(Cluster(addresses, 1), 5, SAME).__enter__()


def test_a_port_that_is_taken_is_named():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        with pytest.raises(TrainingError, match=f"port {other.getsockname()[1]} of .* cannot be opened"):
            open_port("127.0.0.1", other.getsockname()[1], "for a test")
