"""Opens a corpus, whatever its layout, and yields each row once, checked and in order."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import xxhash

from myxtts.corpus.detect import detect, find_layout
from myxtts.corpus.layout import Layout
from myxtts.corpus.utterance import Rejected, Row, Utterance
from myxtts.errors import CorpusError

MAX_TEXT_CHARACTERS = 2000
_GROUPS = {"speaker", "language"}


class Corpus:
    """A layout whose rows have passed the checks that hold for every layout."""

    def __init__(self, layout: Layout, speaker_pattern: str | None = None):
        self.layout = layout
        self.folder = layout.folder
        self._pattern = None if speaker_pattern is None else _compile(speaker_pattern)
        # What rows that name none are given: without it a corpus cannot be read again as it was.
        self.defaults: dict[str, Any] = {"layout": layout.name, "speaker": layout.speaker, "language": layout.language}
        if speaker_pattern is not None:
            self.defaults["speaker_pattern"] = speaker_pattern

    def count(self) -> int:
        """How many rows to expect: for progress bars."""
        return self.layout.count()

    def rows(self) -> Iterator[Row]:
        """Every row, as an `Utterance` whose audio exists and whose id is new, or as `Rejected`."""
        seen: set[int] = set()  # 64-bit hashes, not the ids: 10 million rows take 0.6 GB instead of 2
        try:
            for row in self.layout.rows():
                if isinstance(row, Utterance) and self._pattern is not None:
                    row = self._named(row, self._pattern)
                yield _checked(row, seen) if isinstance(row, Utterance) else row
        except OSError as error:  # of a folder or list; a file that cannot be read is a rejected row
            raise _cannot_read(error, self.folder) from None

    def _named(self, utterance: Utterance, pattern: re.Pattern[str]) -> Row:
        """With the speaker and language that the pattern finds in the path of its audio, seen from the corpus."""
        inside = utterance.audio.is_relative_to(self.folder)
        path = (utterance.audio.relative_to(self.folder) if inside else utterance.audio).as_posix()
        match = pattern.search(path)
        names: dict[str, Any] = (
            {} if match is None else {group: name for group, name in match.groupdict().items() if name}
        )
        if names.keys() != pattern.groupindex.keys():
            message = f"the pattern {pattern.pattern!r} finds no {' and '.join(pattern.groupindex)} in {path!r}"
            return Rejected(utterance.row, utterance.id, "no_speaker", message)
        return dataclasses.replace(utterance, **names)


def _compile(pattern: str) -> re.Pattern[str]:
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise CorpusError(f"the speaker pattern {pattern!r} is not a regular expression: {error}") from None
    if not compiled.groupindex or not _GROUPS.issuperset(compiled.groupindex):
        raise CorpusError(
            f"the speaker pattern {pattern!r} has the groups {sorted(compiled.groupindex) or 'none'}: expected "
            "(?P<speaker>...), (?P<language>...) or both, for instance '(?P<speaker>[^/]+)/[^/]+$'"
        )
    return compiled


def _checked(utterance: Utterance, seen: set[int]) -> Row:
    def reject(reason: str, message: str) -> Rejected:
        return Rejected(utterance.row, utterance.id, reason, message)

    try:
        key = xxhash.xxh3_64_intdigest(utterance.id.encode())
        f"{utterance.speaker}{utterance.language}{utterance.text}".encode()
    except UnicodeEncodeError:  # of names of files and folders; lines were looked at by their layout
        return reject("bad_encoding", "the id, speaker, language or text is not UTF-8: rename the file or folder")
    if key in seen:
        return reject("duplicate_id", f"the id {utterance.id!r} was already used above")
    seen.add(key)
    if not utterance.text.strip():
        return reject("empty_text", "the row has no text")
    if len(utterance.text) > MAX_TEXT_CHARACTERS:
        return reject("long_text", f"the text has {len(utterance.text)} characters, the limit is {MAX_TEXT_CHARACTERS}")
    return utterance


def open_corpus(
    path: Path | str,
    layout: str = "auto",
    speaker: str = "speaker",
    language: str = "en-us",
    speaker_pattern: str | None = None,
) -> Corpus:
    """Find the layout of a folder or manifest file. `speaker` and `language` serve rows that name none.

    `speaker_pattern` is a regular expression with the group `speaker`, `language` or both, which then come from the
    path of each audio file and not from the layout.
    """
    path = Path(path)
    if not path.exists():
        raise CorpusError(f"there is no corpus {path}: expected a folder with metadata.csv, or a manifest file")
    try:
        kind = detect(path) if layout == "auto" else find_layout(layout)
        return Corpus(kind(path, speaker, language), speaker_pattern)
    except OSError as error:
        raise _cannot_read(error, path) from None


def _cannot_read(error: OSError, path: Path) -> CorpusError:
    return CorpusError(f"cannot read {error.filename or path}: {error.strerror}; check its permissions and the disk")
