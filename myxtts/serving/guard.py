"""Before a request is looked at: its key, where it comes from, how large it may be. After it: one more in the count."""

from __future__ import annotations

import hmac
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from myxtts.serving.metrics import Metrics
from myxtts.serving.problems import Foreseen, Problem

OPEN = ("/health",)  # for load balancers, which have no key
_UPLOADS = "/v1/audio/voices"
_ROUTES = ("/health", "/metrics", "/openapi.json", "/v1/audio/speech", "/v1/audio/voices", "/v1/models")
_GONE = 499  # no answer, as nobody waited for it


class Guard:
    def __init__(self, app: ASGIApp, key: str | None, body_bytes: int, upload_bytes: int, metrics: Metrics):
        self._app, self._key, self._metrics = app, key, metrics
        self._body_bytes, self._upload_bytes = body_bytes, upload_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        statuses: list[int] = []

        async def counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])
            await send(message)

        try:
            with Foreseen(ClientDisconnect):
                self._check(scope)
                await self._app(scope, limited(receive, self._most(scope)), counted)
        except ClientDisconnect:
            pass  # there is nobody to answer
        except Problem as problem:
            if not statuses:  # else half of an answer is sent, and the connection ends without the rest
                await JSONResponse(problem.body(), problem.status, problem.headers)(scope, receive, counted)
        finally:
            self._metrics.count(_route_of(scope["path"]), statuses[0] if statuses else _GONE)
        return None

    def _most(self, scope: Scope) -> int:
        return self._upload_bytes if scope["path"] == _UPLOADS else self._body_bytes

    def _check(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        origin = headers.get("origin")
        if origin and urlsplit(origin).netloc != headers.get("host"):  # a page on the web shall not use our loopback
            raise Problem(403, "requests of another site's pages are not answered", code="cross_origin")
        if self._key is not None and scope["path"] not in OPEN:
            given = headers.get("authorization", "").partition(" ")[2].strip()
            if not hmac.compare_digest(given.encode(), self._key.encode()):
                raise Problem(401, "found no or a wrong API key, expected 'Authorization: Bearer KEY'",
                              code="invalid_api_key")  # fmt: skip
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length[:20]) > self._most(scope):
            raise too_large(self._most(scope))


def _route_of(path: str) -> str:
    """One of few: a client cannot fill the memory of whoever collects the counts."""
    return next((route for route in _ROUTES if path == route or path.startswith(route + "/")), "other")


def limited(receive: Receive, most: int) -> Receive:
    """Also of a body that does not say how long it is."""
    taken = 0

    async def receive_some() -> Message:
        nonlocal taken
        message = await receive()
        taken += len(message.get("body", b""))
        if taken > most:
            raise too_large(most)
        return message

    return receive_some


def too_large(most: int) -> Problem:
    return Problem(413, f"the request is larger than {most} bytes: send less", code="request_too_large")
