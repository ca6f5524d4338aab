"""The routes: each reads its request, hands the work to the worker and answers with what comes."""

from __future__ import annotations

import logging
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from myxtts.features.mel import HOP_SAMPLES, SAMPLE_RATE
from myxtts.serving.answers import Spoken, wait_for
from myxtts.serving.encoding import formats
from myxtts.serving.guard import Guard
from myxtts.serving.metrics import Metrics
from myxtts.serving.openapi import describe
from myxtts.serving.order import OWN_VOICE, read_order
from myxtts.serving.problems import Problem, invalid
from myxtts.serving.served import Known
from myxtts.serving.speaking import Speaking
from myxtts.serving.uploads import UPLOAD_BYTES, Decoding
from myxtts.serving.voices import keep
from myxtts.serving.worker import Worker
from myxtts.version import __version__

_log = logging.getLogger(__name__)

_ESCAPED_BYTES = 12  # of one character in JSON: \ud83d\ude00
_OTHER_BYTES = 16 << 10


class Api:
    def __init__(self, speaking: Speaking, worker: Worker, metrics: Metrics, most_chars: int):
        self._speaking, self._worker, self._metrics, self._most_chars = speaking, worker, metrics, most_chars
        self._decoding = Decoding()

    async def speech(self, request: Request) -> ASGIApp:
        order = read_order(await request.body(), self._most_chars)
        self._speaking.check(order)
        return Spoken(self._worker.submit(self._speaking.encoded(order)), order)

    async def models(self, request: Request) -> Response:
        models = [_model(known) for known in self._speaking.served.known.values()]
        return JSONResponse({"object": "list", "data": models})

    async def model(self, request: Request) -> Response:
        return JSONResponse(_model(self._speaking.served.find(request.path_params["name"])))

    async def voices(self, request: Request) -> Response:
        """One route for both methods, so that whoever tries a third is told of both."""
        return await (self._add_voice(request) if request.method == "POST" else self._list_voices())

    async def _list_voices(self) -> Response:
        served = self._speaking.served.known.values()
        own = [{"id": OWN_VOICE, "object": "audio.voice", "name": OWN_VOICE, "model": known.name}
               for known in served if known.has_voice]  # fmt: skip
        return JSONResponse({"object": "list", "data": own + [kept.to_dict() for kept in self._speaking.voices.list()]})

    async def _add_voice(self, request: Request) -> Response:
        async with request.form(max_files=1, max_fields=8, max_part_size=_OTHER_BYTES) as form:
            name, consent, model = (_field(form, each) for each in ("name", "consent", "model"))
            clip = form.get("audio_sample")
            if clip is None or isinstance(clip, str):
                raise invalid("the field audio_sample is missing: send a clip as multipart/form-data", "audio_sample")
            sound = await clip.read()
        known = self._speaking.served.find(model) if model else self._speaking.served.first
        self._speaking.voices.check_new(name, consent)
        reference = await self._decoding.crops(sound, known.folder)
        heard = await wait_for(self._worker.submit(self._speaking.heard(known.name, reference)), request)
        if heard is None:
            return Response(status_code=499)
        seconds = reference.frames * HOP_SAMPLES / SAMPLE_RATE
        kept = keep(name, known.name, heard[0], consent, seconds)
        self._speaking.voices.add(kept, heard[1])
        for warning in reference.warnings:
            _log.warning("the voice %s was added, but %s", name, warning)
        return JSONResponse(kept.to_dict() | {"warnings": [*reference.warnings]}, 201)

    async def delete_voice(self, request: Request) -> Response:
        name = request.path_params["name"]
        self._speaking.voices.delete(name)
        return JSONResponse({"id": name, "object": "audio.voice", "deleted": True})

    async def health(self, request: Request) -> Response:
        loaded = self._speaking.served.loaded()
        status = {"status": "ok", "version": __version__, "loaded": loaded, "queue": len(self._worker)}
        return JSONResponse(status | {"formats": formats()})

    async def metrics(self, request: Request) -> Response:
        return PlainTextResponse(self._metrics.text(), media_type="text/plain; version=0.0.4")

    async def openapi(self, request: Request) -> Response:
        return JSONResponse(describe(self._most_chars, [*self._speaking.served.known]))


def make_app(api: Api, metrics: Metrics, key: str | None, most_chars: int) -> Starlette:
    body_bytes = _OTHER_BYTES + _ESCAPED_BYTES * most_chars
    routes = [
        Route("/v1/audio/speech", api.speech, methods=["POST"]),
        Route("/v1/audio/voices", api.voices, methods=["GET", "POST"]),
        Route("/v1/audio/voices/{name}", api.delete_voice, methods=["DELETE"]),
        Route("/v1/models", api.models, methods=["GET"]),
        Route("/v1/models/{name}", api.model, methods=["GET"]),
        Route("/health", api.health, methods=["GET"]),
        Route("/metrics", api.metrics, methods=["GET"]),
        Route("/openapi.json", api.openapi, methods=["GET"]),
    ]
    guard: Any = Middleware(
        Guard, key=key, body_bytes=body_bytes, upload_bytes=UPLOAD_BYTES + _OTHER_BYTES, metrics=metrics
    )
    handlers: Any = {Problem: _problem, HTTPException: _http, MultiPartException: _multipart}
    return Starlette(routes=routes, middleware=[guard], exception_handlers=handlers)


def _model(known: Known) -> dict[str, Any]:
    description = known.description
    return {
        "id": known.name, "object": "model", "created": known.created, "owned_by": "myxtts",
        "languages": description.languages, "size": description.size,
    }  # fmt: skip


def _field(form: Any, name: str) -> str:
    value = form.get(name, "")
    if not isinstance(value, str):
        raise invalid(f"{name} is a file, expected text", name)
    return value


async def _problem(request: Request, problem: Problem) -> Response:
    return JSONResponse(problem.body(), problem.status, problem.headers)


async def _http(request: Request, error: HTTPException) -> Response:
    if error.status_code == 404:
        problem = Problem(404, "there is nothing at this address: see /openapi.json", code="unknown_url")
    else:
        problem = Problem(error.status_code, str(error.detail))
    return JSONResponse(problem.body(), problem.status, error.headers)


async def _multipart(request: Request, error: MultiPartException) -> Response:
    return await _problem(request, invalid(f"the form cannot be read: {error.message}"))
