"""Does a running server survive what strangers send? Every answer is below 500, and a normal request is still answered.

    myxtts export base -o /tmp/base && python benchmarks/server_fuzz.py /tmp/base --requests 10000 --seed 0

It starts `myxtts serve` itself, so that it can look at its log (no traceback), its files (none left), its open
descriptors and its memory, which is printed every 1,000 requests. Bodies are made from the server's own OpenAPI
description, then mutated; connections are closed halfway, read slowly or not at all; uploads are those of bad_rows.py.
Most of what is asked for is short or refused: of texts that take seconds to speak there are a few in a hundred.
"""

from __future__ import annotations

import argparse
import http.client
import io
import json
import random
import socket
import struct
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
from bad_rows import AUDIO
from running_server import Server

NORMAL = {"model": "m", "input": "Yes.", "response_format": "wav"}
ODD_TEXTS = [
    "", " ", "\0", "\u202e\u0000x", "\ufeff", "\ud800", "سلام", "a\u0300" * 9, "../../etc/passwd",
    "\r\n\r\nGET / HTTP/1.1", "%s%n{}", "١٢٣", "Ⅻ", "．" * 50, "$1e308", "؟", "-" * 500, "\u200c" * 100,
    "𝔄𝔅ℭ", "NaN", "null", "{\"a\":1}",
]  # fmt: skip
GOOD = {"model": ["m"], "input": ["Yes.", "No?"], "voice": ["default", "alloy"], "id": ["default"], "language": ["en"]}
LONG_TEXTS = ["🤷🏽‍♀️" * 40, "a\u0300" * 200, "1" * 300, "One more sentence. " * 20]
ODD_VALUES: list[Any] = [
    None, True, False, 0, -1, 1e308, -1e308, 2**63, 2**64, -(2**63), 10**400, 0.1 + 0.2, [], {}, [[[]]],
    {"id": {"id": []}}, {"id": "x", "more": 1}, ["m"], "m", "default", "alloy",
]  # fmt: skip
RAW = [
    b"", b"{", b"[]", b"null", b'"x"', b"\xff\xfe", b'{"model":"m","input":NaN}', b'{"model":"m","input":"\\ud800"}',
    b"[" * 100_000, b'{"a":' * 50_000, b'{"seed":' + b"9" * 9000 + b"}", b"\0" * 1000, b"x" * 70_000,
]  # fmt: skip
PATHS = [
    "/", "//", "/v1", "/v1/models/%00", "/v1/models/../../etc", "/v1/audio/voices/%2e%2e%2f",
    "/v1/audio/voices/" + "x" * 3000, "/v1/models/m", "/metrics/",
    "/health?" + "a=1&" * 500, "/openapi.json", "/%ff%fe", "/v1/audio/speech/",
]  # fmt: skip
HEADERS = [
    {"Content-Type": "text/plain"}, {"Content-Type": "multipart/form-data"}, {"Origin": "http://elsewhere.example"},
    {"Origin": "null"}, {"Transfer-Encoding": "gzip"}, {"Authorization": "Bearer " + "x" * 3000}, {"X": "y" * 8000},
    {"Accept-Encoding": "br;q=x"}, {"Expect": "100-continue"}, {"Connection": "close"}, {"Range": "bytes=0-"},
    {"Content-Encoding": "deflate"},
]  # fmt: skip
METHODS = ["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "TRACE", "FUZZ"]
GARBAGE = [
    b"\x16\x03\x01\x02\0",
    b"GET\r\n\r\n",
    b"GET / HTTP/9.9\r\n\r\n",
    b"POST / HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
    b"\0" * 500,
]

EVENTS = [
    b'{"type":"describe"}\n', b'{"type":"synthesize","data":{"text":"Yes."}}\n', b'{"type":5}\n', b"[]\n", b"\xff\n",
    b'{"type":"synthesize","data_length":999999999}\n', b'{"type":"synthesize","data":{"text":{"a":1}}}\n',
    b'{"type":"synthesize-chunk","data":{"text":"x"}}\n', b'{"type":"synthesize","data":{"voice":[]}}\n',
]  # fmt: skip


class Fuzzer:
    def __init__(self, server: Server, seed: int):
        self.server, self.chance = server, random.Random(seed)
        self.statuses: Counter[str] = Counter()
        self.seconds: Counter[str] = Counter()
        self.findings: list[str] = []
        self._schema = json.loads(self._ask("GET", "/openapi.json")[1])["paths"]["/v1/audio/speech"]["post"][
            "requestBody"
        ]
        self._clips = bad_clips(seed)

    def one(self, number: int) -> None:
        ways: list[tuple[Callable[[], None], int]] = [
            (self.described, 40), (self.odd_field, 25), (self.raw, 8), (self.strange, 12), (self.cut_off, 9),
            (self.upload, 1), (self.garbage, 3), (self.homely, 2),
        ]  # fmt: skip
        way = self.chance.choices([way for way, _ in ways], [weight for _, weight in ways])[0]
        started = time.monotonic()
        try:
            way()
        except (OSError, http.client.HTTPException) as error:
            if way in (self.described, self.odd_field, self.raw, self.upload):
                self.findings.append(f"{number} {way.__name__}: {error!r}")
            self.statuses[f"connection {type(error).__name__}"] += 1
        self.seconds[way.__name__] += time.monotonic() - started

    def normal(self) -> bool:
        """Asked until there is room: the queue may be full of who does not read."""
        for _ in range(100):
            status, data = self._ask("POST", "/v1/audio/speech", json.dumps(NORMAL).encode())
            if status == 200:
                return len(soundfile.read(io.BytesIO(data))[0]) > 2000
            if status != 429:
                return False
            time.sleep(0.2)
        return False

    # ---- what is sent ----

    def described(self) -> None:
        """As the description says, but for one value of four."""
        properties = self._schema["content"]["application/json"]["schema"]["properties"]
        body = {name: self._value(name, shape) for name, shape in properties.items() if self.chance.random() < 0.5}
        body = {"model": "m", "input": self._text()} | body
        body["model"] = "m" if self.chance.random() < 0.8 else body["model"]
        if self.chance.random() < 0.25:
            body[self.chance.choice([*properties])] = self.chance.choice(ODD_VALUES)
        self._speak(json.dumps(body).encode())

    def odd_field(self) -> None:
        body: dict[str, Any] = dict(NORMAL)
        for _ in range(self.chance.randint(1, 3)):
            name = self.chance.choice(
                [*NORMAL, "voice", "speed", "seed", "language", "instructions", "stream_format", "x" * 50]
            )
            body[name] = self.chance.choice([*ODD_VALUES, *ODD_TEXTS, self._text()])
        self._speak(json.dumps(body, ensure_ascii=self.chance.random() < 0.5).encode(errors="surrogatepass"))

    def raw(self) -> None:
        data = bytearray(self.chance.choice([*RAW, json.dumps(NORMAL).encode()]))
        for _ in range(self.chance.randint(0, 4)):
            if data:
                data[self.chance.randrange(len(data))] = self.chance.randrange(256)
        self._speak(bytes(data))

    def strange(self) -> None:
        body = json.dumps(NORMAL).encode() if self.chance.random() < 0.3 else None
        headers = {name: value for _ in range(2) for name, value in self.chance.choice(HEADERS).items()}
        self._note(*self._ask(self.chance.choice(METHODS), self.chance.choice(PATHS), body, headers))

    def cut_off(self) -> None:
        """Half a request, no reading, slow reading, or gone at once."""
        body = json.dumps(NORMAL | {"input": self.chance.choice(["Yes.", LONG_TEXTS[-1]])}).encode()
        head = f"POST /v1/audio/speech HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        data = (head + body)[: self.chance.choice([5, 40, len(head), len(head) + 9, len(head + body)])]
        with socket.socket() as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.settimeout(20)
            connection.connect(("127.0.0.1", self.server.port))
            connection.sendall(data)
            way = self.chance.choice(["gone", "half", "slow", "reset"])
            if way == "half":
                connection.shutdown(socket.SHUT_WR)
                connection.recv(1000)
            if way == "slow" and len(data) == len(head + body):
                for _ in range(5):
                    connection.recv(100)
                    time.sleep(0.01)
            if way == "reset":
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.statuses[f"cut off: {way}"] += 1

    def upload(self) -> None:
        clip = bytearray(self.chance.choice(self._clips))
        for _ in range(self.chance.randint(0, 20) if self.chance.random() < 0.5 else 0):
            if clip:
                clip[self.chance.randrange(len(clip))] = self.chance.randrange(256)
        name = self.chance.choice(["tom", "../x", "", "x" * 100, "Ä", "default", "con\0"])
        fields = {
            "name": name,
            "consent": self.chance.choice(["Tom", "", "x" * 2000]),
            "model": self.chance.choice(["m", "", "q"]),
        }
        if self.chance.random() < 0.5:
            fields = {"name": f"v{self.chance.randrange(10**9)}", "consent": "Tom", "model": "m"}
        parts = [
            f'--cut\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{value}\r\n'.encode()
            for key, value in fields.items()
        ]
        parts.append(
            b'--cut\r\nContent-Disposition: form-data; name="audio_sample"; filename="/etc/x"\r\n\r\n'
            + bytes(clip)
            + b"\r\n"
        )
        data = b"".join(parts) + self.chance.choice([b"--cut--\r\n", b"--cut", b""])
        self._note(*self._ask("POST", "/v1/audio/voices", data, {"Content-Type": "multipart/form-data; boundary=cut"}))

    def garbage(self) -> None:
        with socket.create_connection(("127.0.0.1", self.server.port), 20) as connection:
            connection.sendall(self.chance.choice([*GARBAGE, self.chance.randbytes(300)]))
            connection.shutdown(socket.SHUT_WR)
            connection.recv(1000)
        self.statuses["garbage"] += 1

    def homely(self) -> None:
        """To the port of Wyoming."""
        with socket.create_connection(("127.0.0.1", self.server.wyoming), 20) as connection:
            connection.sendall(b"".join(self.chance.choices(EVENTS, k=3)))
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(4096):
                pass
        self.statuses["wyoming"] += 1

    def _text(self) -> str:
        texts = LONG_TEXTS if self.chance.random() < 0.05 else ["Yes.", "No?", *ODD_TEXTS]
        return self.chance.choice(texts)

    # ---- what comes back ----

    def _value(self, name: str, shape: dict[str, Any]) -> Any:
        if "anyOf" in shape:
            return self._value(name, self.chance.choice(shape["anyOf"]))
        if "enum" in shape:
            return self.chance.choice(shape["enum"])
        kind = shape["type"]
        if kind == "object":
            return {part: self._value(part, each) for part, each in shape["properties"].items()}
        if kind == "integer":
            return self.chance.choice([0, 7, -7, 2**31, 2**63 - 1])
        if kind == "number":
            return self.chance.uniform(shape["minimum"], shape["maximum"])
        texts = GOOD.get(name, ["Yes."]) if self.chance.random() < 0.85 else ODD_TEXTS
        return self.chance.choice(texts)[: shape.get("maxLength", 600)]

    def _speak(self, body: bytes) -> None:
        self._note(*self._ask("POST", "/v1/audio/speech", body, {"Content-Type": "application/json"}))

    def _ask(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=120)
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def _note(self, status: int, data: bytes) -> None:
        self.statuses[str(status)] += 1
        if status >= 500:
            self.findings.append(f"{status}: {data[:300]!r}")
        elif status >= 400 and data and b'"error"' not in data and b"Invalid HTTP request" not in data:
            self.findings.append(f"{status} without an error object: {data[:300]!r}")


def bad_clips(seed: int) -> list[bytes]:
    """Those of bad_rows.py that are files, each kind once, and good ones in odd formats."""
    found, rng = [], np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as folder:
        for number, (write, _) in enumerate(AUDIO.values()):
            path = Path(folder, f"{number}.wav")
            write(path, rng)
            if path.is_file() and not path.is_symlink() and path.stat().st_size < 1 << 20:
                found.append(path.read_bytes())
        for kind in ("WAV", "FLAC", "OGG", "MP3", "AIFF"):
            path = Path(folder, f"good.{kind}")
            soundfile.write(path, 0.1 * rng.normal(size=22050), 22050, format=kind)
            found.append(path.read_bytes())
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=1e9, help="stop after so long")
    parser.add_argument("--every", type=int, default=1000, help="print what the server holds after so many requests")
    arguments = parser.parse_args()
    flags = ("--wyoming", "0", "--max-chars", "600")
    with tempfile.TemporaryDirectory() as folder, Server(arguments.model, Path(folder), *flags) as server:
        fuzzer = Fuzzer(server, arguments.seed)
        assert fuzzer.normal(), "the first normal request failed"
        before, until = server.holds(), time.monotonic() + 60 * arguments.minutes
        done = ask_all(fuzzer, arguments.requests, until, arguments.every)
        time.sleep(2)
        after, cpu, code, log = server.holds(), server.cpu_seconds(), server.end(), server.log()
    if code or "Traceback" in log:
        fuzzer.findings.append(f"exit code {code}; its log: {log[-3000:]}")
    result = {"requests": done, "seconds": sum(fuzzer.seconds.values()), "server_cpu_seconds": cpu, "before": before}
    result |= {"after": after, "seconds_by_way": {name: round(spent) for name, spent in fuzzer.seconds.items()}}
    result |= {"statuses": dict(sorted(fuzzer.statuses.items())), "findings": len(fuzzer.findings)}
    print(json.dumps(result, indent=1))
    for finding in fuzzer.findings[:20]:
        print(finding)
    return 1 if fuzzer.findings else 0


def ask_all(fuzzer: Fuzzer, requests: int, until: float, every: int) -> int:
    """How many were sent: one of fifty is a normal one, which must be answered."""
    done = 0
    while done < requests and time.monotonic() < until:
        fuzzer.one(done)
        done += 1
        if done % 50 == 0 and not fuzzer.normal():
            fuzzer.findings.append(f"after {done} requests a normal one is not answered")
        if done % every == 0:
            print(json.dumps({"requests": done, **fuzzer.server.holds()}), flush=True)
    return done


if __name__ == "__main__":
    sys.exit(main())
