"""Opens a corpus, whatever its layout, and yields each row once, checked and in order."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import xxhash

from myxtts.corpus.ljspeech import METADATA, LJSpeech
from myxtts.corpus.manifest import FILE_NAMES, SUFFIXES, Manifest, has_named_columns
from myxtts.corpus.utterance import Rejected, Row, Utterance
from myxtts.errors import CorpusError

MAX_TEXT_CHARACTERS = 2000


class Layout(Protocol):
    """What a layout must offer: a name, its folder, how many rows to expect, and the rows.

    A layout makes sure that the audio of an `Utterance` exists. It looks once: in a packer, whose threads all want the
    GIL, each look at the disk costs 136 us.
    """

    name: str
    folder: Path
    speaker: str
    language: str

    def count(self) -> int: ...

    def rows(self) -> Iterator[Row]: ...


class Corpus:
    """A layout whose rows have passed the checks that hold for every layout."""

    def __init__(self, layout: Layout):
        self.layout = layout
        self.folder = layout.folder
        # What rows that name none are given: without it a corpus cannot be read again as it was.
        self.defaults = {"layout": layout.name, "speaker": layout.speaker, "language": layout.language}

    def count(self) -> int:
        """How many rows to expect: for progress bars."""
        return self.layout.count()

    def rows(self) -> Iterator[Row]:
        """Every row, as an `Utterance` whose audio exists and whose id is new, or as `Rejected`."""
        seen: set[int] = set()  # 64-bit hashes, not the ids: 10 million rows take 0.6 GB instead of 2
        for row in self.layout.rows():
            yield _checked(row, seen) if isinstance(row, Utterance) else row


def _checked(utterance: Utterance, seen: set[int]) -> Row:
    def reject(reason: str, message: str) -> Rejected:
        return Rejected(utterance.row, utterance.id, reason, message)

    key = xxhash.xxh3_64_intdigest(utterance.id.encode())
    if key in seen:
        return reject("duplicate_id", f"the id {utterance.id!r} was already used above")
    seen.add(key)
    if not utterance.text.strip():
        return reject("empty_text", "the row has no text")
    if len(utterance.text) > MAX_TEXT_CHARACTERS:
        return reject("long_text", f"the text has {len(utterance.text)} characters, at most {MAX_TEXT_CHARACTERS} go")
    return utterance


def open_corpus(path: Path | str, layout: str = "auto", speaker: str = "speaker", language: str = "en-us") -> Corpus:
    """Find the layout of a folder or manifest file. `speaker` and `language` serve rows that name none."""
    path = Path(path)
    if not path.exists():
        raise CorpusError(f"there is no corpus {path}: expected a folder with metadata.csv, or a manifest file")
    if layout == "auto":
        layout = _detect(path)
    if layout == LJSpeech.name:
        folder = path if path.is_dir() else path.parent
        if not (folder / METADATA).is_file():
            raise CorpusError(f"{folder} has no {METADATA}: an LJSpeech corpus needs one with lines 'id|text'")
        return Corpus(LJSpeech(folder, speaker, language))
    manifest = path if path.is_file() else _find_manifest(path)
    if manifest is None:
        raise CorpusError(f"{path} has none of {', '.join(FILE_NAMES)}")
    return Corpus(Manifest(manifest, speaker, language))


def _detect(path: Path) -> str:
    if path.is_file():
        if path.suffix.lower() not in SUFFIXES:
            raise CorpusError(f"{path} is not a manifest: expected a folder or a file ending in {', '.join(SUFFIXES)}")
        return Manifest.name if path.name != METADATA or has_named_columns(path) else LJSpeech.name
    manifest = _find_manifest(path)
    if manifest is not None and has_named_columns(manifest):
        return Manifest.name
    if (path / METADATA).is_file():
        return LJSpeech.name
    if manifest is not None:
        return Manifest.name
    found = ", ".join(sorted(entry.name for entry in path.iterdir())[:8]) or "nothing"
    raise CorpusError(
        f"{path} is no corpus: found {found}; expected metadata.csv (LJSpeech: id|text, audio in wavs/) "
        f"or a manifest ({', '.join(FILE_NAMES[:3])}) with the columns audio and text"
    )


def _find_manifest(folder: Path) -> Path | None:
    return next((folder / name for name in FILE_NAMES if (folder / name).is_file()), None)
