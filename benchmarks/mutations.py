"""How files are spoilt: bytes changed at random, values inside of JSON replaced, files that are none. See fuzz.py."""

from __future__ import annotations

import copy
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

Rng = np.random.Generator

_DEEPEST = 20  # places inside of what is nested hundreds deep are all alike

# ---- bytes -----------------------------------------------------------------------------------------------------------

NASTY = [
    b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b'"', b"|", b"\t", b",", b"\r", b"\n", b"\r\n", b"../", b"/etc/passwd", b"{",
    b"}", b"[[[[", b"\xe2\x80\xae", b"\xed\xa0\x80", b"1e999", b"-1", b"nan", b"\\", b"%s", b"a" * 3000,
    b"\xdb\x8c", b"\x1b[2J",
]  # fmt: skip


def mutate(data: bytes, rng: Rng) -> bytes:
    """One to four random edits: flipped, removed, repeated and inserted bytes, cut and emptied files."""
    made = bytearray(data)
    for _ in range(int(rng.integers(1, 5))):
        at = int(rng.integers(0, len(made) + 1))
        kind = int(rng.integers(0, 9))
        if kind == 0 and made:
            made[at % len(made)] ^= 1 << int(rng.integers(0, 8))
        elif kind == 1:
            del made[at : at + int(rng.integers(1, 40))]
        elif kind == 2:
            made[at:at] = made[at : at + int(rng.integers(1, 40))]
        elif kind in (3, 4):
            made[at:at] = NASTY[int(rng.integers(0, len(NASTY)))]
        elif kind == 5:
            made[at : at + 8] = rng.bytes(8)
        elif kind == 6 and rng.random() < 0.3:
            del made[at:]
        elif kind == 7 and rng.random() < 0.1:
            made.clear()
        elif kind == 8:  # in a header, where it hurts
            place = int(rng.integers(0, min(len(made), 64) + 1))
            made[place : place + 4] = int(rng.integers(0, 2**32)).to_bytes(4, "little")
    return bytes(made)


# ---- what JSON holds -------------------------------------------------------------------------------------------------

NESTED = "nested"  # stands for lists in lists
VALUES: list[Any] = [
    None, True, False, 0, -1, 1, 2, 255, 2**31, -(2**31), 2**53, 2**63, -(2**63), 10**400, 0.5, -0.0, 1e308, -1e308, 1e-308,  # noqa: E501
    float("nan"), float("inf"), "", " ", "x", "nan", "0", "1e999", "x" * 5000, "\x1b[2J\x1b]0;owned\x07", "\x9b31m", "\u202eabc",  # noqa: E501
    "\ud800", "../../victims/file", "/dev/zero", "audio.npy", "speaker\n", "(a+)+$", [], {}, [None], [[]], {"": None},
    [1, 2, 3], ["a", "a"], {"a": 1}, NESTED,
]  # fmt: skip


def paths_in(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    paths = [path] if path else []
    if len(path) == _DEEPEST:
        return paths
    items = value.items() if isinstance(value, dict) else enumerate(value[:40]) if isinstance(value, list) else ()
    for key, part in items:
        paths += paths_in(part, (*path, key))
    return paths


def fresh(value: Any) -> Any:
    """A value of its own: what is put into a body twice and then changed would hold itself."""
    if value is not NESTED:
        return copy.deepcopy(value)
    nested: list[Any] = []
    for _ in range(900):  # as deep as `json` writes; what is deeper is made of text
        nested = [nested]
    return nested


def change(value: Any, rng: Rng) -> Any:
    """One to three places get another value, are removed, repeated or renamed."""
    for _ in range(int(rng.integers(1, 4))):
        paths = paths_in(value)
        if not paths:
            return value
        *way, last = paths[int(rng.integers(len(paths)))]
        place = value
        for key in way:
            place = place[key]
        kind = rng.random()
        if kind < 0.65:
            place[last] = fresh(VALUES[int(rng.integers(len(VALUES)))])
        elif kind < 0.8:
            del place[last]
        elif isinstance(place, list):
            place.append(place[last])
        else:
            place[str(VALUES[int(rng.integers(len(VALUES)))])[:100]] = place.pop(last)
    return value


def dumped(value: Any) -> bytes:
    return json.dumps(value).encode()


# ---- files that are no files -----------------------------------------------------------------------------------------


def spoil(folder: Path, rng: Rng, victims: Path) -> None:
    """One file is replaced by something that is none, a link that leads out is added, or its bytes are changed."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    victim = files[int(rng.integers(len(files)))]
    kind = int(rng.integers(8))
    if kind == 0:
        hidden = rng.choice([".{}.0badf00d.tmp", ".{}.replaced-by-myxtts", "{}.tmp", "{}.building", "{}.repair"])
        place = victim.with_name(str(hidden).format(victim.name))
        place.symlink_to(victims / "file")
    elif kind == 1:
        victim.unlink()
        victim.symlink_to(victims / "file")
    elif kind in (2, 3):
        victim.unlink()
        os.mkfifo(victim) if kind == 2 else victim.symlink_to("/dev/zero")
    elif kind == 4:
        victim.unlink()
        victim.mkdir()
    else:
        victim.write_bytes(mutate(victim.read_bytes(), rng))
