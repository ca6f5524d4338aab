"""A run as it goes on, what it sounds like, what judges say of it; and every voice that can speak."""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse

from myxtts.models.description import find_checkpoint, weights_file
from myxtts.models.format import MODEL, VOICE
from myxtts.serving.answers import wait_for
from myxtts.serving.encoding import SYNTHETIC_HEADER
from myxtts.serving.problems import Problem
from myxtts.serving.worker import Worker
from myxtts.shapes import Maybe, Number
from myxtts.studio.asked import asked
from myxtts.studio.guard import REPORT_POLICY
from myxtts.studio.live import Live, sample, samples, summary
from myxtts.studio.stage import Stage, Wish
from myxtts.studio.workshop import Workshop

_WISH = {
    "model": str, "text": str, "language": Maybe((None, str)), "speed": Maybe(Number(0.25, 4)),
    "like": Maybe((None, str)),
}  # fmt: skip
_PAGES = ("report", "evaluation")
_PIECE_BYTES = 1 << 20
_README = (
    "A voice made with MyXTTS.\n\nmyxtts say 'Hello.' --model {name} -o hello.wav\nmyxtts serve {name}\n\n"
    "It speaks like a real person: use it only as that person has agreed to.\n"
)


class RunRoutes:
    def __init__(self, workshop: Workshop, stage: Stage, worker: Worker):
        self._workshop, self._stage, self._worker, self._live = workshop, stage, worker, Live()

    def _run(self, request: Request) -> Path:
        return self._workshop.voice(request.path_params["voice"]).run(request.path_params["run"])

    async def run(self, request: Request) -> Response:
        run = self._run(request)
        live = await run_in_threadpool(self._live.look, run)
        return JSONResponse({**summary(run), "live": live, "samples": samples(run)})

    async def sample(self, request: Request) -> Response:
        path = sample(self._run(request), request.path_params["name"])
        if path is None:
            raise Problem(404, "there is no such sample")
        return FileResponse(path, headers=SYNTHETIC_HEADER)

    async def page(self, request: Request) -> Response:
        """report.html or evaluation.html of a run."""
        name = request.path_params["name"]
        path = self._run(request) / f"{name}.html"
        if name not in _PAGES or not path.is_file():
            raise Problem(404, "this page was not made yet")
        return FileResponse(path, headers={"Content-Security-Policy": REPORT_POLICY})

    async def download(self, request: Request) -> Response:
        """All that is needed to speak elsewhere, as one file."""
        run, voice = self._run(request), request.path_params["voice"]
        name = f"{voice}-{run.name}"
        packed = await run_in_threadpool(_packed, find_checkpoint(run), name)
        headers = {"Content-Disposition": f'attachment; filename="{name}.zip"'}
        return StreamingResponse(_pieces(packed), media_type="application/zip", headers=headers)

    async def models(self, request: Request) -> Response:
        await run_in_threadpool(self._stage.refresh)
        models = [{"id": known.name, "languages": known.description.languages,
                   "main_language": known.description.main_language, "own_voice": known.has_voice,
                   "created": known.created} for known in self._stage.known.values()]  # fmt: skip
        return JSONResponse({"models": models})

    async def speak(self, request: Request) -> Response:
        wish = await asked(request, _WISH)
        like = wish.get("like")
        wanted = Wish(wish["model"], wish["text"], wish.get("language"), float(wish.get("speed", 1.0)),
                      None if like is None else self._workshop.voice(like))  # fmt: skip
        await run_in_threadpool(self._stage.refresh)
        await run_in_threadpool(self._stage.check, wanted)
        answer: dict[str, Any] | None = await wait_for(self._worker.submit(self._stage.spoken(wanted)), request)
        return Response(status_code=499) if answer is None else JSONResponse(answer)

    async def sound(self, request: Request) -> Response:
        return FileResponse(self._stage.sound(request.path_params["name"]), headers=SYNTHETIC_HEADER)


def _packed(checkpoint: Path, name: str) -> IO[bytes]:
    """Weights are noise to a compressor: they are stored."""
    file = tempfile.TemporaryFile()  # noqa: SIM115 - it is closed when it is sent
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for path in (checkpoint / MODEL, weights_file(checkpoint), checkpoint / VOICE):
            if path.is_file():
                archive.write(path, f"{name}/{path.name}")
        archive.writestr(f"{name}/README.txt", _README.format(name=name))
    file.seek(0)
    return file


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        while piece := file.read(_PIECE_BYTES):
            yield piece
