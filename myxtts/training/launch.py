"""Starts the workers of a run on this machine, watches them, and starts them again from the last checkpoint.

Workers end by themselves when one of them is lost (heartbeat.py); what is left to do here is to notice, to end those
that do not, and to begin again a bounded number of times. A launcher that is killed takes its workers along: each holds
a pipe to it, and stops as by SIGTERM when that closes.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import IO, Any

from myxtts.errors import ConfigError
from myxtts.machine.description import describe_machine
from myxtts.training.cluster import split_address
from myxtts.training.heartbeat import LOST
from myxtts.training.signals import StopSignals

_LAUNCHED = "MYXTTS_LAUNCHED"
_GRACE_SECONDS = 60.0  # for the others to end by themselves: their deadline is 45 s, and a stopped one never does
_FIRST_PORT, _LAST_PORT = 20_000, 32_000  # below those that the system gives to outgoing connections
_ENDS = (0, 2, 130)  # done, cannot be done, interrupted: another attempt would end the same way

Tell = Callable[[str], None]


@dataclass
class Attempt:
    """One life of all workers, by rank: their exit codes, and the JSON that they printed last, if any."""

    codes: list[int]
    printed: list[dict[str, Any]]

    @property
    def why(self) -> str:
        """What the first one said that could not go on; empty if all were killed."""
        errors = (printed["error"] for printed in self.printed if isinstance(printed.get("error"), dict))
        return next((str(error.get("message", "")).rstrip(".") for error in errors), "")


@dataclass
class Launched:
    attempts: list[Attempt] = field(default_factory=list)

    @property
    def code(self) -> int:
        """Of the worker that matters most: an error before an interruption before a good end."""
        codes = self.attempts[-1].codes
        return next((code for code in (2, *codes) if code in codes and code not in (0, 130)), max(codes))


def launch(command: Sequence[str], processes: int, restarts: int, tell: Tell, pass_on: Tell) -> Launched:
    """Run `command` in so many processes that train together. `pass_on` gets what they write, line by line."""
    launched = Launched()
    with StopSignals() as stop:
        while True:
            attempt = _attempt(command, processes, stop, pass_on)
            launched.attempts.append(attempt)
            failed = [(rank, code) for rank, code in enumerate(attempt.codes) if code]
            again = failed and not stop.name and all(code not in _ENDS for _, code in failed)
            if not again or len(launched.attempts) > restarts:
                return launched
            ends = ", ".join(f"worker {rank} ended by {_named(code)}" for rank, code in failed)
            message = f"{attempt.why}; {ends}" if attempt.why else ends
            tell(f"{message}; starting again, {len(launched.attempts)} of {restarts}")


def _attempt(command: Sequence[str], processes: int, stop: StopSignals, pass_on: Tell) -> Attempt:
    addresses = [f"127.0.0.1:{port}" for port in free_ports(processes)]
    with ExitStack() as stack:
        workers = [stack.enter_context(_Worker(command, rank, addresses, pass_on)) for rank in range(processes)]
        signalled, ending = False, None
        while any(worker.process.poll() is None for worker in workers):
            time.sleep(0.1)
            if stop.name and not signalled:
                signalled = True
                workers[0].process.send_signal(signal.SIGTERM)  # it tells the others, so that all stop after one step
            if ending is None and any(worker.process.poll() for worker in workers):
                ending = time.monotonic() + _GRACE_SECONDS
            if ending is not None and time.monotonic() > ending:
                for worker in workers:
                    worker.process.kill()
        return Attempt([worker.process.wait() for worker in workers], [worker.printed() for worker in workers])


class _Worker:
    """A process and the threads that pass on what it writes. Leaving the context ends it."""

    def __init__(self, command: Sequence[str], rank: int, addresses: Sequence[str], pass_on: Tell):
        environment = {**os.environ, **_own_devices(rank, len(addresses)), _LAUNCHED: "1",
                       "TF_CONFIG": tf_config(addresses, rank)}  # fmt: skip
        self.process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self._lines: list[str] = []
        read = [
            (self.process.stderr, lambda line: pass_on(f"[{rank}] {line}")),
            (self.process.stdout, self._lines.append),
        ]
        self._threads = [threading.Thread(target=_pass_on, args=each, daemon=True) for each in read]
        for thread in self._threads:
            thread.start()

    def printed(self) -> dict[str, Any]:
        for thread in self._threads:
            thread.join(5.0)
        try:
            body = json.loads("\n".join(self._lines))
        except ValueError:
            return {}
        return body if isinstance(body, dict) else {}

    def __enter__(self) -> _Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        for thread in self._threads:
            thread.join(5.0)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()


def _pass_on(stream: IO[bytes], take: Tell) -> None:
    for line in stream:
        take(line.decode(errors="replace").rstrip("\n"))


def tf_config(addresses: Sequence[str], rank: int) -> str:
    return json.dumps({"cluster": {"worker": list(addresses)}, "task": {"type": "worker", "index": rank}})


def _own_devices(rank: int, processes: int) -> dict[str, str]:
    """Each worker's share of this machine's GPUs, unless somebody has chosen them already."""
    gpus = len(describe_machine()["gpus"])
    if "CUDA_VISIBLE_DEVICES" in os.environ or gpus < processes:
        return {}
    share = gpus // processes
    return {"CUDA_VISIBLE_DEVICES": ",".join(str(n) for n in range(rank * share, (rank + 1) * share))}


def free_ports(count: int) -> list[int]:
    """One for each worker, of which the next is free too: the chief hears the others there."""
    ports: list[int] = []
    start = _FIRST_PORT + os.getpid() * 64 % (_LAST_PORT - _FIRST_PORT)
    for port in (*range(start, _LAST_PORT, 2), *range(_FIRST_PORT, start, 2)):
        if len(ports) == count:
            return ports
        if _is_free(port) and _is_free(port + 1):
            ports.append(port)
    raise ConfigError(f"no {count} pairs of ports between {_FIRST_PORT} and {_LAST_PORT} are free on this machine")


def _is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except OSError:
            return False
    return True


def lines_for(hosts: Iterable[str], processes: int, words: str) -> list[tuple[str, str]]:
    """(host, what to type there) for each worker, `processes` of them on a host; a host may name its first port."""
    places = [(name, n) for name in hosts for n in range(processes)]
    addresses = []
    for name, n in places:
        host, port = split_address(name) if ":" in name else (name, _FIRST_PORT)
        addresses.append(f"{host}:{port + 2 * n}")
    return [
        (split_address(address)[0], f"TF_CONFIG='{tf_config(addresses, rank)}' {words}")
        for rank, address in enumerate(addresses)
    ]


def read_hosts(text: str) -> list[str]:
    """One on a line; what follows a # is a remark."""
    hosts = [line.partition("#")[0].strip() for line in text.splitlines()]
    return [host for host in hosts if host]


def end_with_launcher() -> None:
    """For a worker that was launched here: stop as by SIGTERM when the launcher is gone."""
    if not os.environ.get(_LAUNCHED):
        return

    def wait() -> None:
        while os.read(0, 1024):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, name="myxtts-launcher", daemon=True).start()


def _named(code: int) -> str:
    if code < 0:
        return signal.Signals(-code).name
    return "the loss of another one" if code == LOST else f"exit code {code}"


def own_command(words: Sequence[str]) -> list[str]:
    """This program again, with other words."""
    script = sys.argv[0]
    begin: list[Any] = ["-m", "myxtts"] if not script.endswith(".py") or script.endswith("__main__.py") else [script]
    return [sys.executable, *begin, *words]
