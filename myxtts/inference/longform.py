"""A long text becomes pieces of one sentence or less with a pause after each; joined again they are the text.

Only where the pieces meet is white space lost. A dot ends a sentence unless what stands before it is a title, an
abbreviation or an initial, or what follows begins in lower case; a dot inside a number has no space after it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

from myxtts.features.normalise import is_shortened

MAX_CHARS = 300
SENTENCE_SECONDS = 0.25
PARAGRAPH_SECONDS = 0.5
CLAUSE_SECONDS = 0.1

_CLOSERS = "\"'”’»›)\\]】」』》"
_OPENERS = re.compile("[\"'“‘„«‹(\\[¿¡「『《\\s]*")
_WIDE_ENDS = "。！？｡"  # what is written without spaces needs none after its full stop
_ENDS = re.compile(f"(?:[.!?…؟۔।॥։።]+[{_CLOSERS}]*(?=\\s|$)|[{_WIDE_ENDS}]+[{_CLOSERS}]*)")
_PARAGRAPH = re.compile(r"\n[^\S\n]*\n\s*")
_LINE = re.compile(r"[^\S\n]*\n[^\S\n]*")
_CLAUSE = re.compile("(?:[,;:،؛—–]+(?=\\s)|[，、；：､])")
_SPACE = re.compile(r"\s+")
_WRAPPED_CHARS = 60  # a line at least so long was broken by an editor, not by its author
_LAST_WORD = re.compile(r"(\S+)\.$")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_TITLES = _words(
    "mr mrs ms dr prof st rev gen col capt lt sgt hon gov sen rep pres messrs mme mlle hr fr sr vgl bzw vs"
)
_BEFORE_NUMBERS = _words("no nos nr fig figs vol pp p ch sec art eq ca approx op cf")
_ORDINAL_DOT = _words("de da nb nn no fi is et lv cs sk sl hr bs sr hu pl tr eu")  # 'am 3. Mai'


class Piece(NamedTuple):
    text: str
    pause_seconds: float  # the silence after it


def split_text(text: str, language: str = "", max_chars: int = MAX_CHARS) -> list[Piece]:
    """The pieces of a text in order, none longer than `max_chars`; the last one has no pause after it."""
    result: list[Piece] = []
    for paragraph in _PARAGRAPH.split(text.replace("\r\n", "\n").replace("\r", "\n")):
        sentences = _speakable(_sentences(paragraph, language))
        pieces = [piece for sentence in sentences for piece in _shorten(sentence, max_chars)]
        if pieces:
            pieces[-1] = pieces[-1]._replace(pause_seconds=PARAGRAPH_SECONDS)
            result += pieces
    if result:
        result[-1] = result[-1]._replace(pause_seconds=0.0)
    return result


def _sentences(paragraph: str, language: str) -> Iterator[str]:
    ordinals = language.split("-")[0] in _ORDINAL_DOT
    for line in _lines(paragraph):
        start = 0
        for match in _ENDS.finditer(line):
            if _ends_here(line[start : match.start() + 1], line[match.end() :], ordinals, language):
                yield line[start : match.end()].strip()
                start = match.end()
        yield line[start:].strip()


def _lines(paragraph: str) -> Iterator[str]:
    """The lines that their author ended; those that an editor wrapped are one."""
    line = ""
    for part in _LINE.split(paragraph.strip()):
        wrapped = len(line.rpartition("\n")[2]) >= _WRAPPED_CHARS or part[:1].islower()
        if line and not wrapped:
            yield line
            line = ""
        line = f"{line}\n{part}" if line else part
    if line:
        yield line


def _ends_here(before: str, after: str, ordinals: bool, language: str) -> bool:
    if after[_skip(after) :][:1].islower():
        return False
    word = _LAST_WORD.search(before)
    if not word or not after.strip():
        return True
    name = word[1].lstrip("\"'“‘„«([").lower()
    if is_shortened(word[0].lstrip("\"'“‘„«(["), language):
        return False
    if name in _TITLES or (len(name) == 1 and name.isalpha()) or re.fullmatch(r"(?:\w\.)+\w", name):
        return False
    if name.isdigit() and len(name) <= 2 and ordinals:
        return False
    return not (name in _BEFORE_NUMBERS and after.strip()[0].isdigit())


def _skip(text: str) -> int:
    match = _OPENERS.match(text)
    return match.end() if match else 0


def _speakable(sentences: Iterator[str]) -> list[str]:
    """Sentences with a letter or number in them: stray marks and pictures go to their neighbour."""
    parts: list[str] = []
    for sentence in filter(None, sentences):
        if parts and not (_is_spoken(sentence) and _is_spoken(parts[-1])):
            parts[-1] = f"{parts[-1]} {sentence}"
        else:
            parts.append(sentence)
    return parts


def _is_spoken(text: str) -> bool:
    return any(map(str.isalnum, text))


def _shorten(sentence: str, max_chars: int) -> Iterator[Piece]:
    """Cut at the last clause that fits, else at the last space, else anywhere; never a piece of a few words only."""
    while len(sentence) > max_chars:
        cut, pause = _cut(sentence, max_chars)
        yield Piece(sentence[:cut].strip(), pause)
        sentence = sentence[cut:].strip()
    yield Piece(sentence, SENTENCE_SECONDS)


def _cut(sentence: str, max_chars: int) -> tuple[int, float]:
    for pattern, pause in ((_CLAUSE, CLAUSE_SECONDS), (_SPACE, 0.0)):
        ends = [match.end() for match in pattern.finditer(sentence, 0, max_chars)]
        if ends and ends[-1] >= max_chars // 3:
            return ends[-1], pause
    cut = max_chars
    while cut > 1 and (unicodedata.category(sentence[cut])[0] == "M" or "\u200c" in sentence[cut - 1 : cut + 1]):
        cut -= 1  # not between a letter and its accent, nor at a zero-width non-joiner
    return cut, 0.0
