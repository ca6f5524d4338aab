"""cache.json, the file that makes a folder a cache: sealed when it is written, checked when it is read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from myxtts.cache.format import FORMAT, MANIFEST, SHARDED_FORMAT
from myxtts.cache.publish import mend
from myxtts.cache.validation import impossible_body
from myxtts.errors import CacheDamaged, CacheError
from myxtts.files import fingerprint, read_regular

_MOST_BYTES = 1 << 28  # a million speakers and tokens are 40 MB


def is_cache(path: Path | str) -> bool:
    mend(Path(path))
    return (Path(path) / MANIFEST).is_file()


def dump_manifest(body: dict[str, Any]) -> bytes:
    """cache.json as it lies on disk: the body and a checksum of it, so that a flipped byte anywhere shows."""
    sealed = {**body, "xxh3_cache_json": fingerprint(body)}
    return (json.dumps(sealed, ensure_ascii=False, indent=1, sort_keys=True) + "\n").encode()


def load_manifest(folder: Path) -> dict[str, Any]:
    """Read and check cache.json: it is there, undamaged and of this format."""
    path = folder / MANIFEST
    mend(folder)
    try:
        raw = read_regular(path, _MOST_BYTES)
    except OSError as error:
        raise CacheError(f"{folder} is not a cache: cannot read {MANIFEST} ({error.strerror}); make one with "
                         f"'myxtts pack CORPUS -o {folder}'") from None  # fmt: skip
    try:
        body = json.loads(raw)
        version = body["format"]
        seal = body.pop("xxh3_cache_json", None)
        whole = fingerprint(body)  # half a surrogate is JSON, but no text
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise CacheDamaged(_damaged(path)) from None
    if version not in (FORMAT, SHARDED_FORMAT) and seal == whole:
        raise CacheError(f"{folder} is cache format {version}, this code reads {FORMAT}: run "
                         f"'myxtts pack --rebuild CORPUS -o {folder}'")  # fmt: skip
    if dump_manifest(body) != raw:
        raise CacheDamaged(_damaged(path))
    if wrong := impossible_body(body):
        raise CacheDamaged(_damaged(path, f"sealed, but no cache can be so: {wrong}"))
    return body


def _damaged(path: Path, how: str = "its checksum does not fit its content") -> str:
    return (
        f"{path} is damaged ({how}): run 'myxtts verify {path.parent} --fix CORPUS', "
        f"or 'myxtts pack --rebuild CORPUS -o {path.parent}'"
    )
