"""Wyoming, the protocol of Home Assistant's voices: events over TCP, of which those for speaking are answered.

    describe                      info: the voices
    synthesize                    audio-start (whose `comment`, ours, says what it is), audio-chunk..., audio-stop
    synthesize-start/-chunk/-stop the same while the text still comes, sentence by sentence; then synthesize-stopped

An event is a line of JSON, which may announce more JSON and a payload. What is wrong is answered with an `error` event.
"""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from collections.abc import AsyncIterator, Iterable
from typing import Any

from myxtts.features.alphabets import language_of, letters_of_text
from myxtts.features.mel import SAMPLE_RATE
from myxtts.inference.longform import split_text
from myxtts.inference.speech import NOTE
from myxtts.serving.order import OWN_VOICE, Order
from myxtts.serving.problems import Problem, invalid
from myxtts.serving.served import Known
from myxtts.serving.speaking import Speaking
from myxtts.serving.worker import Worker
from myxtts.version import __version__

_log = logging.getLogger(__name__)

_FORMAT = {"rate": SAMPLE_RATE, "width": 2, "channels": 1}
_MOST_BYTES = 1 << 18  # of an event's line, data or payload
_MOST_CONNECTIONS = 64
_FINISH_SECONDS = 120.0


class Wyoming:
    def __init__(self, speaking: Speaking, worker: Worker, most_chars: int):
        self._speaking, self._worker, self._most_chars = speaking, worker, most_chars
        self._talks: dict[asyncio.Task[None], _Talk] = {}
        self._server: asyncio.Server | None = None

    async def start(self, listening: socket.socket) -> None:
        self._server = await asyncio.start_server(self._meet, sock=listening, limit=_MOST_BYTES)

    async def finish(self) -> None:
        """No new events; what is being spoken is finished."""
        if self._server is None:
            return
        self._server.close()
        for task, talk in self._talks.items():
            talk.last = True
            if not talk.busy:
                task.cancel()
        if self._talks:
            await asyncio.wait([*self._talks], timeout=_FINISH_SECONDS)

    async def _meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        try:
            if len(self._talks) < _MOST_CONNECTIONS:
                talk = self._talks[task] = _Talk(self._speaking, self._worker, self._most_chars, writer)
                await talk.listen(reader)
        except (ConnectionError, asyncio.IncompleteReadError, ValueError, asyncio.CancelledError) as error:
            _log.debug("a Wyoming connection ended: %r", error)  # gone, or it speaks another language
        finally:
            self._talks.pop(task, None)
            writer.close()


class _Talk:
    """One connection."""

    def __init__(self, speaking: Speaking, worker: Worker, most_chars: int, writer: asyncio.StreamWriter):
        self._speaking, self._worker, self._most_chars, self._writer = speaking, worker, most_chars, writer
        self._order: Order | None = None  # of a text that is still coming
        self._text, self._begun = "", False
        self.busy = self.last = False

    async def listen(self, reader: asyncio.StreamReader) -> None:
        while not self.last and (event := await _read(reader)) is not None:
            self.busy = True
            try:
                await self._answer(*event)
            except Problem as problem:
                self._order = None
                await self._send("error", {"text": problem.message, "code": problem.code or str(problem.status)})
            self.busy = False

    async def _answer(self, kind: str, data: dict[str, Any]) -> None:
        if kind == "describe":
            await self._send("info", {"tts": [_program(self._voices())]})
        elif kind == "ping":
            await self._send("pong", data)
        elif kind == "synthesize-start":
            self._order, self._text = self._order_of(data), ""
        elif kind == "synthesize-chunk" and self._order is not None:
            self._text += _text_of(data, self._most_chars)
            await self._speak_ready()
        elif kind == "synthesize-stop" and self._order is not None:
            await self._speak_rest()
        elif kind == "synthesize" and self._order is None:  # during a stream it repeats the text, for older servers
            order = self._order_of(data)
            await self._speak(order._replace(text=_text_of(data, self._most_chars)))
            await self._end()

    async def _speak_ready(self) -> None:
        """All but the last sentence, which may go on."""
        pieces = split_text(self._text)
        cut = self._text.rfind(pieces[-1].text) if len(pieces) > 1 else 0
        if cut > 0:
            ready, self._text = self._text[:cut], self._text[cut:]
            await self._speak(self._ordered(ready))
        if len(self._text) > self._most_chars:
            raise invalid(f"a sentence has more than {self._most_chars} characters: send shorter ones")

    async def _speak_rest(self) -> None:
        rest = self._ordered(self._text)
        self._order = None
        if self._text.strip():
            await self._speak(rest)
        await self._end()
        await self._send("synthesize-stopped", {})

    def _ordered(self, text: str) -> Order:
        """A piece of the text that is coming. One language for all of it: that of the first letters."""
        assert self._order is not None
        if self._order.language is None and letters_of_text(text):
            known = self._speaking.served.find(self._order.model).description
            self._order = self._order._replace(language=language_of(text, known.languages, known.main_language))
        return self._order._replace(text=text)

    async def _speak(self, order: Order) -> None:
        self._speaking.check(order)
        job = self._worker.submit(self._speaking.pcm(order))
        try:
            async for piece in _pieces(job):
                await self._begin()
                await self._send("audio-chunk", _FORMAT, piece)
        finally:
            job.cancel()

    async def _begin(self) -> None:
        if not self._begun:
            self._begun = True
            await self._send("audio-start", _FORMAT | {"comment": NOTE})

    async def _end(self) -> None:
        await self._begin()
        self._begun = False
        await self._send("audio-stop", {})

    def _voices(self) -> list[tuple[str, Known]]:
        served = self._speaking.served
        own = [(known.name, known) for known in served.known.values() if known.has_voice]
        kept = [
            (kept.name, served.known[kept.model]) for kept in self._speaking.voices.list() if kept.model in served.known
        ]
        return own + kept

    def _order_of(self, data: dict[str, Any]) -> Order:
        """The voice by its name, else the first one of a language."""
        wanted = data.get("voice")
        wanted = wanted if isinstance(wanted, dict) else {}
        name, language = wanted.get("name"), wanted.get("language")
        voices = self._voices()
        for voice, known in voices:
            if voice == name or (name is None and language and _speaks(known, str(language))):
                own = OWN_VOICE if voice == known.name else voice
                return Order(known.name, "", own, language=str(language) if language else None)
        if name is not None or not voices:
            raise invalid(
                f"found the voice {str(name)[:80]!r}, expected one of: {', '.join(each for each, _ in voices)}"
            )
        if language:
            raise invalid(f"no voice speaks {str(language)[:80]}: see the info event")
        return Order(voices[0][1].name, "", OWN_VOICE if voices[0][0] == voices[0][1].name else voices[0][0])

    async def _send(self, kind: str, data: dict[str, Any], payload: bytes = b"") -> None:
        body = json.dumps(data, ensure_ascii=False).encode()
        line = {"type": kind, "version": __version__, "data_length": len(body)}
        if payload:
            line["payload_length"] = len(payload)
        self._writer.writelines([json.dumps(line).encode(), b"\n", body, payload])
        await self._writer.drain()


async def _read(reader: asyncio.StreamReader) -> tuple[str, dict[str, Any]] | None:
    """Type and data of the next event; None at the end. What is no event is a ValueError."""
    line = await reader.readline()
    if not line:
        return None
    event = _object(line)
    data = _object(json.dumps(event.get("data") or {}))
    more, payload = (event.get(name) or 0 for name in ("data_length", "payload_length"))
    for length in (more, payload):
        if type(length) is not int or not 0 <= length <= _MOST_BYTES:
            raise ValueError(f"found a part of {length} bytes, expected at most {_MOST_BYTES}")
    if more:
        data |= _object(await reader.readexactly(more))
    await reader.readexactly(payload)
    return str(event.get("type")), data


def _object(text: bytes | str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except RecursionError:
        raise ValueError("found JSON that is nested too deeply") from None
    if not isinstance(value, dict):
        raise ValueError("found JSON that is not an object")
    return value


async def _pieces(job: Any) -> AsyncIterator[bytes]:
    while True:
        try:
            yield await job.next()
        except StopAsyncIteration:
            return


def _text_of(data: dict[str, Any], most_chars: int) -> str:
    text = data.get("text")
    if not isinstance(text, str) or len(text) > most_chars:
        raise invalid(f"expected a text of at most {most_chars} characters")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise invalid("the text holds half a surrogate pair: send UTF-8") from None
    return text


def _speaks(known: Known, language: str) -> bool:
    wanted = language.lower().replace("_", "-")
    return any(each == wanted or each.split("-")[0] == wanted.split("-")[0] for each in known.description.languages)


def _program(voices: Iterable[tuple[str, Known]]) -> dict[str, Any]:
    attribution = {"name": "MyXTTS", "url": ""}
    made = {"attribution": attribution, "installed": True, "version": __version__}
    listed = [
        {"name": name, "description": name, "languages": [*map(_tag, known.description.languages)], "speakers": None}
        | made
        for name, known in voices
    ]
    program = {"name": "myxtts", "description": "voices trained with MyXTTS", "voices": listed}
    return program | made | {"supports_synthesize_streaming": True}


def _tag(language: str) -> str:
    """en-us as Home Assistant writes it: en-US."""
    first, *rest = language.split("-")
    return "-".join([first, *(part.upper() if len(part) == 2 else part for part in rest)])
