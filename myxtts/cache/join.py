"""The cache.json of a cache in shards, made of those of its shards: it says what is there now."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from myxtts.cache.format import (
    MANIFEST,
    SHARDED_FORMAT,
    payload_files,
    shard_name,
    shard_number,
    shard_rejected,
)
from myxtts.cache.manifest import dump_manifest, is_cache, load_manifest
from myxtts.cache.rejected import read_rejected
from myxtts.cache.retable import retable
from myxtts.cache.settings import PackSettings
from myxtts.errors import CacheDamaged, NothingPacked
from myxtts.files import fingerprint, write_whole


def shard_body(folder: Path, number: int) -> dict[str, Any] | None:
    """The cache.json of a shard, or what stands for it where none of its rows could be packed; None: not there."""
    name = shard_name(number)
    if is_cache(folder / name):
        return load_manifest(folder / name)
    if not (folder / shard_rejected(name)).is_file():
        return None
    rejected = read_rejected(folder, name=shard_rejected(name))
    nothing: dict[str, Any] = {"speakers": [], "languages": [], "token_table": [], "lengths": {}}
    reasons = dict(Counter(row["reason"] for row in rejected))
    return nothing | {"id": "", "utterances": 0, "rejected": reasons, "corpora": [{"rows": len(rejected)}]}


def shard_bodies(folder: Path) -> list[dict[str, Any]]:
    """Of all shards in a folder, in their order."""
    numbers = [number for path in folder.iterdir() if (number := shard_number(path.name)) is not None]
    bodies = [shard_body(folder, number) for number in range(max(numbers, default=-1) + 1)]
    if None in bodies:
        missing = folder / shard_name(bodies.index(None))
        raise CacheDamaged(f"{missing} is missing: run 'myxtts verify {folder} --fix CORPUS'")
    return [body for body in bodies if body is not None]


def numbered_otherwise(bodies: list[dict[str, Any]]) -> tuple[list[str], list[int]]:
    """(the table for all shards, those whose ids mean something else in it).

    Each symbol stands where it first occurs in the order of the corpus: the table of a cache packed in one piece.
    """
    symbols = list(dict.fromkeys(symbol for body in bodies for symbol in body["token_table"]))
    return symbols, [n for n, body in enumerate(bodies) if symbols[: len(body["token_table"])] != body["token_table"]]


def rejoin(cache: Path, corpora: list[dict[str, Any]]) -> dict[str, Any]:
    """Write the cache.json of a published cache in shards anew, from what is there now."""
    symbols, unlike = numbered_otherwise(shard_bodies(cache))
    for number in unlike:
        retable(cache / shard_name(number), symbols)
    body = join(cache, corpora)
    write_whole(cache / MANIFEST, dump_manifest(body))
    return body


def join(folder: Path, corpora: list[dict[str, Any]]) -> dict[str, Any]:
    """cache.json over all shards in a folder, which number their tokens alike."""
    bodies = shard_bodies(folder)
    rejected: Counter[str] = sum((Counter(body["rejected"]) for body in bodies), Counter())
    packed = next((body for body in bodies if body["utterances"]), None)
    if packed is None:
        counts = ", ".join(f"{count} {reason}" for reason, count in rejected.most_common())
        raise NothingPacked(f"all {rejected.total()} rows were rejected ({counts}): see {folder}/*.rejected.jsonl")
    settings = PackSettings.from_manifest(packed)
    identity = {
        "format": SHARDED_FORMAT,
        "mode": packed["mode"],
        "fingerprints": packed["fingerprints"],
        "shards": [body["id"] for body in bodies],
    }
    return {
        **identity,
        "id": fingerprint(identity),
        "settings": packed["settings"],
        "checksums": {},
        "corpora": corpora,
        "lengths": {name: sum(body["lengths"].get(name, 0) for body in bodies)
                    for name in payload_files(settings.tracks)},
        "utterances": sum(body["utterances"] for body in bodies),
        "rejected": dict(sorted(rejected.items())),
        "speakers": list(dict.fromkeys(name for body in bodies for name in body["speakers"])),
        "languages": list(dict.fromkeys(name for body in bodies for name in body["languages"])),
        "token_table": numbered_otherwise(bodies)[0],
        "shards": [_entry(number, body) for number, body in enumerate(bodies)],
    }  # fmt: skip


def _entry(number: int, body: dict[str, Any]) -> dict[str, Any]:
    lengths = {name: length for name, length in body["lengths"].items() if not name.startswith("index.")}
    entry = {"name": shard_name(number), "id": body["id"], "rows": sum(part["rows"] for part in body["corpora"])}
    seal = fingerprint(body) if body["utterances"] else ""
    return entry | {"utterances": body["utterances"], "lengths": lengths, "seal": seal}
