"""The review page: answers this machine only, keeps every decision, writes the corpus when it ends."""

import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import sys

import pytest
from recordings import lines, run


class Page:
    def __init__(self, running, port):
        self.running, self.port = running, port

    def ask(self, method, path, body=None, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        return answer.status, json.loads(data) if answer.headers["content-type"] == "application/json" else data

    def decide(self, **decision):
        return self.ask("POST", "/decisions", decision)

    def end(self):
        self.running.send_signal(signal.SIGINT)
        said, _ = self.running.communicate(timeout=60)
        return json.loads(said)


@pytest.fixture(scope="module")
def corpus(speech, tmp_path_factory):
    folder = tmp_path_factory.mktemp("review")
    speech.write(folder / "talk.wav", range(3))
    run("prepare", folder / "talk.wav", "-o", folder / "corpus", "--asr", "none", code=1)
    return folder / "corpus"


def _take_ctrl_c():
    """A shell that runs the tests in the background may have them ignore it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture
def page(corpus, tmp_path):
    """A copy of it under review; the recording stays where it is."""
    shutil.copytree(corpus, tmp_path / "corpus")
    command = [
        sys.executable,
        "-m",
        "myxtts",
        "prepare",
        "-o",
        str(tmp_path / "corpus"),
        "--review",
        "--port",
        "0",
        "--json",
    ]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
                               preexec_fn=_take_ctrl_c)  # fmt: skip
    port = re.search(r"127\.0\.0\.1:(\d+)/", running.stderr.readline())[1]
    yield Page(running, int(port))
    if running.poll() is None:
        running.kill()
        running.communicate()


def test_rows_are_heard_corrected_joined_split_and_rejected(page, tmp_path):
    status, body = page.ask("GET", "/rows")
    first, second, third = (row["id"] for row in body["rows"])
    assert status == 200
    assert {row["reason"] for row in body["rows"]} == {"untranscribed"}
    status, sound = page.ask("GET", f"/audio/{first}")
    assert (status, sound[:4]) == (200, b"RIFF")
    assert page.decide(do="text", id=first, text="The twins argued.")[0] == 200
    joined = page.decide(do="join", id=second)[1]["rows"][1]
    length = joined["end"] - joined["start"]
    assert len(page.ask("GET", f"/audio/{joined['id']}")[1]) == pytest.approx(44 + 2 * 24000 * length, abs=100)
    rows = page.decide(do="split", id=joined["id"], at=2.0, texts=["Mister", "Hudson tried."])[1]["rows"]
    assert [row["text"] for row in rows] == ["The twins argued.", "Mister", "Hudson tried."]
    page.decide(do="reject", id=rows[1]["id"])
    summary = page.end()
    assert (summary["rows"], summary["unaccounted_seconds"], summary["stale_decisions"]) == (2, 0, 0)
    kept = lines(tmp_path / "corpus" / "manifest.jsonl")
    assert [row["text"] for row in kept] == ["The twins argued.", "Hudson tried."]
    assert all((tmp_path / "corpus" / row["audio"]).is_file() for row in kept)
    assert len(list((tmp_path / "corpus" / "wavs").iterdir())) == 3
    assert [row["reason"] for row in lines(tmp_path / "corpus" / "aside.jsonl")] == ["rejected"]
    assert third


def test_what_cannot_be_is_said_and_strangers_are_not_answered(page):
    first = page.ask("GET", "/rows")[1]["rows"][0]["id"]
    status, body = page.decide(do="accept", id=first)  # it has no text
    assert (status, "has no text" in body["error"]) == (400, True)
    assert page.decide(do="fly")[0] == 400
    assert page.ask("POST", "/decisions", "x" * 70000)[0] == 413
    assert page.ask("GET", "/audio/..%2f..%2fjournal.jsonl")[0] == 404
    assert page.ask("GET", "/rows", Host="evil.example:80")[0] == 403
    assert page.ask("POST", "/decisions", {"do": "undo"}, Origin="http://evil.example")[0] == 403
    status, html = page.ask("GET", "/")
    assert (status, b"review.js" in html) == (200, True)


def test_decisions_outlive_a_kill(page, tmp_path):
    first = page.ask("GET", "/rows")[1]["rows"][0]["id"]
    page.decide(do="text", id=first, text="The twins argued.")
    page.running.kill()
    page.running.communicate()
    from myxtts.prepare.result import compose
    from myxtts.prepare.state import State

    with State(tmp_path / "corpus") as state:
        assert [row.text for row in compose(state, 0.7).rows if not row.reason] == ["The twins argued."]


def test_nothing_to_review_is_said(tmp_path):
    assert "nothing to review" in run("prepare", "-o", tmp_path / "x", "--review", code=2)["error"]["message"]
    assert "name recordings" in run("prepare", "-o", tmp_path / "x", code=2)["error"]["message"]
