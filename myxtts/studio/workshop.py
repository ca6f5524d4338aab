"""The folder of a studio: a folder for each voice, and in it all that belongs to it. A name is checked, never a path.

FOLDER/NAME/voice.json   title, language, who agreed
            corpus/      clips and what is said in them (clips.py), or the demo corpus
            voice.cache  packed
            jobs/KIND/   what was last done: demo, check, pack (jobs.py)
            runs/RUN/    as `myxtts train` makes it, with the folders job/ and evaluate/ for what was last done
FOLDER/spoken/ID.wav     the last sentences that were spoken
FOLDER/.NAME.deleted-by-myxtts   a voice that is being deleted: what a kill leaves of it goes at the next start
"""

from __future__ import annotations

import json
import re
import shutil
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from myxtts.files import read_regular, write_whole
from myxtts.serving.problems import Problem, invalid
from myxtts.shapes import COUNT, misfit

ABOUT = "voice.json"
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
_DELETED = re.compile(rf"\.{_NAME.pattern}\.deleted-by-myxtts")
_LANGUAGE = re.compile(r"[a-z]{2,8}(-[a-z0-9]{1,8}){0,3}")
_NOT_LETTERS = re.compile(r"[^a-z0-9]+")
_SHAPE = {"title": str, "language": str, "consent": str, "created": COUNT}
_MOST_BYTES, _MOST_TITLE, _MOST_CONSENT = 1 << 16, 80, 500


@dataclass(frozen=True)
class About:
    title: str
    language: str
    consent: str
    created: int


@dataclass(frozen=True)
class Voice:
    """A voice, from its first clip to its last run."""

    folder: Path
    about: About

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def corpus(self) -> Path:
        return self.folder / "corpus"

    @property
    def cache(self) -> Path:
        return self.folder / "voice.cache"

    @property
    def runs(self) -> list[Path]:
        """The newest first."""
        paths = [path for path in (self.folder / "runs").glob("run-*") if path.is_dir() and _NAME.fullmatch(path.name)]
        return sorted(paths, key=lambda path: _number_of(path.name), reverse=True)

    def run(self, name: str) -> Path:
        by_name = {path.name: path for path in self.runs}
        if name not in by_name:
            raise Problem(404, f"{self.name} has no run {name[:60]!r}", code="unknown_run")
        return by_name[name]

    def next_run(self) -> Path:
        return self.folder / "runs" / f"run-{max((_number_of(path.name) for path in self.runs), default=0) + 1}"


class Workshop:
    def __init__(self, folder: Path):
        self.folder = folder.resolve()
        self.folder.mkdir(parents=True, exist_ok=True)
        for left in self.folder.iterdir():
            if _DELETED.fullmatch(left.name):
                shutil.rmtree(left, ignore_errors=True)  # what cannot be removed now is tried again next time

    @property
    def spoken(self) -> Path:
        return self.folder / "spoken"

    def voices(self) -> list[Voice]:
        """The newest first."""
        voices = [_read(path.parent) for path in self.folder.glob(f"*/{ABOUT}") if _NAME.fullmatch(path.parent.name)]
        return sorted(voices, key=lambda voice: voice.about.created, reverse=True)

    def voice(self, name: str) -> Voice:
        folder = self.folder / name if _NAME.fullmatch(name) else None
        if folder is None or not (folder / ABOUT).is_file():
            raise Problem(404, f"there is no voice {name[:60]!r} here", code="unknown_voice")
        return _read(folder)

    def create(self, title: str, language: str, consent: str) -> Voice:
        title, consent = " ".join(title.split()), " ".join(consent.split())
        if not title or len(title) > _MOST_TITLE:
            raise invalid(f"expected a name for the voice, of at most {_MOST_TITLE} characters", "title")
        if not _LANGUAGE.fullmatch(language):
            raise invalid(f"{language[:40]!r} is no code of a language, such as en-us or fa", "language")
        if not consent or len(consent) > _MOST_CONSENT:
            raise invalid("say whose voice it is and that this person agrees", "consent")
        folder = self._free(_NOT_LETTERS.sub("-", title.lower()).strip("-")[:32].strip("-") or "voice")
        (folder / "corpus" / "wavs").mkdir(parents=True)
        about = About(title, language, consent, int(time.time()))
        write_whole(folder / ABOUT, json.dumps(asdict(about), ensure_ascii=False, indent=2).encode())
        return Voice(folder, about)

    def delete(self, voice: Voice) -> None:
        """All that belongs to it. Sentences that were spoken do not say in whose voice: they go too."""
        try:
            shutil.rmtree(voice.folder.rename(self.folder / f".{voice.name}.deleted-by-myxtts"))
            for sound in self.spoken.glob("*.wav"):  # the folder stays: another sentence may be on its way into it
                sound.unlink(missing_ok=True)
        except OSError as error:
            left = f"remove what is left of it in {self.folder}"
            raise Problem(500, f"{voice.name} was not completely deleted ({error}): {left}") from None

    def _free(self, name: str) -> Path:
        taken = {"spoken", *(path.name for path in self.folder.iterdir())}
        names = [name, *(f"{name}-{number}" for number in range(2, len(taken) + 3))]
        return self.folder / next(each for each in names if each not in taken)


def _read(folder: Path) -> Voice:
    try:
        values: dict[str, Any] = json.loads(read_regular(folder / ABOUT, _MOST_BYTES))
    except (OSError, ValueError) as error:
        raise Problem(500, f"{folder.name}/{ABOUT} cannot be read ({error}): mend it or move it away") from None
    if unfit := misfit(values, _SHAPE):
        raise Problem(500, f"{folder.name}/{ABOUT}: {unfit}: mend it or move it away")
    return Voice(folder, About(**{name: values[name] for name in _SHAPE}))


def _number_of(run: str) -> int:
    number = run.rpartition("-")[2]
    return int(number) if number.isdecimal() else 0
