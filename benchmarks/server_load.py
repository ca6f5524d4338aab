"""How soon and how much `myxtts serve` speaks to several clients at once, beside the bare synthesizer in turns.

    myxtts export base -o /tmp/base
    python benchmarks/server_load.py base /tmp/base                         TensorFlow and ONNX Runtime
    python benchmarks/server_load.py /tmp/base --clients 16 --seconds 300   the bar of five minutes

For each model it starts a server and, in another process, the bare synthesizer, which speaks before and after every
number of clients: shares are of the mean of both. Then the first sound of a long text, and more clients than the queue
takes.

- first_ms, first_p95_ms: from the request to the first sound, by the clock of the client
- share, share_cpu: sound per second and per CPU-second, of the bare synthesizer's
- grown: resident memory of the server, median of the last fifth of the time over that of the second fifth
"""

from __future__ import annotations

import argparse
import http.client
import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import psutil
from running_server import NAME, Server

SENTENCES = [
    "The morning train was late again.",
    "We walked along the river and talked about the sea.",
    "Nobody had told them that the shop was closed on Mondays.",
    "She laughed.",
]
RATE, HEAD_BYTES = 22_050, 98
QUEUE, BEYOND, LONG_TIMES = 32, 16, 9
_LOADING_SECONDS = 600.0  # TensorFlow on a busy machine
_BARE_SECONDS = 20.0  # at most, before and after each number of clients
MOST_GROWN, LEAST_SHARE, MOST_FIRST_MS, MOST_LONG_MS = 0.05, 0.9, 150, 300  # issue 19


class Client(threading.Thread):
    """Asks for one sentence after the other until its time is over."""

    def __init__(self, port: int, until: float):
        super().__init__()
        self._port, self._until = port, until
        self.first_ms: list[float] = []
        self.sound_seconds, self.refused, self.errors = 0.0, 0, 0

    def run(self) -> None:
        number = 0
        while time.monotonic() < self._until:
            self._ask(SENTENCES[number % len(SENTENCES)])
            number += 1

    def _ask(self, text: str) -> None:
        try:
            status, first_ms, data_bytes, wait = ask(self._port, text)
        except (OSError, http.client.HTTPException):
            self.errors += 1
            return
        if status == 200:
            self.first_ms.append(first_ms)
            self.sound_seconds += (data_bytes - HEAD_BYTES) / 2 / RATE
        elif status == 429:
            self.refused += 1
            time.sleep(wait)
        else:
            self.errors += 1


def ask(port: int, text: str, whole: bool = True, timeout: float = 120.0) -> tuple[int, float, int, float]:
    """Status, milliseconds until the first sound, bytes, and after how many seconds to come again where refused."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    started = time.monotonic()
    try:
        body = {"model": NAME, "input": text, "response_format": "wav"}
        connection.request("POST", "/v1/audio/speech", json.dumps(body))
        answer = connection.getresponse()
        head = answer.read(HEAD_BYTES + 2)
        first_ms = (time.monotonic() - started) * 1e3
        rest = answer.read() if whole else b""
        return answer.status, first_ms, len(head) + len(rest), float(answer.headers.get("Retry-After", 0))
    finally:
        connection.close()


class Memory(threading.Thread):
    """Looks once a second how much a server holds."""

    def __init__(self, server: Server):
        super().__init__()
        self._server, self._over, self.seen = server, threading.Event(), [server.resident_bytes()]

    def run(self) -> None:
        while not self._over.wait(1.0):
            self.seen.append(self._server.resident_bytes())

    def end(self) -> dict[str, float]:
        self._over.set()
        self.join()
        fifth = max(len(self.seen) // 5, 1)
        before, after = statistics.median(self.seen[fifth : 2 * fifth + 1]), statistics.median(self.seen[-fifth:])
        return {"resident_mb": round(after / 1e6), "peak_mb": round(max(self.seen) / 1e6), "grown": after / before - 1}


def measure(server: Server, clients: int, seconds: float) -> dict[str, Any]:
    cpu, started = server.cpu_seconds(), time.monotonic()
    running, memory = [Client(server.port, started + seconds) for _ in range(clients)], Memory(server)
    for each in (memory, *running):
        each.start()
    for each in running:
        each.join()
    wall, spent, first = time.monotonic() - started, server.cpu_seconds() - cpu, []
    for each in running:
        first += each.first_ms
    sound = sum(each.sound_seconds for each in running)
    return {
        "clients": clients, "requests": len(first), "errors": sum(each.errors for each in running),
        "refused": sum(each.refused for each in running), "first_ms": statistics.median(first),
        "first_p95_ms": sorted(first)[int(0.95 * (len(first) - 1))], "sound_per_second": sound / wall,
        "sound_per_cpu_second": sound / spent, **memory.end(),
    }  # fmt: skip


class Bare:
    """The synthesizer alone, in a process of its own that speaks when it is told to."""

    def __init__(self, model: str):
        words = [sys.executable, __file__, model, "--bare"]
        self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._answer()

    def speak(self, seconds: float) -> dict[str, float]:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{seconds}\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> dict[str, float]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit("the bare synthesizer ended: see above")
        values: dict[str, float] = json.loads(line)
        return values

    def __enter__(self) -> Bare:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()


def speak_when_told(model: str) -> None:
    """What the bare process does: a line with seconds comes, a line with what was spoken goes."""
    from myxtts.inference.speakers import find_speaker, load_speaker
    from myxtts.inference.vocoder import find_vocoder

    speaker = load_speaker(find_speaker(model))
    voice, vocoder = speaker.hear(), find_vocoder(speaker.vocoder)

    def speak(text: str) -> float:
        return sum(map(len, speaker.sound(text, voice, vocoder=vocoder))) / RATE

    print(json.dumps({"warm": sum(map(speak, SENTENCES))}), flush=True)
    for line in sys.stdin:
        cpu, started, sound, number = time.process_time(), time.monotonic(), 0.0, 0
        while time.monotonic() < started + float(line):
            sound += speak(SENTENCES[number % len(SENTENCES)])
            number += 1
        spent = {"second": time.monotonic() - started, "cpu_second": time.process_time() - cpu}
        print(json.dumps({f"sound_per_{name}": sound / value for name, value in spent.items()}), flush=True)


def compare(server: Server, bare: Bare, clients: list[int], seconds: float) -> list[dict[str, Any]]:
    """A row for each number of clients, with what it reached of the bare synthesizer before and after it."""
    slice_seconds = min(seconds, _BARE_SECONDS)
    rows, before = [], bare.speak(slice_seconds)
    for number in clients:
        row, after = measure(server, number, seconds), bare.speak(slice_seconds)
        for share, name in (("share", "sound_per_second"), ("share_cpu", "sound_per_cpu_second")):
            row[f"bare_{name}"] = (before[name] + after[name]) / 2
            row[share] = row[name] / row[f"bare_{name}"]
        rows.append(row)
        show(row)
        before = after
    return rows


def long_text(port: int) -> dict[str, Any]:
    """Milliseconds until a text of 4,000 characters is heard; its client then goes away."""
    text = " ".join(SENTENCES * 30)[:4000]
    waits = [ask(port, text, whole=False)[1] for _ in range(LONG_TIMES)]
    return {"long_first_ms": statistics.median(waits), "worst": max(waits)}


def overflow(port: int) -> dict[str, Any]:
    """More at once than the queue takes: each is answered, the surplus by 429 that says when to come again."""
    answers: list[tuple[int, float]] = []

    def one() -> None:
        try:
            status, _, _, wait = ask(port, " ".join(SENTENCES))
            answers.append((status, wait))
        except (OSError, http.client.HTTPException):
            answers.append((0, 0.0))

    threads = [threading.Thread(target=one) for _ in range(QUEUE + BEYOND)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    statuses = Counter(str(status) for status, _ in answers)
    polite = all(wait >= 1 for status, wait in answers if status == 429)
    return {"at_once": QUEUE + BEYOND, "queue": QUEUE, "statuses": dict(statuses), "retry_after": polite}


def run(model: str, clients: list[int], seconds: float) -> list[dict[str, Any]]:
    """All rows of one model."""
    with tempfile.TemporaryDirectory() as folder:
        with Server(model, Path(folder), "--queue", str(QUEUE)) as server, Bare(model) as bare:
            rows = run_with(server, bare, clients, seconds)
            code, log = server.end(), server.log()
        if code or "Traceback" in log:
            raise SystemExit(f"the server ended with {code}: {log[-3000:]}")
    return rows


def run_with(server: Server, bare: Bare, clients: list[int], seconds: float) -> list[dict[str, Any]]:
    show({"first_request_ms": ask(server.port, SENTENCES[0], timeout=_LOADING_SECONDS)[1]})  # the model is loaded
    for text in SENTENCES:
        ask(server.port, text)
    rows = compare(server, bare, clients, seconds)
    for measure_more in (long_text, overflow):
        rows.append(measure_more(server.port))
        show(rows[-1])
    return rows


def judge(rows: list[dict[str, Any]]) -> dict[str, bool]:
    """Which bars are met. Those of time mean something on a quiet machine only."""
    served = [row for row in rows if "clients" in row]
    long, beyond = (next(row for row in rows if name in row) for name in ("long_first_ms", "at_once"))
    return {
        "no error": not any(row["errors"] for row in served),
        f"memory grows by < {MOST_GROWN}": all(row["grown"] < MOST_GROWN for row in served),
        f"share of the bare synthesizer >= {LEAST_SHARE}": all(row["share"] >= LEAST_SHARE for row in served),
        f"first sound <= {MOST_FIRST_MS} ms": min(row["first_ms"] for row in served) <= MOST_FIRST_MS,
        f"of a long text <= {MOST_LONG_MS} ms": long["long_first_ms"] <= MOST_LONG_MS,
        "429 beyond the queue, all answered": set(beyond["statuses"]) == {"200", "429"} and beyond["retry_after"],
    }


def show(row: dict[str, Any]) -> None:
    print(json.dumps({name: round(value, 3) if isinstance(value, float) else value for name, value in row.items()}),
          flush=True)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", metavar="MODEL", nargs="+", help="a run, a checkpoint, base, or an exported model")
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 4, 16])
    parser.add_argument("--seconds", type=float, default=60.0, help="for each number of clients")
    parser.add_argument("--bare", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.bare:
        return speak_when_told(arguments.models[0])
    show({"cores": len(psutil.Process().cpu_affinity()), "load": round(psutil.getloadavg()[0], 1)})
    for model in arguments.models:
        show({"model": model})
        show({"model": model, "bars": judge(run(model, arguments.clients, arguments.seconds))})
    return None


if __name__ == "__main__":
    main()
