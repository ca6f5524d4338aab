"""How soon and how much a running `myxtts serve` speaks to several clients at once.

    myxtts serve runs/anna --port 8020 &
    python benchmarks/server_load.py http://127.0.0.1:8020 anna --clients 1 4 16 --seconds 60 --bare runs/anna

For each number of clients: first sound (median, p95), errors, seconds of sound per second and per CPU-second of the
server (--pid), and by how much its memory grew after the first fifth of the time. `--bare` does the same work with the
synthesizer alone, afterwards and in this process, and prints what share of its sound per CPU-second the server reached.
"""

from __future__ import annotations

import argparse
import http.client
import json
import statistics
import threading
import time
from urllib.parse import urlsplit

import psutil

SENTENCES = [
    "The morning train was late again.",
    "We walked along the river and talked about the sea.",
    "Nobody had told them that the shop was closed on Mondays.",
    "She laughed.",
]
RATE, HEAD_BYTES = 22_050, 98


class Client(threading.Thread):
    def __init__(self, url: str, model: str, until: float):
        super().__init__()
        self._address, self._model, self._until = urlsplit(url).netloc, model, until
        self.first_ms: list[float] = []
        self.sound_seconds, self.refused, self.errors = 0.0, 0, 0

    def run(self) -> None:
        number = 0
        while time.monotonic() < self._until:
            self._ask(SENTENCES[number % len(SENTENCES)])
            number += 1

    def _ask(self, text: str) -> None:
        connection = http.client.HTTPConnection(self._address, timeout=120)
        started = time.monotonic()
        body = {"model": self._model, "input": text, "response_format": "wav"}
        try:
            connection.request("POST", "/v1/audio/speech", json.dumps(body))
            answer = connection.getresponse()
            data = answer.read(HEAD_BYTES + 2)
            self.first_ms.append((time.monotonic() - started) * 1e3)
            data += answer.read()
        except (OSError, http.client.HTTPException):
            self.errors += 1
            return
        finally:
            connection.close()
        if answer.status == 200:
            self.sound_seconds += (len(data) - HEAD_BYTES) / 2 / RATE
        elif answer.status == 429:
            self.refused += 1
            time.sleep(float(answer.headers["Retry-After"]))
        else:
            self.errors += 1


def measure(url: str, model: str, clients: int, seconds: float, server: psutil.Process | None) -> dict:
    cpu, started = _cpu(server), time.monotonic()
    running = [Client(url, model, started + seconds) for _ in range(clients)]
    for each in running:
        each.start()
    time.sleep(seconds / 5)
    warm_bytes = server.memory_info().rss if server else 0
    for each in running:
        each.join()
    first = sorted(ms for each in running for ms in each.first_ms)
    sound, wall = sum(each.sound_seconds for each in running), time.monotonic() - started
    return {
        "clients": clients, "requests": len(first), "errors": sum(each.errors for each in running),
        "refused": sum(each.refused for each in running), "first_ms": round(statistics.median(first)),
        "first_p95_ms": round(first[int(0.95 * (len(first) - 1))]), "sound_per_second": round(sound / wall, 2),
        "sound_per_cpu_second": round(sound / (_cpu(server) - cpu), 2) if server else None,
        "resident_mb": round(server.memory_info().rss / 1e6) if server else None,
        "grown": round(server.memory_info().rss / warm_bytes - 1, 4) if server else None,
    }  # fmt: skip


def bare(run: str, seconds: float) -> dict:
    from myxtts.inference.speakers import find_speaker, load_speaker
    from myxtts.inference.vocoder import find_vocoder

    me, before = psutil.Process(), psutil.Process().memory_info().rss
    speaker = load_speaker(find_speaker(run))
    voice, vocoder = speaker.hear(), find_vocoder(speaker.vocoder)
    for text in SENTENCES:
        speaker.say(text, voice, vocoder=vocoder)
    loaded_mb = (me.memory_info().rss - before) / 1e6
    cpu, started, sound, number = _cpu(me), time.monotonic(), 0.0, 0
    while time.monotonic() < started + seconds:
        text = SENTENCES[number % len(SENTENCES)]
        sound += sum(map(len, speaker.sound(text, voice, vocoder=vocoder))) / RATE
        number += 1
    wall = time.monotonic() - started
    return {
        "bare": run, "requests": number, "sound_per_second": round(sound / wall, 2),
        "sound_per_cpu_second": round(sound / (_cpu(me) - cpu), 2), "loaded_mb": round(loaded_mb),
    }  # fmt: skip


def _cpu(process: psutil.Process | None) -> float:
    return sum(process.cpu_times()[:2]) if process else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url")
    parser.add_argument("model")
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 4, 16])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--pid", type=int, help="of the server, to count its CPU time")
    parser.add_argument("--bare", metavar="RUN")
    arguments = parser.parse_args()
    server = psutil.Process(arguments.pid) if arguments.pid else None
    measure(arguments.url, arguments.model, 1, 1.0, None)  # loads the model
    served = []
    for clients in arguments.clients:
        served.append(measure(arguments.url, arguments.model, clients, arguments.seconds, server))
        print(json.dumps(served[-1]), flush=True)
    if arguments.bare:
        alone = bare(arguments.bare, arguments.seconds)
        if server:
            each = {row["clients"]: row["sound_per_cpu_second"] / alone["sound_per_cpu_second"] for row in served}
            alone["served_share"] = {clients: round(share, 3) for clients, share in each.items()}
        print(json.dumps(alone))


if __name__ == "__main__":
    main()
