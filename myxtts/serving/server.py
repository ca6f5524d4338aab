"""The server as a whole: sockets, the worker, the signals. It returns when it was told to end and all is spoken."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from myxtts.errors import SpeechError
from myxtts.serving.app import Api, make_app
from myxtts.serving.metrics import Metrics
from myxtts.serving.served import Served
from myxtts.serving.speaking import Speaking
from myxtts.serving.voices import Voices
from myxtts.serving.worker import Worker
from myxtts.serving.wyoming import Wyoming

_log = logging.getLogger(__name__)

LOOPBACK = ("127.0.0.1", "::1", "localhost")
_STALLED_MS = 60_000  # a reader that takes nothing for so long is cut off by the kernel
_FINISH_SECONDS = 120
_WAITING_CONNECTIONS = 256


@dataclass
class ServerSettings:
    models: list[str]
    host: str = "127.0.0.1"
    port: int = 8020
    vocoder: str | Path | None = None  # None: what comes with each model
    voices: Path | None = None
    api_key: str | None = None
    queue: int = 32
    most_chars: int = 4096
    unload_minutes: float = 15.0
    memory_gb: float = 4.0
    wyoming_port: int | None = None


def serve(settings: ServerSettings, ready: Callable[[str], None]) -> dict[str, Any]:
    """`ready` is called with the address once it answers."""
    if settings.host not in LOOPBACK:
        kept = "with" if settings.api_key else "without"
        _log.warning("%s is reachable from other machines, %s an API key and unencrypted", settings.host, kept)
    metrics = Metrics()
    served = Served(settings.models, settings.memory_gb * 1e9, settings.unload_minutes * 60, settings.vocoder)
    speaking = Speaking(served, Voices(settings.voices), metrics)
    worker = Worker(settings.queue, served.tidy)
    metrics.gauges["myxtts_queue"] = "requests being spoken or waiting", lambda: len(worker)
    metrics.gauges["myxtts_models_loaded"] = "models in memory", lambda: len(served.loaded())
    listening = listen(settings.host, settings.port, "--port")
    worker.start()
    try:
        asyncio.run(_serve(settings, speaking, worker, metrics, listening, ready))
    finally:
        worker.stop()
        listening.close()
    return {"requests": metrics.requests, "spoken_seconds": round(metrics.spoken_seconds, 1)}


async def _serve(
    settings: ServerSettings,
    speaking: Speaking,
    worker: Worker,
    metrics: Metrics,
    listening: socket.socket,
    ready: Callable[[str], None],
) -> None:
    app = make_app(Api(speaking, worker, metrics, settings.most_chars), metrics, settings.api_key, settings.most_chars)
    server = http_server(app)
    wyoming = Wyoming(speaking, worker, settings.most_chars)
    if settings.wyoming_port is not None:
        home = listen(settings.host, settings.wyoming_port, "--wyoming")
        await wyoming.start(home)
        _log.info("Wyoming at %s%s", address_of(home, "tcp"), ", which asks for no key" if settings.api_key else "")
    ready(address_of(listening))
    await server.serve(sockets=[listening])
    await wyoming.finish()


def http_server(app: ASGIApp) -> uvicorn.Server:
    """With our limits. SIGTERM and SIGINT end it: it answers whom it has begun to answer."""
    # h11 by name: where httptools is installed, uvicorn would take that, which sets no limit to headers.
    config = uvicorn.Config(
        app, log_config=None, log_level="warning", access_log=False, lifespan="off", server_header=False, ws="none",
        http="h11", proxy_headers=False,
        timeout_graceful_shutdown=_FINISH_SECONDS, timeout_keep_alive=30, h11_max_incomplete_event_size=32 << 10,
    )  # fmt: skip
    server = uvicorn.Server(config)
    # uvicorn ends gracefully at these, and raises them again after that: then this does nothing more
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: setattr(server, "should_exit", True))
    return server


def listen(host: str, port: int, flag: str) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _STALLED_MS)  # accepted ones inherit it
        listening.bind(address)
    except OSError as error:
        message = f"cannot listen on {host} port {port}: {error.strerror or error}; choose another {flag}"
        raise SpeechError(message) from None
    listening.listen(_WAITING_CONNECTIONS)
    return listening


def address_of(listening: socket.socket, scheme: str = "http") -> str:
    host, port = listening.getsockname()[:2]
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"
