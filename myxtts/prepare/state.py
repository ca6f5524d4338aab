"""What a corpus in the making remembers: its recordings, their texts, and all that a recogniser has said.

    CORPUS/prepare/journal.jsonl      a line per recording, per answer of the recogniser, per cut that a text asks for,
                                      per finished group
    CORPUS/prepare/*.windows.npy      what was heard of each recording, every 32 ms
    CORPUS/prepare/*.text.txt         the texts that were given
    CORPUS/prepare/decisions.jsonl    what a person decided in the review

Killed at any moment, the next run finds every line that was written, and asks for what is missing.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import xxhash

from myxtts.cache.journal import Journal, read_journal
from myxtts.errors import PrepareError
from myxtts.files import try_lock, write_whole
from myxtts.prepare.ears import Heard
from myxtts.prepare.slicing import Stretch, cut
from myxtts.prepare.windows import Windows
from myxtts.shapes import COUNT, Maybe, Number, Only

_log = logging.getLogger(__name__)

ALIGNER = "aligner"  # the name of an ear that is a voice begins with it

_OURS = {"prepare": 1}
_SHARE = Number(0, 1)
_LINE = Only(
    {
        "source": Maybe(Only({"digest": str, "name": str, "path": str, "rate": COUNT, "seconds": Number(0)})),
        "heard": Maybe(Only({"slice": str, "text": str, "confidence": _SHARE})),
        "cuts": Maybe(Only({"source": str, "at": [Number(0)]})),
        "group": Maybe(
            Only({"sources": [str], "text": (str, None), "text_name": str, "language": str, "speaker": str, "ear": str})
        ),
    }
)


@dataclass(frozen=True)
class Source:
    """A recording: which one is said by the digest of its bytes, not by where it lies."""

    digest: str
    name: str
    path: str
    rate: int
    seconds: float

    def id_of(self, stretch: Stretch) -> str:
        return f"{self.name}-{round(stretch.start * 1000):08d}"

    def key_of(self, stretch: Stretch, ear: str) -> str:
        return f"{self.digest[:16]} {stretch.start:.3f}-{stretch.end:.3f} {ear}"


@dataclass(frozen=True)
class Group:
    """Recordings that one text goes with, in order, or that have none."""

    sources: tuple[str, ...]
    text: str | None
    text_name: str
    language: str
    speaker: str
    ear: str

    @property
    def is_aligned(self) -> bool:
        """Whether a voice has found the words in the text, and not a recogniser's words."""
        return self.ear.startswith(ALIGNER)


class State:
    """Open it with `with`: it holds the lock of the corpus, which dies with its process."""

    def __init__(self, corpus: Path):
        self.corpus, self.folder = corpus, corpus / "prepare"
        refuse_strangers(corpus)
        self.folder.mkdir(parents=True, exist_ok=True)
        self._lock = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
        if not try_lock(self._lock):
            os.close(self._lock)
            raise PrepareError(f"{corpus} is being prepared by another process: wait for it, or name another -o")
        self.sources: dict[str, Source] = {}
        self.groups: list[Group] = []
        self.heard: dict[str, Heard] = {}
        self._cuts: dict[str, set[float]] = {}
        lines = read_journal(self.folder / "journal.jsonl", _LINE)
        _warn_of_damage(self.folder / "journal.jsonl", len(lines))
        for line in lines[1:]:
            self._learn(line)
        self._journal = Journal(self.folder / "journal.jsonl", [_OURS, *lines[1:]])

    def __enter__(self) -> State:
        return self

    def __exit__(self, *_: Any) -> None:
        self._journal.close()
        os.close(self._lock)

    def knows(self, digest: str) -> bool:
        """Whether a recording was listened to, and what was heard is still there."""
        return digest in self.sources and self._windows_file(digest).is_file()

    def add_source(self, digest: str, path: Path, rate: int, windows: Windows) -> Source:
        windows.save(self._windows_file(digest))
        if digest in self.sources:
            return self.sources[digest]
        source = Source(digest, self._free_name(path.stem, digest), str(path.resolve()), rate, windows.seconds)
        self._append({"source": asdict(source)})
        return source

    def note_place(self, digest: str, paths: Iterable[Path]) -> None:
        """Where a recording lies now, of which there may be copies: it may have been moved since it was listened to."""
        source, places = self.sources[digest], [str(path.resolve()) for path in paths]
        if source.path not in places:
            self._append({"source": asdict(replace(source, path=places[0]))})

    def add_heard(self, key: str, heard: Heard) -> None:
        self._append({"heard": {"slice": key, "text": heard.text, "confidence": round(heard.confidence, 4)}})

    def add_group(self, group: Group) -> None:
        if group not in self.groups or any(set(group.sources) & set(one.sources) for one in self._after(group)):
            self._append({"group": asdict(group) | {"sources": list(group.sources)}})

    def keep_text(self, text: str) -> str:
        digest = xxhash.xxh3_64_hexdigest(text.encode())
        write_whole(self._text_file(digest), text.encode())
        return digest

    def text(self, digest: str) -> str:
        return self._text_file(digest).read_text(encoding="utf-8")

    def stretches(self, source: Source) -> list[Stretch]:
        return cut(self.windows(source), self._cuts.get(source.digest, ()))

    def windows(self, source: Source) -> Windows:
        return Windows.load(self._windows_file(source.digest))

    def add_cuts(self, source: Source, places: Iterable[float]) -> bool:
        """Cut there, too. False if all of them are made."""
        new = sorted(set(places) - self._cuts.get(source.digest, set()))
        if new:
            self._append({"cuts": {"source": source.digest, "at": new}})
        return bool(new)

    def current_groups(self) -> list[Group]:
        """Each recording in the last group that names it."""
        last = {digest: n for n, group in enumerate(self.groups) for digest in group.sources}
        own = [tuple(one for one in group.sources if last[one] == n) for n, group in enumerate(self.groups)]
        return [replace(group, sources=each) for group, each in zip(self.groups, own, strict=True) if each]

    def _after(self, group: Group) -> list[Group]:
        return self.groups[self.groups.index(group) + 1 :]

    def _append(self, line: dict[str, Any]) -> None:
        self._journal.append(line)
        self._learn(line)

    def _learn(self, line: dict[str, Any]) -> None:
        if source := line.get("source"):
            self.sources[source["digest"]] = Source(**source)
        if heard := line.get("heard"):
            self.heard[heard["slice"]] = Heard(heard["text"], heard["confidence"])
        if cuts := line.get("cuts"):
            self._cuts.setdefault(cuts["source"], set()).update(cuts["at"])
        if group := line.get("group"):
            self.groups.append(Group(**group | {"sources": tuple(group["sources"])}))

    def _free_name(self, stem: str, digest: str) -> str:
        name = "".join(char if char.isalnum() or char in "-_" else "_" for char in stem).strip("_") or "recording"
        taken = {source.name for source in self.sources.values()}
        return f"{name}-{digest[:6]}" if name in taken else name

    def _windows_file(self, digest: str) -> Path:
        return self.folder / f"{digest}.windows.npy"

    def _text_file(self, digest: str) -> Path:
        return self.folder / f"{digest}.text.txt"


def _warn_of_damage(journal: Path, known: int) -> None:
    """A line that a kill tore is no loss; lines in the middle that cannot be read are."""
    lost = journal.read_bytes().count(b"\n") - known if journal.is_file() else 0
    if lost > 0:
        _log.warning("%s is damaged, its last %d line(s) are dropped: name those recordings again", journal, lost)


def refuse_strangers(corpus: Path) -> None:
    """What we did not make is not added to."""
    if corpus.exists() and not corpus.is_dir():
        raise PrepareError(f"{corpus} is a file, expected a folder to make or to add to")
    if corpus.is_dir() and any(corpus.iterdir()) and not (corpus / "prepare").is_dir():
        raise PrepareError(f"{corpus} is a folder that 'myxtts prepare' did not make: name a new one with -o")
