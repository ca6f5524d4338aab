"""The review: a page on this machine only, where a person hears rows and decides. Every decision is kept at once."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from myxtts.errors import PrepareError
from myxtts.prepare.cutting import write_slices
from myxtts.prepare.result import compose, decisions_of, publish
from myxtts.prepare.state import State

_MOST_BYTES = 1 << 16
_PAGES = {
    "/": ("review.html", "text/html; charset=utf-8"),
    "/review.js": ("review.js", "text/javascript; charset=utf-8"),
}
_HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; media-src 'self'; "
    "connect-src 'self'",
    "x-content-type-options": "nosniff",
}


def review(corpus: Path, least_trust: float, port: int, ready: Callable[[str], None]) -> dict[str, Any]:
    """Serves until it is interrupted, then writes the corpus; returns its summary. `ready` is told the address."""
    with State(corpus) as state:
        table = Table(state, least_trust)
        try:
            server = ThreadingHTTPServer(("127.0.0.1", port), type("Handler", (_Handler,), {"table": table}))
        except OSError as error:
            raise PrepareError(f"cannot listen on port {port}: {error.strerror}; choose another --port") from None
        with server:
            ready(f"http://127.0.0.1:{server.server_address[1]}/")
            with contextlib.suppress(KeyboardInterrupt):  # the way to end it
                server.serve_forever(poll_interval=0.2)
        return table.publish()


class Table:
    """The rows as they are now, for one person at a time: a lock keeps decisions in order."""

    def __init__(self, state: State, least_trust: float):
        self._state, self._least_trust, self._lock = state, least_trust, threading.Lock()
        result = compose(state, least_trust)
        self._proposed, self._rows = result.proposed, result.rows
        self._decisions = decisions_of(state)
        if not self._proposed:
            raise PrepareError(f"{state.corpus} has nothing to review: prepare recordings into it first")

    def rows(self) -> list[dict[str, Any]]:
        proposed = set(self._proposed)
        return [row.to_dict() | {"text": row.text, "decided": row not in proposed} for row in self._rows]

    def decide(self, decision: Any) -> list[dict[str, Any]]:
        with self._lock:
            self._rows = self._decisions.add(decision, self._proposed)
            return self.rows()

    def sound(self, name: str) -> bytes | None:
        """The wav of a row; one that was joined or split is cut now. A client's name is never a path."""
        row = next((one for one in self._rows if one.id == name), None)
        if row is None:
            return None
        with self._lock:
            source = next(one for one in self._state.sources.values() if one.name == row.source)
            write_slices(source, [(row.start, row.end, self._state.corpus / row.audio)])
        return (self._state.corpus / row.audio).read_bytes()

    def publish(self) -> dict[str, Any]:
        return publish(self._state, compose(self._state, self._least_trust))


class _Handler(BaseHTTPRequestHandler):
    """Answers this machine's own pages only: others cannot reach it by a name that leads here."""

    table: Table

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        if not self._is_ours():
            self._answer(HTTPStatus.FORBIDDEN, {"error": "only pages of this machine are answered"})
        elif path in _PAGES:
            name, kind = _PAGES[path]
            self._send(HTTPStatus.OK, (resources.files("myxtts.prepare") / name).read_bytes(), kind)
        elif path == "/rows":
            self._answer(HTTPStatus.OK, {"rows": self.table.rows()})
        elif path.startswith("/audio/"):
            self._play(path.removeprefix("/audio/"))
        else:
            self._answer(HTTPStatus.NOT_FOUND, {"error": "there is nothing at this address"})

    def do_POST(self) -> None:
        length = self.headers.get("content-length", "")
        if not self._is_ours():
            self._answer(HTTPStatus.FORBIDDEN, {"error": "only pages of this machine are answered"})
        elif urlsplit(self.path).path != "/decisions":
            self._answer(HTTPStatus.NOT_FOUND, {"error": "there is nothing at this address"})
        elif not length.isdecimal() or int(length[:10]) > _MOST_BYTES:
            self._answer(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, {"error": "expected a decision of at most 64 KB"})
        else:
            self._decide(self.rfile.read(int(length)))

    def _play(self, name: str) -> None:
        try:
            sound = self.table.sound(name)
        except PrepareError as error:  # the recording is gone
            self._answer(HTTPStatus.GONE, {"error": str(error)})
            return
        if sound is None:
            self._answer(HTTPStatus.NOT_FOUND, {"error": "there is no such row"})
        else:
            self._send(HTTPStatus.OK, sound, "audio/wav")

    def _decide(self, body: bytes) -> None:
        try:
            self._answer(HTTPStatus.OK, {"rows": self.table.decide(json.loads(body))})
        except (PrepareError, ValueError, RecursionError) as error:
            self._answer(HTTPStatus.BAD_REQUEST, {"error": str(error)})

    def _is_ours(self) -> bool:
        host, origin = self.headers.get("host", ""), self.headers.get("origin")
        named = host.rpartition(":")[0] in ("127.0.0.1", "localhost")
        return named and (origin is None or urlsplit(origin).netloc == host)

    def _answer(self, status: HTTPStatus, body: dict[str, Any]) -> None:
        self._send(status, json.dumps(body).encode(), "application/json")

    def _send(self, status: HTTPStatus, body: bytes, kind: str) -> None:
        self.send_response(status)
        for name, value in ({"content-type": kind, "content-length": str(len(body))} | _HEADERS).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass
