"""What has become of a corpus since its cache was packed, and the command that packs the changes."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from myxtts.cache.pack import corpora_in
from myxtts.cache.reader import Cache
from myxtts.corpus.read import Corpus
from myxtts.corpus.utterance import Utterance
from myxtts.features.letters import clean

_KINDS = {"new": "new", "changed": "with another text, speaker or language", "gone": "gone"}


def describe_changes(path: Path, corpus: Corpus, cache: Cache) -> str:
    """One sentence for people. What is in the files themselves is not compared: that would be to pack them."""
    counts = Counter(_changes(corpus, cache))
    rows = ", ".join(f"{counts[kind]} {words}" for kind, words in _KINDS.items() if counts[kind])
    add, rebuild = (shlex.join(["myxtts", *verb, str(path), "-o", str(cache.folder)])
                    for verb in (["add"], ["pack", "--rebuild"]))  # fmt: skip
    if not rows:
        what, cure = "times or sizes of files", f"'{rebuild}' packs them again, '{add}' notes that all is the same"
    elif set(counts) == {"new"} or len(corpora_in(cache.body)) > 1:
        what, cure = f"rows: {rows}", f"'{add}' adds what is new"
    else:
        what, cure = f"rows: {rows}", f"'{rebuild}' packs them"
    return f"{path} has changed since {cache.folder} was packed ({what}): the cache is used as it is; {cure}"


def _changes(corpus: Corpus, cache: Cache) -> Iterator[str]:
    """For each row that is not as it was packed what has become of it."""
    packed = {cache.utterance_id(n): n for n in range(len(cache))}
    rejected = {row["id"] for row in cache.rejected()}
    for row in corpus.rows():
        if row.id in packed:
            at = packed.pop(row.id)
            if not isinstance(row, Utterance) or _names(cache, at) != (clean(row.text), row.speaker, row.language):
                yield "changed"
        elif isinstance(row, Utterance) and row.id not in rejected:
            yield "new"
    if len(corpora_in(cache.body)) == 1:  # of several, the others' utterances are not in this corpus
        yield from ("gone" for _ in packed)


def _names(cache: Cache, utterance: int) -> tuple[str, str, str]:
    speaker, language = (int(cache.columns[name][utterance]) for name in ("speaker", "language"))
    return cache.text(utterance), cache.speakers[speaker], cache.languages[language]
