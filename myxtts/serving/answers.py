"""Sound on its way to a client: the answer begins with the first piece, and the work ends with the connection."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from myxtts.serving.encoding import MEDIA_TYPES, SYNTHETIC_HEADER
from myxtts.serving.order import IGNORED, Order
from myxtts.serving.problems import Problem
from myxtts.serving.worker import Job

_log = logging.getLogger(__name__)


class Spoken:
    """What was wrong is raised as a `Problem` as long as nothing was sent.

    An application of its own, not Starlette's StreamingResponse: that one's tasks cost 0.2 ms of each request.
    """

    def __init__(self, job: Job, order: Order):
        self._job, self._order, self._as_events = job, order, order.stream_format == "sse"
        media_type = "text/event-stream; charset=utf-8" if self._as_events else MEDIA_TYPES[order.response_format]
        headers = {"content-type": media_type, "cache-control": "no-store", **SYNTHETIC_HEADER}
        headers |= {IGNORED: ", ".join(order.ignored)} if order.ignored else {}
        self._headers = [(name.lower().encode(), value.encode()) for name, value in headers.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with _listened_to(self._job, receive):
            try:
                first = await self._job.next()
            except StopAsyncIteration:
                return  # there is nobody to answer
            await send({"type": "http.response.start", "status": 200, "headers": self._headers})
            try:
                await (self._send_events(first, send) if self._as_events else self._send_sound(first, send))
            except Problem as problem:  # half of the sound is sent: that the rest is missing is all that can be told
                _log.warning("an answer was cut off: %s", problem.message)

    async def _send_sound(self, piece: bytes, send: Send) -> None:
        while True:
            is_last = self._job.is_over
            await send(_body(piece, is_last))
            if is_last:
                return
            try:
                piece = await self._job.next()
            except StopAsyncIteration:
                await send(_body(b"", is_last=True))
                return

    async def _send_events(self, first: bytes, send: Send) -> None:
        async for event in _events(_pieces(self._job, first), self._order):
            await send(_body(event, is_last=False))
        await send(_body(b"", is_last=True))


async def wait_for(job: Job, request: Request) -> Any:
    """The first thing that a job yields; None if the client goes away before that."""
    with _listened_to(job, request.receive):
        try:
            return await job.next()
        except StopAsyncIteration:
            return None


@contextmanager
def _listened_to(job: Job, receive: Receive) -> Iterator[None]:
    """The job ends with this block, and before that with the connection."""
    watching = asyncio.ensure_future(_cancel_when_gone(job, receive))
    try:
        yield
    finally:
        watching.cancel()
        job.cancel()


async def _cancel_when_gone(job: Job, receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    job.cancel()


def _body(data: bytes, is_last: bool) -> dict[str, Any]:
    return {"type": "http.response.body", "body": data, "more_body": not is_last}


async def _pieces(job: Job, first: bytes) -> AsyncIterator[bytes]:
    piece = first
    while True:
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
