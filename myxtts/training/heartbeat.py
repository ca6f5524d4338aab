"""Workers watch each other, so that none waits for one that will not come: each says every second where it is.

They meet at the chief's second port before anything is trained, and only workers with the same data, settings and
version begin. From then on the chief knows of every worker its step and what it does. One that closes its connection,
is silent or stuck for too long ends the run for all: with one line that names it, its last step and why. The process
ends at once (`LOST`), because its main thread may hang in an exchange that nobody will complete. What is on disk is
whole.

    {"hello": {...}}  ->  {"go": 1} or {"refused": "..."}       then each second {"at": [step, phase, seconds]}
    {"bye": ""} is a good end, {"bye": "why"} a bad one, {"lost": "..."} the chief's verdict for all
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from myxtts.errors import TrainingError, WorkerLost
from myxtts.training.cluster import Cluster
from myxtts.training.passport import difference

log = logging.getLogger(__name__)

LOST = 75  # exit code: another worker is gone, the same command resumes (EX_TEMPFAIL of sysexits.h)
START_SECONDS = 300.0  # until the last worker is there: batch systems start them minutes apart
_EVERY = 1.0
_SILENCE = 5  # beats that are missing
_TELL_SECONDS = 10.0  # for workers that come late to hear why nothing begins
_PATIENCE = 1800.0  # for what may well take long: compiling, validating, saving
_QUICK = ("step", "data")  # phases in which a deadline counts
_SLOW_STEPS = 10  # a step may take this many times the usual one
_MOST_BYTES = 1 << 20


@dataclass
class State:
    """Where a worker is, as it said last."""

    rank: int
    host: str
    step: int = 0
    phase: str = "start"
    since: float = field(default_factory=time.monotonic)
    heard: float = field(default_factory=time.monotonic)
    left: str | None = None  # "" after a good end
    longest: float = 0.0  # of its steps so far, in seconds
    slept: str = ""  # that it was silent for some seconds, in this phase

    def enter(self, step: int, phase: str) -> None:
        now = time.monotonic()
        if self.phase == "step" and self.step:  # the first one may have to get ready
            self.longest = max(self.longest, min(now - self.since, _PATIENCE))
        self.step, self.phase, self.since, self.slept = step, phase, now, ""

    def hear(self) -> None:
        now = time.monotonic()
        if now - self.heard > _SILENCE * _EVERY:
            self.slept = f"it had said nothing for {now - self.heard:.0f} s before"
        self.heard = now

    def __str__(self) -> str:
        return f"worker {self.rank} on {self.host}"


class Heartbeat:
    """`with Heartbeat(cluster, 45, passport) as beat: ... beat.enter(step, "data")`. The first of these meets."""

    def __init__(
        self,
        cluster: Cluster,
        deadline_seconds: float,
        passport: Mapping[str, Any],
        last_words: Callable[[str], None] = log.error,
    ):
        """`last_words` is called with the line before the process ends."""
        self.cluster, self.deadline, self._passport = cluster, deadline_seconds, dict(passport)
        self._last_words = last_words
        self.own = State(cluster.rank, socket.gethostname())
        self._peers: dict[int, State] = {}
        self._lines: dict[int, Line] = {}
        self._over = threading.Event()

    def enter(self, step: int, phase: str) -> None:
        """Where the main thread is from now on."""
        self.own.enter(step, phase)

    def __enter__(self) -> Heartbeat:
        self._meet_workers() if self.cluster.chief else self._meet_chief()
        for rank, line in self._lines.items():
            threading.Thread(target=self._listen, args=(rank, line), name=f"myxtts-hear-{rank}", daemon=True).start()
        threading.Thread(target=self._beat, name="myxtts-heartbeat", daemon=True).start()
        return self

    def __exit__(self, kind: Any, error: BaseException | None, _: Any) -> None:
        self._over.set()
        why = "" if kind is None else str(error) or kind.__name__
        said = {"lost": self._verdict(self.own, f"gave up: {why}")} if why and self.cluster.chief else {"bye": why}
        for line in self._lines.values():
            line.send(said)
            line.close()

    # ---- meeting ----

    def _meet_workers(self) -> None:
        host, port = self.cluster.meeting_point
        server = open_port(host, port, f"where worker 0 hears the others, the one after {self.cluster.addresses[0]}")
        with contextlib.closing(server):
            ends = time.monotonic() + START_SECONDS
            while len(self._lines) < self.cluster.size - 1:
                self._admit(server, ends)
        for line in self._lines.values():
            line.send({"go": 1, "host": self.own.host})

    def _admit(self, server: socket.socket, ends: float) -> None:
        server.settimeout(max(ends - time.monotonic(), 0.01))
        try:
            line = Line(server.accept()[0])
        except TimeoutError:
            absent = [f"{n} ({self.cluster.addresses[n]})" for n in range(1, self.cluster.size) if n not in self._lines]
            why = f"worker {', '.join(absent)} did not come within {START_SECONDS:.0f} s: is it started?"
            self._refuse(why, server, 0)
        hello = (line.receive(10.0) or {}).get("hello")
        if not isinstance(hello, dict) or not isinstance(rank := hello.get("rank"), int):
            line.close()  # a stranger
            return
        state = State(rank, str(hello.get("host")))
        other = difference(self._passport, hello.get("passport") or {})
        known = rank in self._lines or not 0 < rank < self.cluster.size
        self._lines[-1 if known else rank] = line
        if known:
            self._refuse(
                f"{state} came, and there is another one, or only {self.cluster.size} are expected: give each process "
                "its own index in TF_CONFIG", server,
            )  # fmt: skip
        if other:
            self._refuse(f"{state} differs from {self.own}: {other}", server)
        self._peers[rank] = state

    def _refuse(self, why: str, server: socket.socket, wait: float = _TELL_SECONDS) -> None:
        """Tell all, those too that come in the next seconds, and end."""
        ends = time.monotonic() + wait
        while len(self._lines) < self.cluster.size - 1 and (left := ends - time.monotonic()) > 0:
            server.settimeout(left)
            with contextlib.suppress(TimeoutError):
                self._lines[-2 - len(self._lines)] = Line(server.accept()[0])
        for line in self._lines.values():
            line.send({"refused": why})
            line.close()
        raise TrainingError(why)

    def _meet_chief(self) -> None:
        host, port = self.cluster.meeting_point
        line = Line(self._connect(host, port))
        hello = {"rank": self.own.rank, "host": self.own.host, "passport": self._passport}
        line.send({"hello": hello})
        answer = line.receive(START_SECONDS)
        if answer is None or "refused" in answer:
            line.close()
            raise TrainingError(str(answer["refused"]) if answer else f"worker 0 ({host}:{port}) left before the start")
        self._peers[0] = State(0, str(answer.get("host", host)))
        self._lines[0] = line

    def _connect(self, host: str, port: int) -> socket.socket:
        ends = time.monotonic() + START_SECONDS
        while True:
            try:
                return socket.create_connection((host, port), timeout=5.0)
            except OSError as error:
                if time.monotonic() > ends:
                    raise TrainingError(
                        f"worker 0 did not answer at {host}:{port} within {START_SECONDS:.0f} s ({error}): is it "
                        "started, and does a firewall let this port through?"
                    ) from None
                time.sleep(0.2)

    # ---- beating ----

    def _listen(self, rank: int, line: Line) -> None:
        state = self._peers[rank]
        for said in line:
            state.hear()
            if "at" in said:
                step, phase, seconds = said["at"]
                if (step, phase) != (state.step, state.phase):
                    state.enter(step, phase)
                state.since = state.heard - seconds
            if "bye" in said:
                state.left = said["bye"]
            if "lost" in said:
                self._lost(said["lost"])
        if state.left is None:
            state.left = "its connection was closed: it was killed, or its machine or network is gone"

    def _beat(self) -> None:
        before = time.monotonic()
        while not self._over.wait(_EVERY):
            now = time.monotonic()
            if (asleep := now - before) > _SILENCE * _EVERY:  # this process itself was stopped: that proves nothing
                for state in (self.own, *self._peers.values()):
                    state.heard, state.since = now, min(now, state.since + asleep)
            before = now
            for line in self._lines.values():
                line.send({"at": [self.own.step, self.own.phase, now - self.own.since]})
            self._judge(now)

    def _judge(self, now: float) -> None:
        for state in self._peers.values():
            if state.left:
                self._lost(self._verdict(state, state.left))
            elif state.left is None and now - state.heard > self.deadline:
                self._lost(self._verdict(state, f"it has said nothing for {now - state.heard:.0f} s: it is stopped, or "
                                                "its machine or network is gone"))  # fmt: skip
        if self.cluster.chief and (stuck := self._stuck(now)):
            self._lost(stuck)

    def _stuck(self, now: float) -> str | None:
        """The worker that the others wait for, if they have for too long. While one is silent, where it was last says
        nothing: its silence is judged."""
        if any(state.left is None and now - state.heard > _SILENCE * _EVERY for state in self._peers.values()):
            return None
        everybody = [self.own, *(state for state in self._peers.values() if state.left is None)]
        slow = [state for state in everybody if state.phase != "step"]
        late = min(slow, key=lambda state: state.since) if slow else max(everybody, key=lambda state: state.since)
        limit = max(self.deadline, _SLOW_STEPS * late.longest) if late.phase in _QUICK else _PATIENCE
        if now - late.since < limit:
            return None
        if slow:
            return self._verdict(late, f"it has been busy with '{late.phase}' for {now - late.since:.0f} s")
        late = next((state for state in everybody if state.slept), late)
        reason = late.slept or "it began this step last"
        return self._verdict(late, f"{reason}, and nobody has finished this step for {now - late.since:.0f} s")

    def _verdict(self, state: State, why: str) -> str:
        step = max(state.step, self.own.step)  # what this one has finished, all have
        return f"{state} is lost after step {step}: {why}. The same command resumes from the last checkpoint"

    def _lost(self, message: str) -> None:
        if self._over.is_set():
            return
        self._over.set()
        if self.cluster.chief:
            for line in self._lines.values():
                line.send({"lost": message})
        self._last_words(message)
        os._exit(LOST)

    def explain(self, error: BaseException) -> None:
        """For a main thread whose exchange has failed: wait for the verdict, which ends the process."""
        time.sleep(self.deadline + 15)
        raise WorkerLost(f"an exchange with the other workers failed, and none of them is missing: {error}") from error


class Line:
    """JSON lines over a connection."""

    def __init__(self, connection: socket.socket):
        self._connection, self._sending = connection, threading.Lock()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.settimeout(5.0)  # for sending; a stopped reader's buffer takes hours of beats
        self._rest = b""

    def send(self, body: Mapping[str, Any]) -> None:
        """What cannot be sent is not missed: whoever should hear it is gone, which the reader notices."""
        with self._sending, contextlib.suppress(OSError):
            self._connection.sendall(json.dumps(body).encode() + b"\n")

    def receive(self, seconds: float) -> dict[str, Any] | None:
        """The next line; None if the connection ends or none comes in time."""
        ends = time.monotonic() + seconds
        while b"\n" not in self._rest and len(self._rest) < _MOST_BYTES:
            try:
                more = self._connection.recv(65536)
            except TimeoutError:
                if time.monotonic() < ends:
                    continue
                return None
            except OSError:
                return None
            if not more:
                return None
            self._rest += more
        text, _, self._rest = self._rest.partition(b"\n")
        try:
            body = json.loads(text)
        except ValueError:
            return None
        return body if isinstance(body, dict) else None

    def __iter__(self) -> Iterator[dict[str, Any]]:
        while (body := self.receive(float("inf"))) is not None:
            yield body

    def close(self) -> None:
        with contextlib.suppress(OSError):  # the other side may be gone
            self._connection.shutdown(socket.SHUT_WR)
        self._connection.close()


def open_port(host: str, port: int, what: str) -> socket.socket:
    """A server at a port of this machine, for others to reach unless its name is loopback; an error that names the
    port where it is taken."""
    server = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        server.bind((host if host == "localhost" or host.startswith("127.") else "", port))
        server.listen(256)
    except OSError as error:
        server.close()
        raise TrainingError(
            f"port {port} of {socket.gethostname()} cannot be opened ({error.strerror}), {what}: end the program that "
            "has it, or choose other ports"
        ) from None
    return server
