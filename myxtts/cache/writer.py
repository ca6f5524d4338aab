"""The one writer of a cache: appends utterances in corpus order, commits as it goes, and seals the result.

A commit runs in the background: flush every file, make it durable, then add a journal line with the lengths reached.
Killed at any byte, the next writer cuts each file back to the last line and resumes; the result has the same bytes.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import xxhash

from myxtts.cache.format import (
    BLOBS,
    FORMAT,
    JOURNAL,
    MANIFEST,
    REJECTED,
    TOKENS,
    column_file,
    hash_column,
    index_columns,
    padding_row,
    payload_files,
    track_file,
)
from myxtts.cache.growing import GrowingArray
from myxtts.cache.journal import Journal
from myxtts.cache.manifest import dump_manifest
from myxtts.cache.prepare import Packable, Refused, Stamp, hash_rows, stamp_of
from myxtts.cache.rejected import read_rejected
from myxtts.corpus.utterance import Row, Utterance
from myxtts.features.token_table import TokenTable
from myxtts.files import fingerprint, hash_file, open_append, write_whole

# Small corpora finish before the first commit would pay; a kill costs at most this and one fdatasync.
_COMMIT_SECONDS = 0.5
# A build of 60 hours would write 430,000 lines at that rate; one per cent of its time is no more to lose.
_COMMIT_SHARE = 0.01


@dataclass
class Progress:
    """How far a build has come. It is what a journal line records, and what the next run starts from."""

    rows_read: int = 0
    digest: str = ""
    lengths: dict[str, int] = field(default_factory=dict)
    rejected_bytes: int = 0
    reasons: dict[str, int] = field(default_factory=dict)
    speakers: list[str] = field(default_factory=list)
    languages: list[str] = field(default_factory=list)
    new_tokens: list[str] = field(default_factory=list)

    @classmethod
    def replay(cls, entries: list[dict[str, Any]]) -> Progress:
        """The state after the last of the journal's commits; names accumulate over the lines."""
        state = cls(**entries[-1]) if entries else cls()
        for name in ("speakers", "languages", "new_tokens"):
            setattr(state, name, [value for entry in entries for value in entry[name]])
        return state


class CacheWriter:
    def __init__(self, folder: Path, settings: dict[str, Any], base_table: TokenTable, entries: list[dict[str, Any]]):
        """Write into `folder`; `entries` are the commits of an earlier run to resume from."""
        state = Progress.replay(entries)
        self.folder, self.settings = folder, settings
        self.tracks: list[str] = settings["tracks"]
        self._index = index_columns(self.tracks)
        self.rows_read, self.reasons = state.rows_read, Counter(state.reasons)
        # of a cache that is added to: a corpus that is added again brings its bad rows again
        self._listed = _rejections(folder, entries[0]["rejected_bytes"]) if "added_to" in settings else set()
        self.table = TokenTable([*base_table.symbols, *state.new_tokens])
        self.speakers = {name: code for code, name in enumerate(state.speakers)}
        self.languages = {name: code for code, name in enumerate(state.languages)}
        self._digest = CorpusDigest()
        self._files: dict[str, GrowingArray] = {}
        self._journal = Journal(folder / JOURNAL, [settings, *entries])
        try:
            self._open_files(state)
        except OSError:
            self._journal.close()
            for file in self._files.values():
                file.close()
            raise
        self._named = {"speakers": len(self.speakers), "languages": len(self.languages), "new_tokens": len(self.table)}
        self._base_tokens = len(base_table)
        self._pending: list[dict[str, int]] = []  # lines of the index
        self._committer = ThreadPoolExecutor(1, "myxtts-commit")
        self._commit: Future[None] | None = None
        self._started_at = self._committed_at = time.monotonic()

    def _open_files(self, state: Progress) -> None:
        for name in payload_files(self.tracks):
            self._files[name] = GrowingArray(self.folder / name, state.lengths.get(name, 0), payload=True)
            if self._files[name].rows == 0:
                self._files[name].append(padding_row(name))
        for name in map(column_file, {**self._index, **BLOBS}):
            self._files[name] = GrowingArray(self.folder / name, state.lengths.get(name, 0), payload=False)
        self._rejected = open_append(self.folder / REJECTED)
        self._rejected.truncate(state.rejected_bytes)

    @property
    def utterances(self) -> int:
        return self._files[column_file("n_frames")].rows + len(self._pending)

    @property
    def frames(self) -> int:
        return self._files[track_file("audio")].rows - 1

    def skip(self, row: Row) -> None:
        """Take note of a row that an earlier run has already written."""
        self._digest.add(row)

    def digest(self) -> str:
        return self._digest.value()

    def reject(self, refused: Refused) -> None:
        self._read(refused.row, refused.stamp)
        rejected = refused.why
        if (rejected.id, rejected.reason) in self._listed:
            return
        self.reasons[rejected.reason] += 1
        line = json.dumps(rejected.to_dict(), ensure_ascii=False)
        self._rejected.write(line.encode(errors="backslashreplace") + b"\n")  # of names that are not UTF-8: escapes

    def add(self, made: Packable, utterance: Utterance | None) -> None:
        """Append what was made of a row, under the id of `utterance`; None if it is in the cache already."""
        self._read(made.row, made.stamp)
        if utterance is None:
            return
        tokens, clip = self.table.encode(made.symbols, grow=True), made.clip
        files, audio = self._files, self._files[track_file("audio")]
        first_row, first_token = audio.rows, files[TOKENS].rows
        audio.append_padded(clip.audio)
        for track, rows in clip.tracks.items():
            files[track_file(track)].append(rows)
        files[TOKENS].append(tokens)
        files[column_file("id_bytes")].append(utterance.id.encode())
        files[column_file("text_bytes")].append(made.text.encode())
        self._pending.append(
            {
                "first_row": first_row,
                "n_frames": audio.rows - first_row,
                "n_samples": len(clip.audio),
                "first_token": first_token,
                "n_tokens": len(tokens),
                "speaker": self.speakers.setdefault(utterance.speaker, len(self.speakers)),
                "language": self.languages.setdefault(utterance.language, len(self.languages)),
                "xxh3_tokens": hash_rows(tokens),
                "id_end": files[column_file("id_bytes")].rows,
                "text_end": files[column_file("text_bytes")].rows,
                **{hash_column(track): hashed for track, hashed in clip.hashes.items()},
            }
        )

    def _read(self, row: Row, stamp: Stamp | None) -> None:
        self._digest.add(row, stamp)
        self.rows_read += 1

    def commit_soon(self) -> None:
        """Start a commit in the background if the last one is done and old enough. Raises what that one met."""
        if self._commit is not None and not self._commit.done():
            return
        now = time.monotonic()
        if now - self._committed_at < max(_COMMIT_SECONDS, _COMMIT_SHARE * (now - self._started_at)):
            return
        self._finish_commit()
        entry = self._snapshot()
        self._commit = self._committer.submit(self._make_durable, entry)
        self._committed_at = time.monotonic()

    def _finish_commit(self) -> None:
        if self._commit is not None:
            self._commit.result()
            self._commit = None

    def _snapshot(self) -> dict[str, Any]:
        """Flush everything and say how long it is: the journal line of this moment."""
        self._write_index()
        for file in self._files.values():
            file.flush()
        self._rejected.flush()
        named, self._named = (
            self._named,
            {
                "speakers": len(self.speakers),
                "languages": len(self.languages),
                "new_tokens": len(self.table),
            },
        )
        return {
            "rows_read": self.rows_read,
            "digest": self.digest(),
            "lengths": {name: file.rows for name, file in self._files.items()},
            "rejected_bytes": self._rejected.tell(),
            "reasons": dict(self.reasons),
            "speakers": list(self.speakers)[named["speakers"] :],
            "languages": list(self.languages)[named["languages"] :],
            "new_tokens": list(self.table.symbols[named["new_tokens"] :]),
        }

    def _write_index(self) -> None:
        for column, dtype in self._index.items():
            self._files[column_file(column)].append(np.array([line[column] for line in self._pending], dtype))
        self._pending.clear()

    def _make_durable(self, entry: dict[str, Any]) -> None:
        for file in self._files.values():
            file.sync()
        os.fdatasync(self._rejected.fileno())
        self._journal.append(entry)

    def commit(self) -> None:
        """Commit now and wait for it: what was added is safe when this returns."""
        self._finish_commit()
        self._make_durable(self._snapshot())

    def seal(self) -> dict[str, Any]:
        """Finish every file and write cache.json. What is left is to publish the folder."""
        self._finish_commit()
        self._write_index()
        for file in self._files.values():
            file.finish()
        self._rejected.flush()
        os.fsync(self._rejected.fileno())
        body = self._manifest()
        write_whole(self.folder / MANIFEST, dump_manifest(body))
        return body

    def _manifest(self) -> dict[str, Any]:
        mode, settings = self.settings["mode"], self.settings["settings"]
        fingerprints = {name: fingerprint(value) for name, value in settings.items()}
        # A payload file's checksum is that of the column with its utterances' hashes.
        index = {name: hash_file(self.folder / name) for name in map(column_file, {**self._index, **BLOBS})}
        identity = {"format": FORMAT, "mode": mode, "fingerprints": fingerprints, "checksums": index}
        return {
            **identity,
            "checksums": {**index, REJECTED: hash_file(self.folder / REJECTED)},
            "id": fingerprint(identity),
            "settings": settings,
            "corpora": self._corpora(),
            "lengths": {name: file.rows for name, file in self._files.items()},
            "utterances": self.utterances,
            "rejected": dict(sorted(self.reasons.items())),
            "speakers": list(self.speakers),
            "languages": list(self.languages),
            "token_table": list(self.table.symbols),
        }

    def _corpora(self) -> list[dict[str, Any]]:
        """What is needed to read each corpus again as it was, and to tell whether it still is what it was.

        One that has grown and was added again takes its own place.
        """
        now = {"corpus": self.settings["corpus"], "name": self.settings["corpus_name"]}
        parts = list(self.settings.get("corpora", []))
        same = [n for n, part in enumerate(parts) if {key: part[key] for key in now} == now]
        place = same[0] if same else len(parts)
        parts[place : place + 1] = [{**now, "digest": self.digest(), "rows": self.rows_read}]
        return parts

    def close(self) -> None:
        """Close everything, also when closing one of them fails because the disk is full."""
        with ExitStack() as stack:
            stack.callback(self._journal.close)
            stack.callback(self._rejected.close)
            for file in self._files.values():
                stack.callback(file.close)
            self._committer.shutdown(wait=True)


def _rejections(folder: Path, length: int) -> set[tuple[str, str]]:
    return {(row["id"], row["reason"]) for row in read_rejected(folder, length)}


class CorpusDigest:
    """A running hash of the rows read: it tells whether a corpus is still the one that was packed."""

    def __init__(self) -> None:
        self._hash = xxhash.xxh3_128()

    def add(self, row: Row, stamp: Stamp | None = None) -> None:
        """`stamp` is that of the row's audio file, where somebody has already looked."""
        if isinstance(row, Utterance):
            stamp = stamp_of(row.audio) if stamp is None else stamp
            parts: tuple[Any, ...] = (row.id, row.text, row.speaker, row.language, row.audio.name, *stamp)
        else:
            parts = (row.id, row.reason)
        self._hash.update(json.dumps(parts).encode())

    def value(self) -> str:
        return self._hash.hexdigest()
