"""The studio's server: on this machine only. It ends when it is told to; what was started goes on without it."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from myxtts.serving.server import address_of, http_server, listen
from myxtts.serving.worker import Worker
from myxtts.studio.app import make_studio
from myxtts.studio.stage import Stage
from myxtts.studio.tasks import running
from myxtts.studio.workshop import Workshop

_MOST_JOBS = 16


@dataclass
class StudioSettings:
    folder: Path = Path("studio")
    port: int = 8021
    overrides: list[str] = field(default_factory=list)


def open_studio(settings: StudioSettings, ready: Callable[[str], None]) -> dict[str, Any]:
    """`ready` is called with the address once it answers. Returns which voices are still being worked on."""
    listening = listen("127.0.0.1", settings.port, "--port")
    workshop = Workshop(settings.folder)
    stage = Stage(workshop)
    worker = Worker(_MOST_JOBS, stage.tidy)
    worker.start()
    try:
        asyncio.run(_serve(workshop, stage, worker, settings, listening, ready))
    finally:
        worker.stop()
        listening.close()
    busy = [voice.name for voice in workshop.voices() if running(voice) is not None]
    return {"folder": str(workshop.folder), "still_working": busy}


async def _serve(
    workshop: Workshop,
    stage: Stage,
    worker: Worker,
    settings: StudioSettings,
    listening: socket.socket,
    ready: Callable[[str], None],
) -> None:
    server = http_server(make_studio(workshop, stage, worker, settings.overrides))
    ready(address_of(listening))
    await server.serve(sockets=[listening])
