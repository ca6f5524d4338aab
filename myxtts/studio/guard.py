"""Only this machine's own pages may use a server that starts processes: host, origin and a header are looked at.

A page of another site that has its name point to 127.0.0.1 (DNS rebinding) sends its own name as the host. One that
posts a form cannot set a header of ours without asking first, and is not answered then. What is sent back may run
nothing but our own files.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from myxtts.serving.guard import limited
from myxtts.serving.problems import Problem
from myxtts.serving.server import LOOPBACK

OURS = "x-myxtts"  # with any value
UPLOAD_BYTES, _BODY_BYTES = 64 << 20, 1 << 20
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src 'self' blob:; "
    "connect-src 'self'; worker-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
# Reports have their styles, pictures and sounds inside, and no script: also if one got in
REPORT_POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; media-src data:"
_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "microphone=(self), camera=(), geolocation=()",
    "Cache-Control": "no-store",
}


class StudioGuard:
    def __init__(self, app: ASGIApp):
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            _check(scope)
            return await self._app(scope, limited(receive, _most(scope)), with_headers)
        except Problem as problem:
            return await JSONResponse(problem.body(), problem.status)(scope, receive, with_headers)


def _check(scope: Scope) -> None:
    headers = Headers(scope=scope)
    host = headers.get("host", "")
    if _name_of(host) not in LOOPBACK:
        raise Problem(421, f"found the host {host[:80]!r}, expected 127.0.0.1 or localhost: see docs/studio.md to use "
                           "it from another machine", code="wrong_host")  # fmt: skip
    origin = headers.get("origin")
    other = origin is not None and urlsplit(origin).netloc != host
    followed = headers.get("sec-fetch-mode") == "navigate" and scope["method"] == "GET"  # a link to the page
    if other or not (followed or headers.get("sec-fetch-site", "none") in ("same-origin", "none")):
        raise Problem(403, "requests of another site's pages are not answered", code="cross_origin")
    page = not scope["path"].startswith("/v1/")  # which programs use: the server's own guard looks at those
    if page and scope["method"] not in ("GET", "HEAD") and OURS not in headers:
        raise Problem(403, f"the header {OURS} is missing: use the page", code="not_our_page")


def _most(scope: Scope) -> int:
    return UPLOAD_BYTES if scope["path"].endswith("/clips") else _BODY_BYTES


def _name_of(host: str) -> str:
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""
