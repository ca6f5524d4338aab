"""The models that are served: known by name from the start, loaded when first asked for, unloaded when idle.

Only the worker's thread loads, uses and unloads; what the event loop reads (names, languages) never changes.
"""

from __future__ import annotations

import gc
import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from myxtts.errors import SpeechError
from myxtts.files import hash_file
from myxtts.inference.export_description import ACOUSTIC, is_exported
from myxtts.inference.speakers import find_speaker, load_speaker
from myxtts.inference.vocoder import Vocoder, default_vocoder, find_vocoder
from myxtts.models.description import ModelDescription, weights_file
from myxtts.models.format import VOICE
from myxtts.models.voice import FOLLOWING
from myxtts.serving.memory import Memory
from myxtts.serving.problems import Problem, too_busy

if TYPE_CHECKING:
    from myxtts.inference.speaker import Speaker
    from myxtts.models.voice import Voice

_log = logging.getLogger(__name__)

_GRAPHS_BYTES = 95e6  # of one model: its graphs and the memory of a sentence; measured: 123 MB with 15 MB of weights


@dataclass
class Known:
    """A model that may be asked for."""

    name: str
    folder: Path
    description: ModelDescription
    created: int

    @property
    def weights(self) -> Path:
        return self.folder / ACOUSTIC if is_exported(self.folder) else weights_file(self.folder)

    @property
    def needs_bytes(self) -> float:
        """While it is loaded: its weights twice, as they are read and as they are set, and its graphs."""
        return 2 * self.weights.stat().st_size + _GRAPHS_BYTES

    @cached_property
    def has_voice(self) -> bool:
        return (self.folder / VOICE).is_file()

    def fingerprint(self) -> str:
        """Of its weights, and of how far and in which way it follows voices: with another, kept voices do not fit."""
        reach = self.description.voice_reach
        return f"{hash_file(self.weights)}{f'-{reach:g}-{FOLLOWING}' if reach else ''}"


@dataclass
class Loaded:
    synthesizer: Speaker
    fingerprint: str
    own_voice: Voice | None
    used: float = 0.0
    users: int = 0


class Served:
    def __init__(self, given: list[str], memory_bytes: float, idle_seconds: float, vocoder: str | Path | None = None):
        self.known = {known.name: known for known in map(_know, given)}
        if len(self.known) < len(given):
            raise SpeechError(
                f"found two models of one name among {', '.join(given)}: write NAME=MODEL to tell them apart"
            )
        for known in self.known.values():
            if known.needs_bytes > memory_bytes:
                raise SpeechError(
                    f"{known.name} needs about {known.needs_bytes / 1e9:.2f} GB, --memory-gb is {memory_bytes / 1e9:g}"
                )
        self._memory_bytes, self._idle_seconds, self._memory = memory_bytes, idle_seconds, Memory()
        self._loaded: dict[str, Loaded] = {}
        self._vocoder, self._vocoders = vocoder, dict[str, Vocoder]()
        for name in self.known:  # what is wrong with it is said now
            self.vocoder_of(name)

    def find(self, name: str) -> Known:
        if name not in self.known:
            served = ", ".join(self.known)
            raise Problem(
                404, f"the model {name[:80]!r} is not served: choose one of {served}", "model", "model_not_found"
            )
        return self.known[name]

    def vocoder_of(self, name: str) -> Vocoder:
        """The one that speaks for a model; its weights are read when the model is loaded."""
        if name not in self._vocoders:
            self._vocoders[name] = find_vocoder(self._vocoder or default_vocoder(self.known[name].folder))
        return self._vocoders[name]

    @property
    def first(self) -> Known:
        return next(iter(self.known.values()))

    def loaded(self) -> list[str]:
        return [*self._loaded]

    # ---- on the worker's thread ----

    @contextmanager
    def use(self, name: str) -> Iterator[Loaded]:
        """The model, which stays loaded inside the block."""
        model = self._loaded.get(name) or self._load(self.find(name))
        model.users += 1
        try:
            yield model
        finally:
            model.users -= 1
            model.used = time.monotonic()

    def tidy(self) -> float | None:
        """Unload what is idle, give back what is free. Returns after how many seconds there will be more to do."""
        waits = [self.unload_idle(), self._memory.give_back()]
        return min((wait for wait in waits if wait is not None), default=None)

    def unload_idle(self) -> float | None:
        """Returns the seconds until the next one will be idle for long enough."""
        now = time.monotonic()
        for name, model in [*self._loaded.items()]:
            if not model.users and now - model.used >= self._idle_seconds:
                self._unload(name)
        left = [model.used + self._idle_seconds - now for model in self._loaded.values()]
        return max(min(left), 0.1) if left else None

    def _load(self, known: Known) -> Loaded:
        self._make_room(known)
        started = time.monotonic()
        synthesizer = load_speaker(known.folder, self.vocoder_of(known.name))
        own = synthesizer.hear() if known.has_voice else None
        model = self._loaded[known.name] = Loaded(synthesizer, known.fingerprint(), own)
        _log.info("loaded %s in %.1f s", known.name, time.monotonic() - started)
        return model

    def _make_room(self, known: Known) -> None:
        while self._loaded and self._used_bytes() + known.needs_bytes > self._memory_bytes:
            free = [name for name, model in self._loaded.items() if not model.users]
            if not free:
                raise too_busy(f"no room for {known.name} while the other models speak: try again later", 5.0)
            self._unload(min(free, key=lambda name: self._loaded[name].used))

    def _used_bytes(self) -> float:
        return sum(self.known[name].needs_bytes for name in self._loaded)

    def _unload(self, name: str) -> None:
        del self._loaded[name]
        gc.collect()  # a Keras model is a circle of references
        self._memory.much_is_free()
        _log.info("unloaded %s", name)


def _know(given: str) -> Known:
    """MODEL, or NAME=MODEL; a folder of exactly that name comes first."""
    name, sign, path = given.partition("=")
    if not sign or Path(given).is_dir():
        name, path = _name_of(Path(given)), given
    folder = find_speaker(path)
    known = Known(name, folder, ModelDescription.load(folder), 0)
    known.created = int(known.weights.stat().st_mtime)
    return known


def _name_of(path: Path) -> str:
    """That of the folder; of runs/anna/checkpoints/step-400 it is anna."""
    parts = path.resolve().parts
    return parts[-3] if len(parts) > 2 and parts[-2] == "checkpoints" else parts[-1]
