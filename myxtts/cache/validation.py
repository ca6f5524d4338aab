"""Whether a cache is possible at all: for one that a stranger has made or changed, and sealed again.

Checksums find accidents. They do not find an index whose author meant it to point past the end of a file, a speaker
that has no name or a length of 2^60 rows. What passes here can be read without looking again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myxtts.cache.format import (
    BLOBS,
    FORMAT,
    MODES,
    REJECTED,
    SHARDED_FORMAT,
    TOKENS,
    column_file,
    index_columns,
    mode_of,
    payload_files,
    shard_name,
    track_file,
    tracks_in,
)
from myxtts.features.mel import HOP_SAMPLES
from myxtts.features.token_table import SPECIALS
from myxtts.shapes import COUNT, Each, Maybe, Number, Only, misfit

Columns = Mapping[str, NDArray[Any]]

MOST_FRAMES = 1 << 19  # of an utterance: 101 min, more than data.max_seconds may be; verify holds one in memory
_ROWS = Number(0, 2.0**40, whole=True)  # 2^40 rows of sound are 400 years
_CORPUS = Only({"layout": str, "speaker": str, "language": str, "speaker_pattern": Maybe((None, str))})
_TOKENS = {
    "kind": frozenset({"phonemes", "characters"}),
    **dict.fromkeys(("bos", "eos", "blank", "normalise", "stress"), Maybe(bool)),
    "lexicon": Maybe([[str]]),  # never the path of a file
    "readers": Maybe(Each((str, COUNT, None, Each(Any)))),
}
_AUDIO = {
    "trim_silence": bool,
    "trim_db": Number(0, 1000),
    "loudness_lufs": (None, Number(-1000, 1000)),
    "min_seconds": Number(0, 1e9),
    "max_seconds": (Number(0, 1e9), float),  # older settings may be infinite
}
TEXT_SETTINGS, AUDIO_SETTINGS = _TOKENS, _AUDIO  # a model.json has the same
_BODY = {
    "format": frozenset({FORMAT, SHARDED_FORMAT}),
    "id": str,
    "mode": frozenset(MODES),
    "fingerprints": Each(str),
    "checksums": Each(str),
    "settings": {"audio": _AUDIO, "mel": Maybe(Each(Any)), "tokens": _TOKENS},
    "corpora": [{"corpus": (_CORPUS, Only({"several": [_CORPUS]})), "name": str, "digest": str, "rows": COUNT}],
    "lengths": Each(_ROWS),
    "utterances": Number(1, 2.0**40, whole=True),
    "rejected": Each(COUNT),
    "speakers": [str],
    "languages": [str],
    "token_table": [str],
}
_SHARDS = [
    {"name": str, "id": str, "seal": str, "rows": COUNT, "utterances": COUNT, "lengths": Each(_ROWS)},
]


def impossible_body(body: Any) -> str:
    """'' or what is wrong with the content of a cache.json."""
    if fault := misfit(body, _BODY):
        return fault
    if body["format"] == SHARDED_FORMAT:
        return _impossible_shards(body)
    held = tracks_in(body["lengths"])
    columns = [*map(column_file, {**index_columns(held), **BLOBS})]
    if set(body["lengths"]) != {*payload_files(held), *columns} or "audio" not in held or body["mode"] != mode_of(held):
        return "lengths does not name the files of a cache"
    if set(body["checksums"]) != {*columns, REJECTED} or not set(held) <= set(body["settings"]):
        return "checksums or settings do not name the files of a cache"
    if not body["corpora"] or any(part["corpus"].get("several") == [] for part in body["corpora"]):
        return "corpora is empty"
    rows = {name: body["lengths"][column_file(name)] for name in index_columns(held)}
    if set(rows.values()) != {body["utterances"]}:
        return "a column of the index has not one value for each utterance"
    if len({body["lengths"][track_file(track)] for track in held}) != 1:
        return "the tracks are not of one length"
    return _impossible_names(body)


def _impossible_shards(body: dict[str, Any]) -> str:
    """Names are those that we give, so none leads out of the folder; each shard is looked at when it is opened."""
    if reason := misfit(body.get("shards"), _SHARDS, "shards"):
        return reason
    shards, held = body["shards"], tracks_in(body["lengths"])
    if [shard["name"] for shard in shards] != [shard_name(n) for n in range(len(shards))]:
        return "shards are not named by their numbers"
    if sum(shard["utterances"] for shard in shards) != body["utterances"]:
        return "the utterances of the shards do not add up"
    if set(body["lengths"]) != {*payload_files(held)} or "audio" not in held or body["mode"] != mode_of(held):
        return "lengths does not name the files of a cache"
    if any(set(shard["lengths"]) != set(body["lengths"]) for shard in shards if shard["utterances"]):
        return "lengths of a shard does not name the files of a cache"
    if not body["corpora"] or not set(held) <= set(body["settings"]):
        return "corpora or settings are missing"
    return _impossible_names(body)


def _impossible_names(body: dict[str, Any]) -> str:
    for name in ("speakers", "languages", "token_table"):
        if len(set(body[name])) != len(body[name]):
            return f"{name} has a name twice"
    if tuple(body["token_table"][: len(SPECIALS)]) != SPECIALS or "" in body["token_table"]:
        return f"token_table does not begin with {' '.join(SPECIALS)}, or has an empty symbol"
    return ""


def impossible_index(body: dict[str, Any], columns: Columns) -> str:
    """'' or what is wrong with the columns of an index, all of the right length: 5 ms for a million utterances."""
    lengths = body["lengths"]
    rows, samples = columns["n_frames"], columns["n_samples"]
    checks = (
        ("first_row", _follows(columns["first_row"], rows, 1, lengths[track_file("audio")])),
        ("first_token", _follows(columns["first_token"], columns["n_tokens"], 0, lengths[TOKENS])),
        ("n_samples", bool((-(-samples.astype(np.int64) // HOP_SAMPLES) == rows).all())),
        ("n_frames", int(rows.max()) <= MOST_FRAMES),
        ("speaker", _within(columns["speaker"], len(body["speakers"]))),
        ("language", _within(columns["language"], len(body["languages"]))),
        ("id_end", _ends(columns["id_end"], lengths[column_file("id_bytes")])),
        ("text_end", _ends(columns["text_end"], lengths[column_file("text_bytes")])),
    )
    wrong = [name for name, right in checks if not right]
    return "" if not wrong else f"{column_file(wrong[0])} points to what is not there"


def _follows(first: NDArray[Any], counts: NDArray[Any], start: int, end: int) -> bool:
    """Each has at least one and begins where the one before it ends; the last ends with the file."""
    ends = start + np.cumsum(counts, dtype=np.int64)
    return bool(first[0] == start and (counts > 0).all() and (first[1:] == ends[:-1]).all() and ends[-1] == end)


def _within(codes: NDArray[Any], count: int) -> bool:
    return bool(codes.min() >= 0 and codes.max() < count)


def _ends(ends: NDArray[Any], length: int) -> bool:
    return bool(ends[0] >= 0 and (np.diff(ends) >= 0).all() and ends[-1] == length)


def impossible_tokens(tokens: NDArray[Any], table_size: int) -> bool:
    """Whether there is an id that no symbol has. It reads every token: for who reads them all anyway."""
    return len(tokens) > 0 and not _within(tokens, table_size)
