"""Several corpora as one: their rows one after the other, each utterance with an id of its own."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

import xxhash

from myxtts.corpus.read import Corpus
from myxtts.corpus.utterance import Rejected, Row, Utterance
from myxtts.terminal import name_as_text


class Corpora(Corpus):
    """Read and packed like one corpus. An id that an earlier corpus has used gets the corpus's name before it."""

    def __init__(self, parts: Sequence[Corpus]):
        self.parts = list(parts)
        self.folder = self.parts[0].folder
        self.defaults = {"several": [part.defaults for part in self.parts]}

    def count(self) -> int:
        return sum(part.count() for part in self.parts)

    def rows(self) -> Iterator[Row]:
        seen: set[int] = set()
        for part in self.parts:
            for row in part.rows():
                yield _with_new_id(row, part, seen) if isinstance(row, Utterance) else row


def _with_new_id(utterance: Utterance, part: Corpus, seen: set[int]) -> Row:
    for name in (utterance.id, named_after(part, utterance.id)):
        key = xxhash.xxh3_64_intdigest(name.encode())
        if key not in seen:
            seen.add(key)
            return dataclasses.replace(utterance, id=name)
    message = f"the id {utterance.id!r} was used by an earlier corpus, and {name!r} too"
    return Rejected(utterance.row, utterance.id, "duplicate_id", message)


def named_after(corpus: Corpus, id: str) -> str:
    return f"{name_as_text(corpus.folder.name)}/{id}"
