"""Who can speak now: the base voice and every run that has saved a checkpoint, as models of the server.

A training makes better checkpoints while it is listened to: each request speaks with the best of its moment.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from myxtts.errors import CheckpointError
from myxtts.inference.reference import read_references
from myxtts.inference.speech import Speech, join
from myxtts.inference.vocoder import DEFAULT_VOCODER
from myxtts.models.description import ModelDescription, find_checkpoint, weights_file
from myxtts.models.shipped import BASE
from myxtts.serving.problems import Problem, invalid
from myxtts.serving.served import Known, Loaded, Served
from myxtts.studio.clips import Clips
from myxtts.studio.workshop import Voice, Workshop

MOST_CHARS = 1000
_MEMORY_BYTES, _IDLE_SECONDS = 4e9, 900.0
_KEPT = 200  # spoken sentences on the disk
_REFERENCES = 3  # clips that show a voice
_REFERENCE_SECONDS = (2.0, 12.0)


@dataclass
class Run(Known):
    """Its size is asked for once: the checkpoint may be replaced by a better one while it is loaded."""

    bytes: float = field(default=0.0)

    @property
    def needs_bytes(self) -> float:
        return self.bytes


@dataclass(frozen=True)
class Wish:
    """What to say, by whom, and like whom: None is the model's own voice."""

    model: str
    text: str
    language: str | None = None
    speed: float = 1.0
    like: Voice | None = None


class Stage(Served):
    def __init__(self, workshop: Workshop):
        super().__init__([BASE], _MEMORY_BYTES, _IDLE_SECONDS, DEFAULT_VOCODER)
        self._workshop = workshop
        self._base = self.known[BASE]
        self._in_memory: dict[str, Known] = {}  # what is loaded, as it was known then

    def refresh(self) -> None:
        """Look which runs there are and which checkpoint is their best."""
        current: dict[str, Known] = {BASE: self._base}
        for voice in self._workshop.voices():
            for run in voice.runs:
                name = f"{voice.name}.{run.name}"
                known = self._know(name, run)
                if known is not None:
                    current[name] = known
        self.known = current

    def _know(self, name: str, run: Path) -> Known | None:
        try:
            folder = find_checkpoint(run)
            made = int(weights_file(folder).stat().st_mtime)  # a voice may have been deleted, and another have its name
            before = self.known.get(name)
            if before is not None and (before.folder, before.created) == (folder, made):
                return before
            known = Run(name, folder, ModelDescription.load(folder), made)
            known.bytes = Known(name, folder, known.description, known.created).needs_bytes
        except (CheckpointError, OSError):  # none yet, or replaced this moment
            return None
        return known

    @contextmanager
    def use(self, name: str) -> Iterator[Loaded]:
        """As of the server, but never an old checkpoint."""
        known, loaded = self.find(name), self._loaded.get(name)
        if loaded is not None and not loaded.users and self._in_memory[name] is not known:
            self._unload(name)
        if name not in self._loaded:
            self._in_memory[name] = known
        with super().use(name) as in_use:
            yield in_use

    def _used_bytes(self) -> float:
        """Also of a voice that was deleted and not used since: it is unloaded when it has been idle for long enough."""
        return sum(self._in_memory[name].needs_bytes for name in self._loaded)

    def check(self, wish: Wish) -> None:
        known = self.find(wish.model)
        if not wish.text.strip() or len(wish.text) > MOST_CHARS:
            raise invalid(f"the text has {len(wish.text)} characters, expected 1 to {MOST_CHARS}", "text")
        if wish.like is None and not known.has_voice:
            raise invalid(f"{wish.model} has no voice of its own: choose whom it shall sound like", "like")
        if wish.like is not None and not references(wish.like):
            raise invalid(f"{wish.like.about.title} has no recording yet: record one first", "like")

    def spoken(self, wish: Wish) -> Iterator[dict[str, Any] | None]:
        """On the worker's thread, once: the name of the sound, its length and how long it took."""
        yield None  # it is its turn
        started = time.perf_counter()
        with self.use(wish.model) as loaded:
            heard, warnings = _heard(wish, loaded)
            loaded_ms = (time.perf_counter() - started) * 1e3
            options = {"language": wish.language, "speed": wish.speed, "vocoder": self.vocoder_of(wish.model)}
            pieces = []
            for piece in loaded.synthesizer.stream(wish.text, heard, **options):
                pieces.append(piece)
                yield None
            speech = join(pieces)
        name = self._keep(speech)
        yield {
            "id": name, "seconds": round(speech.seconds, 2), "skipped": speech.skipped, "warnings": warnings,
            "ready_ms": round(loaded_ms), "spoken_ms": round((time.perf_counter() - started) * 1e3 - loaded_ms),
        }  # fmt: skip

    def sound(self, name: str) -> Path:
        path = self._workshop.spoken / f"{name}.wav"
        if len(name) != 16 or not name.isalnum() or not path.is_file():
            raise Problem(404, "this sentence is not kept any more: speak it again", code="unknown_sound")
        return path

    def _keep(self, speech: Speech) -> str:
        folder, name = self._workshop.spoken, secrets.token_hex(8)
        folder.mkdir(exist_ok=True)
        speech.save(folder / f"{name}.wav")
        kept = sorted(folder.glob("*.wav"), key=_written_at)
        for old in kept[:-_KEPT]:
            old.unlink(missing_ok=True)
        return name


def _written_at(path: Path) -> float:
    """Of one that was deleted meanwhile: never."""
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def _heard(wish: Wish, loaded: Loaded) -> tuple[Any, list[str]]:
    """The voice, and what speaks against the clips that show it, which are called by their names."""
    if wish.like is None:
        return loaded.own_voice, []
    paths = references(wish.like)
    reference = read_references(paths, loaded.synthesizer.description)
    warnings = [warning.replace(f"{paths[0].parent}{os.sep}", "") for warning in reference.warnings]
    return loaded.synthesizer.hear(reference), warnings


def references(voice: Voice) -> list[Path]:
    """Clips that show a voice: neither the shortest nor the longest of the first hundred."""
    clips = Clips(voice)
    timed = [(row["seconds"] or 0.0, row["id"]) for row in clips.shown()[:100]]
    low, high = _REFERENCE_SECONDS
    good = [name for seconds, name in timed if low <= seconds <= high] or [name for _, name in sorted(timed)[-1:]]
    return [clips.audio(name) for name in good[:_REFERENCES]]
