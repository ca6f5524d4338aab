"""Verbs in processes of their own: their end is known to whoever asks, also to a studio that did not start them."""

import json
import time

import psutil
import pytest

from myxtts.studio import jobs
from myxtts.studio.jobs import Job


def wait_for(job, state):
    for _ in range(1200):
        status = Job(job.folder).status()
        if status["state"] != "running":
            break
        time.sleep(0.1)
    assert status["state"] == state, status
    return status


@pytest.fixture
def another_studio(monkeypatch):
    """Nothing is remembered but what is in the folder."""
    return lambda: monkeypatch.setattr(jobs, "_children", {})


def test_what_is_done_says_its_result(tmp_path):
    job = Job(tmp_path / "job")
    assert job.status() is None
    job.start("check", ["config"], steps=3)
    status = wait_for(job, "done")
    assert (status["kind"], status["steps"]) == ("check", 3)
    assert "data" in status["result"]
    assert not job.is_running()
    assert "pid" not in status


def test_what_fails_says_why(tmp_path):
    job = Job(tmp_path / "job")
    job.start("pack", ["info", str(tmp_path / "nowhere")])
    assert "nowhere" in wait_for(job, "failed")["message"]


def test_a_studio_that_was_started_again_sees_and_stops_it(tmp_path, another_studio):
    job = Job(tmp_path / "job")
    job.start("check", ["monitor", "--duration", "600", "--log-file", str(tmp_path / "machine.csv")])
    child = jobs._children[job.about["pid"]]
    another_studio()
    assert Job(job.folder).status()["state"] == "running"
    Job(job.folder).stop()
    child.wait(timeout=120)
    wait_for(job, "stopped")


def test_a_number_that_another_process_has_now_is_not_the_job(tmp_path):
    job = Job(tmp_path / "job")
    job.start("check", ["config"])
    wait_for(job, "done")
    about = job.about | {"pid": 1, "born": 0.0}
    (job.folder / "job.json").write_text(json.dumps(about), encoding="utf-8")
    assert not job.is_running()


def test_progress_is_read_from_the_bar(tmp_path):
    me = psutil.Process()
    about = {"kind": "pack", "pid": me.pid, "born": me.create_time(), "started": 0}
    (tmp_path / "job.json").write_text(json.dumps(about), encoding="utf-8")
    said = "INFO: x\n\rpacking:  10%|# | 4/40 [..]\rpacking:  50%|##### | 20/40 [00:02]"
    (tmp_path / "err.txt").write_text(said, encoding="utf-8")
    assert Job(tmp_path).status()["progress"] == {"verb": "packing", "done": 20, "total": 40}
    (tmp_path / "job.json").write_text(json.dumps(about | {"born": 0}), encoding="utf-8")
    assert Job(tmp_path).status() == {"kind": "pack", "started": 0, "state": "failed", "message": "INFO: x"}
