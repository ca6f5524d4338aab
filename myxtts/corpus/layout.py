"""What a layout is: a small class that turns a folder or file into rows. A reader of your own is one more such class.

    from myxtts.corpus.layout import Layout, look, read_text

    class Mine(Layout):
        name = "mine"
        about = "one .lab file beside every .wav"

        @classmethod
        def recognise(cls, path):                       # the file or folder that shows it, or None
            return next(path.glob("*.lab"), None) if path.is_dir() else None

        def rows(self):
            for row, lab in enumerate(sorted(self.folder.glob("*.lab")), start=1):
                audio = lab.with_suffix(".wav")
                yield self.utterance(row, lab.stem, look(audio) or audio, read_text(lab))

It is found by the entry point group `myxtts.layouts` of an installed package:

    [project.entry-points."myxtts.layouts"]
    mine = "my_package:Mine"
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import ClassVar

from myxtts.corpus.lines import is_clean, printable
from myxtts.corpus.utterance import Rejected, Row, Utterance
from myxtts.errors import RowError

AUDIO_SUFFIXES = (".wav", ".flac", ".ogg", ".opus", ".mp3")


class Layout:
    """A corpus in one layout. `speaker` and `language` serve rows that name none."""

    name: ClassVar[str]
    about: ClassVar[str]  # what it looks like, for the error that lists the layouts
    general: ClassVar[bool] = False  # gives way to a layout that recognises the same file

    def __init__(self, path: Path, speaker: str, language: str):
        self.folder = path if path.is_dir() else path.parent
        self.metadata: Path | None = None  # the file that lists the rows, if one file does
        self.speaker = speaker
        self.language = language

    @classmethod
    def recognise(cls, path: Path) -> Path | None:
        """The file or folder by which `path` is of this layout; None if it is not."""
        raise NotImplementedError

    def rows(self) -> Iterator[Row]:
        """Every row once, in a fixed order."""
        raise NotImplementedError

    def count(self) -> int:
        """How many rows to expect: for progress bars."""
        return sum(1 for _ in self.rows())

    def utterance(
        self, row: int, name: str, audio: Path | RowError, text: str | RowError, speaker: str = "", language: str = ""
    ) -> Row:
        """The row as an `Utterance`, or why it is none. A layout that found a fault gives it in place of the thing."""
        cells = [
            name,
            speaker,
            language,
            "" if isinstance(audio, RowError) else os.fspath(audio).removeprefix(os.fspath(self.folder)),
            "" if isinstance(text, RowError) else text,
        ]  # not the folder of the corpus: its name is no row's fault, and a path may have any bytes
        if not all(map(is_clean, cells)):
            return Rejected(row, printable(name), "bad_encoding", "the row holds a NUL or bytes that are not UTF-8")
        if isinstance(audio, RowError) or isinstance(text, RowError):
            fault = text if isinstance(text, RowError) else audio
            assert isinstance(fault, RowError)
            return Rejected(row, name, fault.reason, fault.message)
        return Utterance(row, name, audio, text, speaker or self.speaker, language or self.language)


def look(path: Path) -> RowError | None:
    """What is wrong with an audio file, as far as its name shows.

    One call of the system for each row: in a packer, whose threads all want the GIL, each costs 136 us.
    """
    try:
        status = os.stat(path)
    except OSError as error:
        if error.errno == errno.ELOOP:
            return RowError("symlink_loop", f"{path} is a symbolic link that leads back to itself")
        if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG):
            return RowError("missing_audio", f"there is no file {path}")
        return RowError("unreadable", f"{path} cannot be read: {error.strerror}")
    if not stat.S_ISREG(status.st_mode):
        return RowError("missing_audio", f"{path} is not a file")
    return None if status.st_size else RowError("empty_audio", f"{path} has 0 bytes")


def find_audio(folder: Path, places: Sequence[str], name: str) -> Path | RowError:
    """`name` with the first suffix that exists, in the first of the places below `folder`."""
    if escapes(name):
        return RowError("escapes_folder", f"the id {name!r} points outside {folder / places[0]}")
    for place in places:
        for suffix in (AUDIO_SUFFIXES[0], "", *AUDIO_SUFFIXES[1:]):
            candidate = folder / place / f"{name}{suffix}"
            fault = look(candidate)
            if fault is None:
                return candidate
            if fault.reason != "missing_audio":
                return fault
    return RowError("missing_audio", f"there is no file {folder / places[0] / name}.wav")


def first_of(name: str, files: Collection[str]) -> str:
    """The audio file of this name among the files, by the order of the suffixes; a name for the error if none is."""
    return next((f"{name}{suffix}" for suffix in AUDIO_SUFFIXES if f"{name}{suffix}" in files), f"{name}.wav")


def same_name(row: int, id: str, audio: Path) -> Rejected:
    """For a folder without a list, where `x.wav` and `x.flac` would both be 'x'."""
    id = printable(id)
    return Rejected(row, id, "duplicate_id", f"{printable(str(audio))}: another file beside it has the id {id!r}, too")


def escapes(name: str) -> bool:
    """Whether a name leads out of the folder that it is looked for in."""
    return os.path.isabs(name) or ".." in name.split("/")


def read_text(path: Path) -> str | RowError:
    """A text file of one utterance on one line; bytes that are not UTF-8 stay visible to `is_clean`."""
    try:
        return " ".join(path.read_bytes().decode("utf-8-sig", "surrogateescape").split())
    except FileNotFoundError:
        return RowError("missing_text", f"there is no file {path}")
    except OSError as error:
        return RowError("unreadable", f"{path} cannot be read: {error.strerror}")
