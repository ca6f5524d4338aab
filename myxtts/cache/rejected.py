"""rejected.jsonl, the rows of a corpus that are not in its cache: read as what somebody else may have written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from myxtts.cache.format import REJECTED
from myxtts.errors import CacheDamaged
from myxtts.files import read_regular
from myxtts.shapes import misfit

_MOST_BYTES = 1 << 30
_ROW = {"id": str, "reason": str}


def read_rejected(folder: Path, length: int | None = None, name: str = REJECTED) -> list[dict[str, Any]]:
    """The rows in the list of a cache; of one that is being built the first `length` bytes."""
    path = folder / name
    try:
        lines = read_regular(path, _MOST_BYTES)[:length].splitlines()
        rows = [json.loads(line) for line in lines]
    except OSError as error:
        raise CacheDamaged(f"{path} cannot be read ({error.strerror}): {_cure(folder)}") from None
    except (ValueError, RecursionError):
        raise CacheDamaged(f"{path} is not a list of JSON lines: {_cure(folder)}") from None
    if wrong := misfit(rows, [_ROW], "row"):
        raise CacheDamaged(f"{path}: {wrong}: {_cure(folder)}")
    return rows


def _cure(folder: Path) -> str:
    return f"run 'myxtts verify {folder} --fix CORPUS'"
