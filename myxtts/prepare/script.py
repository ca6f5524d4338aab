"""The text of a recording: a chapter, a script, subtitles. Its words as they are written, and as they are compared."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from myxtts.errors import PrepareError
from myxtts.evaluation.words import spoken_words, without_spaces
from myxtts.files import read_regular

SUFFIXES = (".txt", ".srt", ".vtt")

_MOST_BYTES = 1 << 26
_LOOK_BYTES = 4096
_DOCUMENTS = {b"%PDF": "a PDF", b"PK\x03\x04": "a Word file, an e-book or an archive", b"{\\rtf": "an RTF file"}
_CUE = re.compile(r"^\s*(?:\d+:)?\d+:\d+[.,]\d+\s*-->")
_TAG = re.compile(r"<[^<>\n]*>|\{\\[^{}\n]*\}")
_NOT_SAID = re.compile(r"\[[^\[\]\n]*\]|♪")  # [door slams]
_ENDS = re.compile(r"[.!?…؟۔。！？][\"'”’»)\]]*$")


@dataclass(frozen=True)
class Script:
    """`words` as they are written; `spoken` as they are compared, each with the written word it belongs to."""

    words: tuple[str, ...]
    spoken: tuple[str, ...]
    owners: tuple[int, ...]
    space: str = " "

    @classmethod
    def of(cls, text: str, language: str) -> Script:
        closed = without_spaces(language)
        words = tuple(_characters(text) if closed else text.split())
        pairs = [(spoken, n) for n, word in enumerate(words) for spoken in spoken_words(word, language)]
        return cls(words, tuple(one for one, _ in pairs), tuple(n for _, n in pairs), "" if closed else " ")

    def text(self, first: int, last: int) -> str:
        """What is written from one spoken word to another, with the marks that follow it."""
        end = self.owners[last + 1] if last + 1 < len(self.owners) else len(self.words)
        return self.space.join(self.words[self.owners[first] : max(end, self.owners[last] + 1)]).strip()

    @cached_property
    def ends(self) -> frozenset[int]:
        """The spoken words that end a sentence."""
        last = {owner: n for n, owner in enumerate(self.owners)}
        return frozenset(n for owner, n in last.items() if self._ends_sentence(owner))

    def _ends_sentence(self, owner: int) -> bool:
        """A word, or a mark that stands alone after it."""
        after = owner + 1
        while after < len(self.words) and not any(map(str.isalnum, self.words[after])):
            after += 1
        return any(_ENDS.search(word) for word in self.words[owner:after])


def read_script(path: Path) -> str:
    """The text of a file; of subtitles, what is said."""
    try:
        text = _decode(path, read_regular(path, _MOST_BYTES))
    except OSError as error:
        raise PrepareError(f"the text {path} cannot be read: {error.strerror}") from None
    if path.suffix.lower() in (".srt", ".vtt"):
        text = _subtitles(text)
    if not any(map(str.isalnum, text)):
        raise PrepareError(f"the text {path} has no words: is it the right file?")
    return text


def _decode(path: Path, data: bytes) -> str:
    for mark, kind in _DOCUMENTS.items():
        if data.startswith(mark):
            raise PrepareError(f"the text {path} is {kind}: save it as plain text (UTF-8) and name that")
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", "replace")
    if b"\0" in data[:_LOOK_BYTES]:  # every other byte of a Latin text; valid UTF-8, too
        raise PrepareError(
            f"the text {path} contains NUL bytes, like UTF-16 without a byte-order mark: convert it, for example by "
            f"iconv -f UTF-16LE -t UTF-8 {path.name} > utf8.txt"
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        bad_byte = f"byte {data[error.start]:#04x} at {error.start}"
    raise PrepareError(
        f"the text {path} is not UTF-8 ({bad_byte}): convert it, for example by "
        f"iconv -f windows-1252 -t UTF-8 {path.name} > utf8.txt (windows-1256 for Persian and Arabic)"
    )


def _subtitles(text: str) -> str:
    """The lines of the cues, each once: rolling captions repeat the line before."""
    said: list[str] = []
    for block in re.split(r"\n\s*\n", text.replace("\r\n", "\n").replace("\r", "\n")):
        lines = block.split("\n")
        at = next((n for n, line in enumerate(lines) if _CUE.match(line)), None)
        if at is not None:
            cleaned = (_NOT_SAID.sub("", _TAG.sub("", line)).strip(" -\u200e\u200f") for line in lines[at + 1 :])
            said += [line for line in cleaned if line and [line] != said[-1:]]
    return "\n".join(said)


def _characters(text: str) -> list[str]:
    """Each character is a word; marks stay with the character before them."""
    characters: list[str] = []
    for char in "".join(text.split()):
        if characters and not char.isalnum():
            characters[-1] += char
        else:
            characters.append(char)
    return characters
