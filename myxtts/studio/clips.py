"""The clips of a voice and what is said in them: `corpus/manifest.jsonl`, which `check` and `pack` read as it is.

A corpus that another program made (the demo corpus) is shown and used, and not changed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from myxtts.corpus.read import MAX_TEXT_CHARACTERS, open_corpus
from myxtts.corpus.utterance import Utterance
from myxtts.errors import CorpusError
from myxtts.features.wav import plain_wav_length
from myxtts.files import read_regular, write_whole
from myxtts.serving.problems import Problem, invalid
from myxtts.studio.workshop import Voice

MANIFEST, PROBLEMS = "manifest.jsonl", "check.jsonl"
MOST_CLIPS = 20_000
_MOST_BYTES = 64 << 20
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,59}")
_counted: dict[Path, tuple[tuple[int, int], dict[str, Any]]] = {}  # with the state of the list that was counted
_NOT_A_NAME = re.compile(r"[^a-z0-9_-]+")


class Clips:
    """Of one voice; read anew for each request, so that what other programs do to the folder is seen."""

    def __init__(self, voice: Voice):
        self._voice, self._folder = voice, voice.corpus
        self._manifest = self._folder / MANIFEST

    @property
    def changeable(self) -> bool:
        """Whether clips can be added: not to a corpus that is listed in another file."""
        return self._manifest.is_file() or not (self._folder / "metadata.csv").exists()

    def shown(self) -> list[dict[str, Any]]:
        """Each with id, text, seconds (None where its file does not say so at once) and whether it can be heard."""
        return [_shown(name, text, path) for name, text, path in self._rows()]

    def totals(self) -> dict[str, Any]:
        """Asked for every other second: 20,000 clips are counted again only when their list has changed."""
        changed = self._changed()
        if self._folder not in _counted or _counted[self._folder][0] != changed:
            rows = self.shown()
            seconds = round(sum(row["seconds"] or 0.0 for row in rows), 2)
            _counted[self._folder] = changed, {"clips": len(rows), "seconds": seconds}
        return {**_counted[self._folder][1], "changeable": self.changeable, "changed": changed[0] / 1e9}

    def _changed(self) -> tuple[int, int]:
        """When rows were last written, in ns, and how long their list is: what was packed before is out of date."""
        listed = (path.stat() for path in (self._manifest, self._folder / "metadata.csv") if path.is_file())
        return max(((stat.st_mtime_ns, stat.st_size) for stat in listed), default=(0, 0))

    def audio(self, name: str) -> Path:
        clip = {each: path for each, _, path in self._rows()}.get(name)
        if clip is None or not clip.is_file():
            raise Problem(404, f"there is no clip {name[:80]!r}", code="unknown_clip")
        return clip

    def texts(self) -> set[str]:
        return {text for _, text, _ in self._rows()}

    def add(self, sound: bytes, text: str, wanted: str) -> dict[str, Any]:
        """A mono 16-bit wav under a name made of the wanted one. The row is written last."""
        rows = self._own()
        if len(rows) >= MOST_CLIPS:
            raise invalid(f"{MOST_CLIPS} clips are the most: train with the command line on larger corpora")
        name = _free(wanted, {row["id"] for row in rows})
        path = self._folder / "wavs" / f"{name}.wav"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, sound)
        self._write([*rows, {"id": name, "audio": f"wavs/{name}.wav", "text": _text(text)}])
        return _shown(name, text, path)

    def change(self, name: str, text: str) -> None:
        rows = self._own()
        self._find(rows, name)["text"] = _text(text)
        self._write(rows)

    def remove(self, name: str) -> None:
        """The row first: a file without a row is no clip."""
        rows = self._own()
        row = self._find(rows, name)
        self._write([each for each in rows if each is not row])
        (self._folder / "wavs" / f"{row['id']}.wav").unlink(missing_ok=True)

    def problems(self) -> dict[str, list[dict[str, Any]]]:
        """What the last check said, by the id of the row."""
        by_row: dict[str, list[dict[str, Any]]] = {}
        try:
            lines = read_regular(self._voice.folder / PROBLEMS, _MOST_BYTES).decode().splitlines()
        except FileNotFoundError:
            return {}
        for problem in map(json.loads, lines):
            brief = {name: problem[name] for name in ("reason", "kind", "message")}
            by_row.setdefault(problem["id"], []).append(brief)
        return by_row

    def _rows(self) -> Iterable[tuple[str, str, Path]]:
        if self.changeable:
            return [(row["id"], row["text"], self._folder / "wavs" / f"{row['id']}.wav") for row in self._own()]
        try:
            rows = open_corpus(self._folder, language=self._voice.about.language).rows()
            return [(row.id, row.text, row.audio) for row in rows if isinstance(row, Utterance)]
        except CorpusError:  # half made: the job that makes it says how far it is
            return []

    def _own(self) -> list[dict[str, Any]]:
        if not self.changeable:
            raise Problem(409, "these recordings were made by another program and are not changed here: make a new "
                               "voice for your own")  # fmt: skip
        try:
            lines = read_regular(self._manifest, _MOST_BYTES).decode().splitlines()
            rows = [json.loads(line) for line in lines if line.strip()]
        except FileNotFoundError:
            return []
        except ValueError as error:
            raise Problem(500, f"{self._voice.name}/corpus/{MANIFEST} is damaged ({error}): mend the line") from None
        return [row for row in rows if _NAME.fullmatch(str(row.get("id"))) and isinstance(row.get("text"), str)]

    def _write(self, rows: list[dict[str, Any]]) -> None:
        write_whole(self._manifest, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode())

    def _find(self, rows: list[dict[str, Any]], name: str) -> dict[str, Any]:
        for row in rows:
            if row["id"] == name:
                return row
        raise Problem(404, f"there is no clip {name[:80]!r}", code="unknown_clip")


def _shown(name: str, text: str, path: Path) -> dict[str, Any]:
    length = plain_wav_length(path)
    seconds = round(length[0] / length[1], 2) if length else None
    return {"id": name, "text": text, "seconds": seconds}


def _text(text: str) -> str:
    text = " ".join(text.split())
    if len(text) > MAX_TEXT_CHARACTERS:
        raise invalid(f"the text has {len(text)} characters, expected at most {MAX_TEXT_CHARACTERS}", "text")
    return text


def _free(wanted: str, taken: set[str]) -> str:
    """A name made of what the person's file was called: letters of a file name, and of nothing else."""
    stem = wanted.rpartition("/")[2].rpartition("\\")[2].partition(".")[0].lower()
    name = _NOT_A_NAME.sub("-", stem).strip("-_")[:48].strip("-_") or "clip"
    names = [name, *(f"{name}-{number}" for number in range(2, len(taken) + 3))]
    return next(each for each in names if each not in taken)
