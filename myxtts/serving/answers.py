"""Sound on its way to a client: the answer begins with the first piece, and the work ends with the connection."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
from collections.abc import AsyncIterator
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from myxtts.serving.encoding import MEDIA_TYPES
from myxtts.serving.order import IGNORED, Order
from myxtts.serving.problems import Problem
from myxtts.serving.worker import Job

_log = logging.getLogger(__name__)

_GONE = Response(status_code=499)  # is not sent: there is nobody


class _Spoken(StreamingResponse):
    """However it ends, its job ends too."""

    def __init__(self, job: Job, order: Order, pieces: AsyncIterator[bytes], media_type: str):
        headers = {"Cache-Control": "no-store"} | ({IGNORED: ", ".join(order.ignored)} if order.ignored else {})
        super().__init__(pieces, media_type=media_type, headers=headers)
        self._job = job

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        except Problem as problem:  # half of the sound is sent: that the rest is missing is all that can be told
            _log.warning("an answer was cut off: %s", problem.message)
        finally:
            self._job.cancel()


async def answer(job: Job, order: Order, request: Request) -> Response:
    """What was wrong is raised as a `Problem` as long as nothing was sent."""
    first = await wait_for(job, request)
    if first is None:
        return _GONE
    pieces = _pieces(job, first)
    if order.stream_format == "sse":
        return _Spoken(job, order, _events(pieces, order), "text/event-stream")
    return _Spoken(job, order, pieces, MEDIA_TYPES[order.response_format])


async def wait_for(job: Job, request: Request) -> Any:
    """The first thing that a job yields; None if the client goes away before that."""
    coming, gone = asyncio.ensure_future(job.next()), asyncio.ensure_future(_gone(request))
    came = False
    try:
        await asyncio.wait({coming, gone}, return_when=asyncio.FIRST_COMPLETED)
        first = coming.result() if coming.done() else None
        came = coming.done()
        return first
    finally:  # also where waiting was cancelled, or nothing but a problem came
        for waiting in (coming, gone):
            waiting.cancel()
        if not came:
            job.cancel()


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _pieces(job: Job, first: bytes) -> AsyncIterator[bytes]:
    piece = first
    while True:
        if piece:
            yield piece
        try:
            piece = await job.next()
        except StopAsyncIteration:
            return


async def _events(pieces: AsyncIterator[bytes], order: Order) -> AsyncIterator[bytes]:
    sent = 0
    try:
        async for piece in pieces:
            sent += len(piece)
            yield _event("speech.audio.delta", audio=base64.b64encode(piece).decode())
    except Problem as problem:
        yield _event("error", **problem.body())
        return
    # Nobody is charged by tokens here: characters in, bytes out.
    usage = {"input_tokens": len(order.text), "output_tokens": sent, "total_tokens": len(order.text) + sent}
    yield _event("speech.audio.done", usage=usage)


def _event(kind: str, **values: Any) -> bytes:
    return f"data: {json.dumps({'type': kind, **values})}\n\n".encode()
