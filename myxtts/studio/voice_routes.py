"""A voice, its clips, the sentences to read, and what is being done for it."""

from __future__ import annotations

import asyncio
from itertools import islice
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response

from myxtts.cache.manifest import is_cache
from myxtts.corpus.demo_sentences import load_grammar, sentences
from myxtts.corpus.reasons import REASONS
from myxtts.features.voices import languages
from myxtts.inference.longform import split_text
from myxtts.serving.decode import REFUSED
from myxtts.serving.problems import Problem, invalid
from myxtts.serving.uploads import run_apart
from myxtts.studio import plans
from myxtts.studio.asked import asked
from myxtts.studio.clips import Clips
from myxtts.studio.live import summary
from myxtts.studio.tasks import Tasks, calm_jobs, running
from myxtts.studio.workshop import Voice, Workshop
from myxtts.version import __version__

_PROMPTS = 40
_SEED = 1  # of the sentences to read: others than those of the demo corpus
_FIELD_BYTES = 16 << 10
_MOST_OWN_CHARS = 200_000


class VoiceRoutes:
    def __init__(self, workshop: Workshop, tasks: Tasks, overrides: list[str]):
        self._workshop, self._tasks, self._overrides = workshop, tasks, overrides
        self._turn = asyncio.Semaphore(1)  # one sound is decoded at a time
        self._writing = asyncio.Lock()

    def _voice(self, request: Request) -> Voice:
        return self._workshop.voice(request.path_params["voice"])

    async def studio(self, request: Request) -> Response:
        cards = [_card(voice) for voice in await run_in_threadpool(self._workshop.voices)]
        return JSONResponse({"version": __version__, "folder": str(self._workshop.folder), "voices": cards,
                             "languages": languages(), "reasons": _reasons()})  # fmt: skip

    async def create(self, request: Request) -> Response:
        wish = await asked(request, {"title": str, "language": str, "consent": str})
        voice = self._workshop.create(wish["title"], wish["language"], wish["consent"])
        return JSONResponse(_card(voice), 201)

    async def voice(self, request: Request) -> Response:
        return JSONResponse(await run_in_threadpool(_whole, self._voice(request)))

    async def delete(self, request: Request) -> Response:
        async with self._writing:
            voice = self._voice(request)
            if running(voice) is not None:
                raise Problem(409, f"{voice.about.title} is being worked on: stop that first", code="busy")
            await run_in_threadpool(self._workshop.delete, voice)
        return JSONResponse({})

    async def plans(self, request: Request) -> Response:
        presets = await run_in_threadpool(plans.predictions, self._workshop, self._overrides)
        return JSONResponse(
            {"presets": presets, "lengths": plans.LENGTHS, "preparing_seconds": plans.preparing_seconds()}
        )

    async def clips(self, request: Request) -> Response:
        return JSONResponse(await run_in_threadpool(_rows, self._voice(request)))

    async def add_clip(self, request: Request) -> Response:
        self._voice(request)
        async with request.form(max_files=1, max_fields=4, max_part_size=_FIELD_BYTES) as form:
            sound, text, replaced = form.get("sound"), form.get("text", ""), form.get("instead_of", "")
            if sound is None or isinstance(sound, str) or not isinstance(text, str) or not isinstance(replaced, str):
                raise invalid("expected a form with the file 'sound' and the text 'text'", "sound")
            name, content = sound.filename or "clip", await sound.read()
        async with self._turn:
            code, wav, refusal = await run_apart("myxtts.studio.intake", [], content)
        if code == REFUSED:
            reason, _, message = refusal.partition(": ")
            raise invalid(message, "sound", reason)
        if code:
            raise invalid("the sound could not be decoded within the limits", "sound", "undecodable")
        async with self._writing:
            clips = Clips(self._voice(request))  # it may have been deleted meanwhile
            added = clips.add(wav, text, name)
            if replaced:
                clips.remove(replaced)
        return JSONResponse(added, 201)

    async def change_clip(self, request: Request) -> Response:
        wish = await asked(request, {"text": str})
        async with self._writing:
            Clips(self._voice(request)).change(request.path_params["clip"], wish["text"])
        return JSONResponse({})

    async def remove_clip(self, request: Request) -> Response:
        async with self._writing:
            Clips(self._voice(request)).remove(request.path_params["clip"])
        return JSONResponse({})

    async def audio(self, request: Request) -> Response:
        path = await run_in_threadpool(Clips(self._voice(request)).audio, request.path_params["clip"])
        return FileResponse(path)

    async def sentences(self, request: Request) -> Response:
        return JSONResponse(await run_in_threadpool(_to_read, self._voice(request)))

    async def split(self, request: Request) -> Response:
        """A person's own text in sentences to read."""
        wish = await asked(request, {"text": str})
        if len(wish["text"]) > _MOST_OWN_CHARS:
            raise invalid(f"the text is longer than {_MOST_OWN_CHARS} characters: give a part of it", "text")
        language = self._voice(request).about.language
        pieces = await run_in_threadpool(split_text, wish["text"], language)
        return JSONResponse({"sentences": [piece.text for piece in pieces]})

    async def start(self, request: Request) -> Response:
        wish = await asked(request)
        async with self._writing:
            self._tasks.start(self._voice(request), wish)
        return JSONResponse({}, 202)

    async def stop(self, request: Request) -> Response:
        job = running(self._voice(request))
        if job is None:
            raise Problem(409, "nothing is being done for this voice", code="idle")
        job.stop()
        return JSONResponse({})


def _card(voice: Voice) -> dict[str, Any]:
    """What the first page shows of a voice."""
    about, job = voice.about, running(voice)
    busy = None if job is None else job.status()
    return {
        "name": voice.name, "title": about.title, "language": about.language, "created": about.created,
        "runs": len(voice.runs), "packed": is_cache(voice.cache), **Clips(voice).totals(),
        "busy": busy if busy and busy["state"] == "running" else None,
    }  # fmt: skip


def _whole(voice: Voice) -> dict[str, Any]:
    card = _card(voice)
    return {
        **card,
        "folder": str(voice.folder),
        "consent": voice.about.consent,
        "jobs": calm_jobs(voice),
        "runs": [summary(run) for run in voice.runs],
    }


def _rows(voice: Voice) -> dict[str, Any]:
    clips = Clips(voice)
    problems_of = clips.problems()
    rows = [{**row, "problems": problems_of.pop(row["id"], [])} for row in clips.shown()]
    lost = [{"id": name, **problem} for name, problems in problems_of.items() for problem in problems]
    return {"clips": rows, "others": lost[:200], "changeable": clips.changeable}


def _to_read(voice: Voice) -> dict[str, Any]:
    """The next sentences that were not read yet; none in a language that we wrote none for."""
    if not load_grammar(voice.about.language).get("whole"):
        return {"sentences": []}
    read = Clips(voice).texts()
    spoken = (each.spoken for each in sentences(voice.about.language, _SEED))
    return {"sentences": list(islice((text for text in spoken if text not in read), _PROMPTS))}


def _reasons() -> dict[str, Any]:
    return {name: {"what": each.what, "cure": each.cure, "error": each.is_error} for name, each in REASONS.items()}
