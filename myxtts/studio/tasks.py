"""The verbs that the page can start for a voice, one at a time, and what it may say about each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from myxtts.cache.manifest import is_cache
from myxtts.serving.problems import Problem, invalid
from myxtts.shapes import Maybe, Number, Only, misfit
from myxtts.studio.clips import PROBLEMS, Clips
from myxtts.studio.jobs import Job
from myxtts.studio.plans import AUTOMATIC, MOST_STEPS, presets
from myxtts.studio.workshop import Voice

_CALM = ("demo", "check", "pack")  # in jobs/; a training and an evaluation are in their run
_WISHES: dict[str, dict[str, Any]] = {
    "demo": {"utterances": Number(1, 5000, whole=True), "engine": frozenset({"hibari", "espeak"})},
    "check": {},
    "pack": {},
    "train": {"steps": Number(1, MOST_STEPS, whole=True), "preset": Maybe(str), "run": Maybe(str)},
    "evaluate": {"run": str, "sentences": Number(1, 500, whole=True)},
}


class Tasks:
    """`overrides` are settings that were given on the command line: they hold for all that is started."""

    def __init__(self, overrides: list[str]):
        self._settings = [word for each in overrides for word in ("--set", each)]

    def start(self, voice: Voice, wish: dict[str, Any]) -> None:
        kind = wish.get("kind")
        if kind not in _WISHES:
            raise invalid(f"found the kind {str(kind)[:40]!r}, expected one of: {', '.join(_WISHES)}", "kind")
        if unfit := misfit(wish, Only({"kind": str, **_WISHES[kind]})):
            raise invalid(unfit)
        busy = running(voice)
        if busy is not None:
            doing = (busy.about or {}).get("kind", "something")
            raise Problem(409, f"{voice.about.title} is busy ({doing}): wait for it, or stop it first", code="busy")
        getattr(self, f"_{kind}")(voice, wish)

    def _demo(self, voice: Voice, wish: dict[str, Any]) -> None:
        if Clips(voice).shown():
            raise Problem(409, "this voice has recordings already: make a new voice for the demo")
        words = ["demo-corpus", str(voice.corpus), "--utterances", str(wish["utterances"]), "--engine", wish["engine"]]
        (voice.corpus / "wavs").rmdir()  # demo-corpus wants a folder of its own
        Job(voice.folder / "jobs" / "demo").start("demo", words)

    def _check(self, voice: Voice, wish: dict[str, Any]) -> None:
        words = ["check", str(voice.corpus), "--list", str(voice.folder / PROBLEMS), *_who(voice), *self._settings]
        Job(voice.folder / "jobs" / "check").start("check", words)

    def _pack(self, voice: Voice, wish: dict[str, Any]) -> None:
        again = ["--rebuild"] if is_cache(voice.cache) else []
        words = ["pack", str(voice.corpus), "-o", str(voice.cache), *again, *_who(voice), *self._settings]
        Job(voice.folder / "jobs" / "pack").start("pack", words)

    def _train(self, voice: Voice, wish: dict[str, Any]) -> None:
        if not is_cache(voice.cache):
            raise Problem(409, "the recordings are not packed yet: check and pack them first")
        preset = wish.get("preset", AUTOMATIC)
        if preset not in presets():
            raise invalid(f"found the preset {preset[:40]!r}, expected one of: {', '.join(presets())}", "preset")
        given = wish.get("run")
        run = voice.run(given) if given else voice.next_run()
        words = ["train", "--data", str(voice.cache), "--run", str(run), "--steps", str(wish["steps"])]
        words += ["--replan"] if given else [] if preset == AUTOMATIC else ["--preset", preset]
        Job(run / "job").start("train", [*words, *self._settings], run=run.name, steps=wish["steps"], preset=preset)

    def _evaluate(self, voice: Voice, wish: dict[str, Any]) -> None:
        run = voice.run(wish["run"])
        words = ["evaluate", "--model", str(run), "--data", str(voice.cache), "--sentences", str(wish["sentences"])]
        words += ["--html", str(run / "evaluation.html")]
        Job(run / "evaluate").start("evaluate", words, run=run.name)


def running(voice: Voice) -> Job | None:
    return next((job for job in all_jobs(voice) if job.is_running()), None)


def all_jobs(voice: Voice) -> list[Job]:
    places: list[Path] = [voice.folder / "jobs" / kind for kind in _CALM]
    places += [run / part for run in voice.runs for part in ("job", "evaluate")]
    return [Job(place) for place in places]


def calm_jobs(voice: Voice) -> dict[str, Any]:
    """What became of the last demo, check and pack."""
    return {kind: Job(voice.folder / "jobs" / kind).status() for kind in _CALM}


def _who(voice: Voice) -> list[str]:
    return ["--language", voice.about.language, "--speaker", voice.name]
