"""What can happen to one of several workers, made for real: nobody waits for ever, and the line names who and why."""

import json
import os
import re
import signal
import socket
import subprocess
import time
from pathlib import Path

import psutil
import pytest
from corpora import feed_config, write_corpus
from worker_runs import command, environment, losses, worker

from myxtts.cache.pack import pack
from myxtts.cache.settings import PackSettings
from myxtts.corpus.read import open_corpus
from myxtts.training.launch import free_ports, tf_config


def launch(cache: Path, run: Path, *settings: str) -> subprocess.Popen:
    words = command(cache, run, 10**6, "launch", "--processes", "2", "--json", "--")
    more = [word for each in settings for word in ("--set", each)]
    return subprocess.Popen([*words, *more], env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True)  # fmt: skip


def wait_for_steps(run: Path, process: subprocess.Popen, more: int) -> None:
    before = len(losses(run)) if (run / "log.jsonl").exists() else 0
    for _ in range(3000):
        if process.poll() is not None or ((run / "log.jsonl").exists() and len(losses(run)) >= before + more):
            return
        time.sleep(0.2)
    raise AssertionError(f"{run} has made no {more} further steps in ten minutes")


@pytest.mark.slow
def test_a_stopped_worker_is_waited_for_and_then_given_up(packed_voice, tmp_path):
    """Stopped for less than the deadline it goes on; for ever, the chief ends with its name. The launcher, which
    would kill what is stopped after a minute, is spared the wait."""
    run = tmp_path / "run"
    process = launch(packed_voice, run, "training.worker_deadline_seconds=40")
    try:
        wait_for_steps(run, process, 20)
        chief, other = worker(process.pid, 0), worker(process.pid, 1)
        os.kill(other, signal.SIGSTOP)
        time.sleep(3)  # of 40: a machine that is busy may be late by half a minute
        os.kill(other, signal.SIGCONT)
        wait_for_steps(run, process, 20)
        assert process.poll() is None
        os.kill(other, signal.SIGSTOP)
        psutil.Process(chief).wait(timeout=300)
        os.kill(process.pid, signal.SIGTERM)  # no other attempt
        os.kill(other, signal.SIGKILL)
        out, said = process.communicate(timeout=600)
    finally:
        process.kill()
    summary = json.loads(out)
    assert summary["attempts"] == [[75, -9]], said[-3000:]
    assert re.match(r"worker 1 on \S+ is lost after step \d+: it has said nothing for \d+ s", message(summary))


@pytest.mark.slow
def test_a_full_disk_of_the_chief_ends_all_and_says_so(packed_voice, mounted):
    run = mounted("size=1m") / "run"
    process = launch(packed_voice, run, "training.validation_steps=5")
    try:
        out, said = process.communicate(timeout=600)
    finally:
        process.kill()
    assert process.returncode == 2, said[-3000:]
    summary = json.loads(out)
    assert summary["attempts"] == [[2, 75]]  # nothing that another attempt would mend
    assert re.search(r"(No space left on device|the disk is full).*: .*make room, then start", message(summary))


def message(summary: dict) -> str:
    """What the chief said."""
    return summary["result"]["error"]["message"]


@pytest.mark.slow
def test_a_worker_with_another_cache_is_refused_by_all(packed_voice, tmp_path):
    other = tmp_path / "other.cache"
    pack(open_corpus(write_corpus(tmp_path / "other", 20)), other, PackSettings.from_config(feed_config().data))
    addresses = [f"127.0.0.1:{port}" for port in free_ports(2)]
    workers = [
        start_alone(cache, tmp_path / "run", addresses, rank) for rank, cache in enumerate((packed_voice, other))
    ]
    try:
        said = [each.communicate(timeout=600)[1] for each in workers]
    finally:
        for each in workers:
            each.kill()
    assert [each.returncode for each in workers] == [2, 2], said
    for line in said:
        assert re.search(
            r"error: worker 1 on \S+ differs from worker 0 on \S+: cache \w+, not \w+: copy one cache", line
        )


@pytest.mark.slow
def test_a_port_that_is_taken_is_named(packed_voice, tmp_path):
    addresses = [f"127.0.0.1:{port}" for port in free_ports(2)]
    port = int(addresses[0].rpartition(":")[2]) + 1  # where the chief hears the others
    with socket.create_server(("127.0.0.1", port)):
        chief = start_alone(packed_voice, tmp_path / "run", addresses, 0)
        _, said = chief.communicate(timeout=600)
    assert chief.returncode == 2, said
    assert f"port {port} of {socket.gethostname()} cannot be opened (Address already in use)" in said


def start_alone(cache: Path, run: Path, addresses: list[str], rank: int) -> subprocess.Popen:
    """A worker as any launcher would start it."""
    own = environment() | {"TF_CONFIG": tf_config(addresses, rank)}
    return subprocess.Popen(command(cache, run, 10), env=own, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
