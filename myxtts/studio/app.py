"""The studio as one application: the page, what the page asks for, and behind it the server's own API."""

from __future__ import annotations

from importlib import resources
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.types import Receive, Scope, Send

from myxtts.errors import MyXTTSError
from myxtts.serving.app import Api, make_app
from myxtts.serving.metrics import Metrics
from myxtts.serving.problems import Problem, invalid
from myxtts.serving.speaking import Speaking
from myxtts.serving.voices import Voices
from myxtts.serving.worker import Worker
from myxtts.studio.guard import StudioGuard
from myxtts.studio.run_routes import RunRoutes
from myxtts.studio.stage import Stage
from myxtts.studio.tasks import Tasks
from myxtts.studio.voice_routes import VoiceRoutes
from myxtts.studio.workshop import Workshop

_MOST_CHARS = 4096
_TYPES = {
    "html": "text/html; charset=utf-8", "css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}  # fmt: skip


def make_studio(workshop: Workshop, stage: Stage, worker: Worker, overrides: list[str]) -> Starlette:
    voices, runs = VoiceRoutes(workshop, Tasks(overrides), overrides), RunRoutes(workshop, stage, worker)
    at = "/studio/voices/{voice}"
    routes = [
        Route("/studio", voices.studio),
        Route("/studio/plans", voices.plans),
        Route("/studio/models", runs.models),
        Route("/studio/speak", runs.speak, methods=["POST"]),
        Route("/studio/spoken/{name}", runs.sound),
        Route("/studio/voices", voices.create, methods=["POST"]),
        Route(at, voices.voice, methods=["GET"]),
        Route(at, voices.delete, methods=["DELETE"]),
        Route(f"{at}/clips", voices.clips, methods=["GET"]),
        Route(f"{at}/clips", voices.add_clip, methods=["POST"]),
        Route(f"{at}/clips/{{clip}}", voices.audio, methods=["GET"]),
        Route(f"{at}/clips/{{clip}}", voices.change_clip, methods=["PUT"]),
        Route(f"{at}/clips/{{clip}}", voices.remove_clip, methods=["DELETE"]),
        Route(f"{at}/sentences", voices.sentences),
        Route(f"{at}/split", voices.split, methods=["POST"]),
        Route(f"{at}/job", voices.start, methods=["POST"]),
        Route(f"{at}/job", voices.stop, methods=["DELETE"]),
        Route(f"{at}/runs/{{run}}", runs.run),
        Route(f"{at}/runs/{{run}}/samples/{{name}}", runs.sample),
        Route(f"{at}/runs/{{run}}/pages/{{name}}", runs.page),
        Route(f"{at}/runs/{{run}}/download", runs.download),
        *_page_routes(),
        Mount("/", _Programs(stage, worker)),
    ]
    handlers: Any = {Problem: _problem, MyXTTSError: _mendable, HTTPException: _http, MultiPartException: _multipart}
    return Starlette(routes=routes, middleware=[Middleware(StudioGuard)], exception_handlers=handlers)


class _Programs:
    """/v1 and the rest of `myxtts serve`, whose models are the runs that are there when a program asks."""

    def __init__(self, stage: Stage, worker: Worker):
        self._stage, self._worker, self._metrics = stage, worker, Metrics()
        self._known, self._app = list(stage.known), self._make()

    def _make(self) -> Starlette:
        speaking = Speaking(self._stage, Voices(None), self._metrics)
        api = Api(speaking, self._worker, self._metrics, _MOST_CHARS)
        return make_app(api, self._metrics, None, _MOST_CHARS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].startswith("/v1/"):
            await run_in_threadpool(self._stage.refresh)
            if self._known != list(self._stage.known):
                self._known, self._app = list(self._stage.known), self._make()
        await self._app(scope, receive, send)


def _page_routes() -> list[Route]:
    """One for each file of the page, read when the studio starts: no name that is asked for is opened."""
    files = [item for item in (resources.files("myxtts.studio") / "page").iterdir() if item.is_file()]
    routes = [_file_route(f"/page/{item.name}", item.name, item.read_bytes()) for item in files]
    index = next(item for item in files if item.name == "index.html")
    return [_file_route("/", index.name, index.read_bytes()), *routes]


def _file_route(at: str, name: str, content: bytes) -> Route:
    kind = _TYPES.get(name.rpartition(".")[2], "application/octet-stream")

    async def send(request: Request) -> Response:
        return Response(content, media_type=kind)

    return Route(at, send)


async def _problem(request: Request, problem: Problem) -> Response:
    return JSONResponse(problem.body(), problem.status, problem.headers)


async def _mendable(request: Request, error: MyXTTSError) -> Response:
    return await _problem(request, invalid(str(error)))


async def _http(request: Request, error: HTTPException) -> Response:
    return JSONResponse(Problem(error.status_code, str(error.detail)).body(), error.status_code, error.headers)


async def _multipart(request: Request, error: MultiPartException) -> Response:
    return await _problem(request, invalid(f"the form cannot be read: {error.message}"))
