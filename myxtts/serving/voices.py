"""Voices that were added: what a model heard in a clip (never the clip), and who gave consent.

    NAME.safetensors   a `Voice`: what draws the sound, what reads the text, the recording's colour and pitch
    NAME.json          the model and its fingerprint, consent, time; written last, deleted first

A name is a name, never a path: it is checked letter by letter before a file of that name is made.
"""

from __future__ import annotations

import json
import re
import time
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myxtts.errors import SpeechError
from myxtts.files import read_regular, write_whole
from myxtts.models import weights
from myxtts.serving.order import OPENAI_VOICES, OWN_VOICE
from myxtts.serving.problems import Problem, invalid

Tensors = dict[str, NDArray[Any]]

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_MOST_VOICES = 1000
_MOST_BYTES = 1 << 16


@dataclass
class Kept:
    """What is known of a voice."""

    name: str
    model: str
    fingerprint: str  # of the weights that heard it, and of how they follow a voice
    consent: str
    created: int
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        return {
            "id": self.name, "object": "audio.voice", "name": self.name, "model": self.model, "consent": self.consent,
            "created_at": self.created, "seconds": self.seconds,
        }  # fmt: skip


class Voices:
    """Without a folder there are none, and none can be added."""

    def __init__(self, folder: Path | None):
        self._folder, self._kept = folder, dict[str, Kept]()
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            self._kept = {kept.name: kept for kept in map(_read, sorted(folder.glob("*.json")))}

    def list(self) -> list[Kept]:
        return sorted(self._kept.values(), key=lambda kept: kept.name)

    def find(self, name: str, model: str) -> Kept:
        """The voice of that name, which must have been encoded by that model."""
        kept = self._kept.get(name)
        if kept is None:
            known = ", ".join([OWN_VOICE, *self._kept])
            raise invalid(f"found the voice {name!r}, expected one of: {known}", "voice", "voice_not_found")
        if kept.model != model:
            raise invalid(
                f"the voice {name} was added for the model {kept.model}, not for {model}: add it again", "voice"
            )
        return kept

    def tensors(self, kept: Kept, fingerprint: str) -> Tensors:
        if kept.fingerprint != fingerprint:
            raise invalid(
                f"{kept.model}, or how it follows voices, has changed since the voice {kept.name} was added: add it "
                "again", "voice",
            )  # fmt: skip
        return weights.load(self._path(kept.name, "safetensors"))

    def check_new(self, name: str, consent: str) -> None:
        if self._folder is None:
            raise Problem(403, "this server keeps no voices: start it with --voices DIR")
        if not _NAME.fullmatch(name) or name in (OWN_VOICE, *OPENAI_VOICES):
            raise invalid("expected a name of a-z, 0-9, - and _, 64 at most, that is not a built-in voice", "name")
        if name in self._kept:
            raise Problem(409, f"there is a voice {name}: delete it first, or choose another name", "name")
        if not consent.strip() or len(consent) > 1000:
            raise invalid("consent must say who agreed to the use of this voice, in up to 1000 characters", "consent")
        if len(self._kept) >= _MOST_VOICES:
            raise Problem(403, f"{_MOST_VOICES} voices are kept: delete some first")

    def add(self, kept: Kept, tensors: Tensors) -> None:
        self.check_new(kept.name, kept.consent)
        weights.save(self._path(kept.name, "safetensors"), tensors)
        write_whole(self._path(kept.name, "json"), json.dumps(asdict(kept), ensure_ascii=False, indent=2).encode())
        self._kept[kept.name] = kept

    def delete(self, name: str) -> None:
        if name not in self._kept:
            raise Problem(404, f"there is no voice {name[:80]!r}", code="voice_not_found")
        del self._kept[name]
        for kind in ("json", "safetensors"):
            self._path(name, kind).unlink(missing_ok=True)

    def _path(self, name: str, kind: str) -> Path:
        assert self._folder is not None
        return self._folder / f"{name}.{kind}"


def keep(name: str, model: str, fingerprint: str, consent: str, seconds: float) -> Kept:
    return Kept(name, model, fingerprint, consent, int(time.time()), round(seconds, 2))


def _read(path: Path) -> Kept:
    try:
        values = json.loads(read_regular(path, _MOST_BYTES))
        kept = Kept(**{each.name: values[each.name] for each in fields(Kept)})
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise SpeechError(f"{path} is not a voice that a server kept ({error!r}): remove it from --voices") from None
    if kept.name != path.stem or not _NAME.fullmatch(kept.name):
        raise SpeechError(f"{path} is the voice {kept.name!r}, expected the name of the file: rename or remove it")
    return kept


def to_tensors(voice: Any) -> Tensors:
    return {name: np.asarray(tensor, np.float32) for name, tensor in voice._asdict().items() if tensor is not None}
