"""The server around a stand-in that speaks letters: its queue, its key, its limits, and clients that go away."""

import asyncio
import http.client
import json
import socket
import threading
import time
from types import SimpleNamespace

import pytest
import uvicorn
from serving.client import ask

from myxtts.serving.app import Api, make_app
from myxtts.serving.encoding import formats
from myxtts.serving.metrics import Metrics
from myxtts.serving.problems import Problem
from myxtts.serving.worker import Worker

HELLO = {"model": "m", "input": "hello", "response_format": "pcm"}
QUEUE = 3


class StandIn:
    """Speaks a letter at a time. 'wait' waits to be released, 'long' never ends, 'fail' fails, 'break' later."""

    def __init__(self):
        self.release, self.begun, self.closed = threading.Event(), threading.Semaphore(0), threading.Semaphore(0)
        self.served = SimpleNamespace(known={}, loaded=lambda: [])
        self.voices = SimpleNamespace(list=lambda: [])

    def check(self, order):
        if order.model != "m":
            raise Problem(404, "no such model", "model", "model_not_found")

    def encoded(self, order):
        self.begun.release()
        try:
            if order.text == "fail":
                raise ZeroDivisionError
            if order.text == "break":
                yield b"x"
                raise ZeroDivisionError
            if order.text == "wait":
                self.release.wait(60)
            while order.text == "long":
                yield b"x" * 10_000
            for letter in order.text:
                yield letter.encode()
        finally:
            self.closed.release()


@pytest.fixture
def server(request):
    """(port, stand-in); parametrised by the key."""
    standing, metrics = StandIn(), Metrics()
    worker = Worker(QUEUE)
    listening = socket.create_server(("127.0.0.1", 0))
    made = {}

    async def run():
        app = make_app(Api(standing, worker, metrics, 50), metrics, getattr(request, "param", None), 50)
        made["server"] = uvicorn.Server(
            uvicorn.Config(app, log_config=None, lifespan="off", timeout_graceful_shutdown=5)
        )
        await made["server"].serve(sockets=[listening])

    worker.start()
    thread = threading.Thread(target=lambda: asyncio.run(run()))
    thread.start()
    yield listening.getsockname()[1], standing
    standing.release.set()
    made["server"].should_exit = True
    thread.join()
    worker.stop()
    listening.close()


def begin(port: int, text: str, receive_bytes: int | None = None) -> socket.socket:
    """A request that was sent and is not read."""
    connection = socket.socket()
    if receive_bytes:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
    connection.connect(("127.0.0.1", port))
    connection.settimeout(60)
    body = json.dumps(HELLO | {"input": text}).encode()
    head = f"POST /v1/audio/speech HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
    connection.sendall(head.encode() + body)
    return connection


def test_it_speaks(server):
    port, _ = server
    answer = ask(port, "POST", "/v1/audio/speech", HELLO)
    assert (answer.status, answer.body, answer.headers["content-type"]) == (200, b"hello", "audio/pcm")


def test_events_carry_the_sound_and_then_the_end(server):
    answer = ask(server[0], "POST", "/v1/audio/speech", HELLO | {"stream_format": "sse"})
    events = [json.loads(line[6:]) for line in answer.body.decode().split("\n\n") if line]
    assert [event["type"] for event in events] == ["speech.audio.delta"] * 5 + ["speech.audio.done"]
    assert events[0]["audio"] == "aA=="
    assert set(events[-1]["usage"]) == {"input_tokens", "output_tokens", "total_tokens"}


@pytest.mark.parametrize("stream_format", ["audio", "sse"])
@pytest.mark.parametrize("kind", formats())
def test_every_answer_says_that_it_is_synthetic(server, kind, stream_format):
    wish = HELLO | {"response_format": kind, "stream_format": stream_format}
    answer = ask(server[0], "POST", "/v1/audio/speech", wish)
    assert (answer.status, answer.headers["X-Synthetic-Speech"]) == (200, "MyXTTS")
    described = ask(server[0], "GET", "/openapi.json").json["paths"]["/v1/audio/speech"]["post"]["responses"]["200"]
    assert described["headers"]["X-Synthetic-Speech"]["schema"] == {"const": "MyXTTS"}


def test_what_has_no_effect_is_said_in_a_header(server):
    answer = ask(server[0], "POST", "/v1/audio/speech", HELLO | {"instructions": "Speak like a pirate."})
    assert (answer.status, answer.headers["X-MyXTTS-Ignored"]) == (200, "instructions")
    assert "X-MyXTTS-Ignored" not in ask(server[0], "POST", "/v1/audio/speech", HELLO).headers


def test_beyond_the_bound_it_is_429_until_there_is_room(server):
    port, standing = server
    waiting = [begin(port, "wait") for _ in range(QUEUE)]
    standing.begun.acquire(timeout=60)
    while ask(port, "GET", "/health").json["queue"] < QUEUE:
        pass
    refused = ask(port, "POST", "/v1/audio/speech", HELLO)
    assert (refused.status, refused.error["code"]) == (429, "rate_limit_exceeded")
    assert int(refused.headers["retry-after"]) >= 1
    standing.release.set()
    for connection in waiting:
        assert connection.recv(100).startswith(b"HTTP/1.1 200")
        connection.close()
    for _ in waiting:
        assert standing.closed.acquire(timeout=60)
    while ask(port, "GET", "/health").json["queue"]:
        pass
    assert ask(port, "POST", "/v1/audio/speech", HELLO).status == 200


def test_a_client_that_goes_away_stops_its_work(server):
    port, standing = server
    connection = begin(port, "long")
    assert connection.recv(100)
    connection.close()
    assert standing.closed.acquire(timeout=60)


def test_a_client_that_goes_away_while_it_waits_leaves_the_queue(server):
    port, standing = server
    first, second = begin(port, "wait"), begin(port, "long")
    while ask(port, "GET", "/health").json["queue"] < 2:
        pass
    second.close()
    standing.release.set()
    with first:
        assert standing.closed.acquire(timeout=300)  # the first was spoken to its end
        for _ in range(6000):
            if ask(port, "GET", "/health").json["queue"] == 0:
                return
            time.sleep(0.05)
    pytest.fail("who has gone is still in the queue")


def test_a_reader_that_does_not_read_holds_nobody_up(server):
    port, _ = server
    stalled = begin(port, "long", receive_bytes=4096)
    for _ in range(3):
        assert ask(port, "POST", "/v1/audio/speech", HELLO).body == b"hello"
    stalled.close()


def test_a_half_closed_connection_is_no_harm(server):
    port, _ = server
    connection = begin(port, "hello")
    connection.shutdown(socket.SHUT_WR)
    while connection.recv(1000):
        pass
    connection.close()
    half = socket.create_connection(("127.0.0.1", port))
    half.sendall(b"POST /v1/audio/speech HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\n{")
    half.close()
    assert ask(port, "POST", "/v1/audio/speech", HELLO).status == 200


def test_a_failure_is_a_500_and_the_next_request_is_answered(server, caplog):
    answer = ask(server[0], "POST", "/v1/audio/speech", HELLO | {"input": "fail"})
    assert (answer.status, answer.error["type"]) == (500, "server_error")
    assert "ZeroDivisionError" not in answer.body.decode()
    assert "ZeroDivisionError" in caplog.text
    assert ask(server[0], "POST", "/v1/audio/speech", HELLO).status == 200


def test_a_failure_in_the_middle_ends_the_connection_and_nothing_else(server, caplog):
    with pytest.raises(http.client.IncompleteRead):
        ask(server[0], "POST", "/v1/audio/speech", HELLO | {"input": "break"})
    assert caplog.text.count("Traceback") == 1
    assert ask(server[0], "POST", "/v1/audio/speech", HELLO).status == 200


@pytest.mark.parametrize("server", ["secret"], indirect=True)
def test_with_a_key_only_health_is_open(server):
    port, _ = server
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Bearer sécret".encode()}):
        refused = ask(port, "POST", "/v1/audio/speech", HELLO, headers)
        assert (refused.status, refused.error["code"]) == (401, "invalid_api_key")
    assert ask(port, "GET", "/metrics").status == 401
    assert ask(port, "GET", "/health").status == 200
    assert ask(port, "POST", "/v1/audio/speech", HELLO, {"Authorization": "Bearer secret"}).status == 200


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_that_is_too_large_is_refused(server, chunked):
    body = b'{"model": "m", "input": "' + b"x" * 40_000 + b'"}'
    data = iter([body[:20_000], body[20_000:]]) if chunked else body
    answer = ask(server[0], "POST", "/v1/audio/speech", data)
    assert (answer.status, answer.error["code"]) == (413, "request_too_large")


def test_pages_of_other_sites_are_refused(server):
    port, _ = server
    assert ask(port, "POST", "/v1/audio/speech", HELLO, {"Origin": "https://elsewhere.example"}).status == 403
    assert ask(port, "POST", "/v1/audio/speech", HELLO, {"Origin": f"http://127.0.0.1:{port}"}).status == 200


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 404),
        ("GET", "/v1/audio/speech", 405),
        ("GET", "/../../etc/passwd", 404),
        ("DELETE", "/health", 405),
    ],
)
def test_other_addresses_answer_in_the_same_shape(server, method, path, status):
    answer = ask(server[0], method, path)
    assert answer.status == status
    assert set(answer.error) == {"message", "type", "param", "code"}


def test_a_wrong_method_is_told_the_right_ones(server):
    answer = ask(server[0], "PUT", "/v1/audio/voices")
    assert answer.status == 405
    assert set(answer.headers["Allow"].split(", ")) == {"GET", "HEAD", "POST"}


def test_metrics_count_what_was_answered(server):
    port, _ = server
    ask(port, "POST", "/v1/audio/speech", HELLO)
    ask(port, "GET", "/somewhere/else")
    text = ask(port, "GET", "/metrics").body.decode()
    assert 'myxtts_requests_total{route="/v1/audio/speech",status="200"} 1\n' in text
    assert 'myxtts_requests_total{route="other",status="404"} 1\n' in text
    assert 'myxtts_first_audio_seconds_bucket{le="+Inf"} 0\n' in text
    assert all(line[0] == "#" or len(line.split()) == 2 for line in text.splitlines())


def test_the_description_names_every_field_and_route(server):
    answer = ask(server[0], "GET", "/openapi.json").json
    fields = answer["paths"]["/v1/audio/speech"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    from myxtts.serving.order import FIELDS

    assert set(fields["properties"]) == set(FIELDS)
    assert fields["properties"]["input"]["maxLength"] == 50
    assert {"/v1/audio/voices", "/v1/models", "/health", "/metrics"} <= set(answer["paths"])
    spoken = answer["paths"]["/v1/audio/speech"]["post"]["responses"]["200"]["content"]
    assert spoken["audio/wav"]["schema"]["format"] == "binary"
    assert set(spoken["text/event-stream"]["schema"]["properties"]) == {"data"}
