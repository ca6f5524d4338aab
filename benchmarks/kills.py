"""Kills packing, adding, repairing and saving at each of their moves on the disk, with and without atomic exchange.

    python benchmarks/kills.py [--kills 200] [--seed 0]

A child runs the real function and is killed -9 just before its n-th rename, removal or sync. Then the place must hold
the old or the new, whole; the same call again must end with the bytes of an undisturbed one, and leave nothing behind.
"""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import random
import shutil
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from small_corpora import LAYOUTS

from myxtts import files
from myxtts.cache.add import add
from myxtts.cache.manifest import load_manifest
from myxtts.cache.pack import pack
from myxtts.cache.publish import clear_leftovers
from myxtts.cache.settings import PackSettings
from myxtts.cache.verify import repair, verify
from myxtts.corpus.read import open_corpus
from myxtts.features.audio import AudioSettings
from myxtts.features.text import TextFrontend
from myxtts.models.description import ModelDescription
from myxtts.training.checkpoint import Checkpoints, load

SETTINGS = PackSettings(AudioSettings(), TextFrontend(kind="characters"))
MOVES = ("rename", "replace", "unlink", "rmdir", "symlink", "fsync", "fdatasync", "mkdir", "ftruncate")
Action = Callable[[Path], Any]


def killed(action: Action, room: Path, n: int, exchanges: bool) -> bool:
    """Run it in a child that is killed before its n-th move; False if it ended before that."""
    child = os.fork()
    if child == 0:
        with contextlib.ExitStack() as stack:
            left = _count_moves(stack, n)
            if not exchanges:
                stack.enter_context(mock.patch.object(files, "exchange", return_value=False))
            action(room)
            (room.parent / "moves").write_text(str(n - left[0]))
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0


def _count_moves(stack: contextlib.ExitStack, n: int) -> list[int]:
    """The moves that are left until the kill."""
    left = [n]

    def counted(move: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return move(*arguments, **named)

        return call

    for name in MOVES:
        stack.enter_context(mock.patch.object(os, name, counted(getattr(os, name))))
    stack.enter_context(mock.patch.object(files, "exchange", counted(files.exchange)))
    return left


def tree(room: Path) -> dict[str, bytes | str]:
    """What is there, under which name; not how often a checkpoint was saved, nor who holds a lock."""
    return {
        str(path.relative_to(room)): os.readlink(path)
        if path.is_symlink()
        else path.read_bytes()
        if path.is_file()
        else ""
        for path in sorted(room.rglob("*"))
        if path.name not in ("state.json", "lock")
    }


# ---- what is killed -------------------------------------------------------------------------------------------------


def _pack(room: Path, rebuild: bool = False) -> None:
    pack(open_corpus(room / "corpus"), room / "x.cache", SETTINGS, rebuild=rebuild, workers=1)


def _add(room: Path) -> None:
    add(open_corpus(room / "second"), room / "x.cache", workers=1)


def _fix(room: Path) -> None:
    damages = verify(room / "x.cache")
    if damages:
        repair(room / "x.cache", open_corpus(room / "corpus"), SETTINGS, damages)
    else:
        clear_leftovers(room / "x.cache")


def _save(room: Path, step: int = 3) -> None:
    values = {"weights": {"a": np.full(3, step, np.float32)}}
    description = ModelDescription(token_table=["a"], languages=["en-us"])
    with Checkpoints(room / "run", 2) as checkpoints:
        checkpoints.save(step, values, {"step": step}, description, metric=1.0 / step)


def _harm(room: Path, name: str) -> None:
    path = room / "x.cache" / name
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


def _whole_cache(room: Path) -> None:
    """Whoever opens it after the kill finds a cache: the old or the new one."""
    load_manifest(room / "x.cache")


def _whole_checkpoint(room: Path) -> None:
    with Checkpoints(room / "run", 2) as checkpoints:
        loaded = checkpoints.latest_intact()
        if loaded is None or loaded.step not in (2, 3):
            raise AssertionError(f"the run went back to {loaded and loaded.step}")
        for link in ("last", "best"):
            load(room / "run" / "checkpoints" / link)


def _nothing(room: Path) -> None:
    pass


CASES: dict[str, tuple[Callable[[Path], None], Action, Action]] = {
    "pack": (_nothing, _pack, _nothing),
    "pack --rebuild": (_pack, lambda room: _pack(room, rebuild=True), _whole_cache),
    "add": (_pack, _add, _whole_cache),
    "verify --fix, mel": (lambda room: (_pack(room), _harm(room, "mel.npy")), _fix, _whole_cache),
    "verify --fix, index": (lambda room: (_pack(room), _harm(room, "index.speaker.npy")), _fix, _whole_cache),
    "checkpoint": (lambda room: (_save(room, 1), _save(room, 2)), _save, _whole_checkpoint),
    "checkpoint again": (lambda room: [_save(room, n) for n in (1, 2, 3)], _save, _whole_checkpoint),
}


def prepare(case: str, folder: Path, corpora: Path) -> Path:
    """What is there before the call."""
    place = folder / "prepared"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(corpora, place)
    CASES[case][0](place)
    return place


def one_kill(
    case: str, exchanges: bool, folder: Path, prepared: Path, expected: dict[Any, Any], chance: random.Random
) -> bool:
    """True if it was killed before it ended."""
    _, action, check = CASES[case]
    room, key = folder / "room", (case, exchanges)
    if key not in expected:
        expected[key] = moves_of(case, exchanges, folder, prepared)
    moves, wanted = expected[key]
    shutil.copytree(prepared, room, symlinks=True)
    hit = killed(action, room, chance.randint(1, moves), exchanges)
    check(room)
    patch = contextlib.nullcontext() if exchanges else mock.patch.object(files, "exchange", return_value=False)
    with patch:
        action(room)
    left = tree(room)
    if left != wanted:
        unlike = sorted(name for name in {*left, *wanted} if left.get(name) != wanted.get(name))
        raise AssertionError(f"{case}: after the kill and another run these differ: {unlike[:6]}")
    shutil.rmtree(room)
    return hit


def moves_of(case: str, exchanges: bool, folder: Path, prepared: Path) -> tuple[int, dict[str, bytes | str]]:
    """How many moves an undisturbed call makes, and what it leaves."""
    _, action, _ = CASES[case]
    room = folder / "undisturbed"
    shutil.copytree(prepared, room, symlinks=True)
    if killed(action, room, sys.maxsize, exchanges):
        raise AssertionError(f"{case} fails without a kill")
    left = tree(room)
    shutil.rmtree(room)
    return int((folder / "moves").read_text()), left


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200, help="of each case, half of them without atomic exchange")
    parser.add_argument("--cases", nargs="+", choices=CASES, default=[*CASES])
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)
    chance, failures = random.Random(arguments.seed), 0
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as name:
        folder, corpora = Path(name), Path(name) / "corpora"
        LAYOUTS["ljspeech"](corpora / "corpus")
        LAYOUTS["piper"](corpora / "second")
        for case in arguments.cases:
            done: Counter[bool] = Counter()
            expected: dict[Any, Any] = {}
            prepared = prepare(case, folder, corpora)  # once: a kill then costs a copy of it, not a packing
            for n in range(arguments.kills):
                try:
                    done[one_kill(case, n % 2 == 0, folder, prepared, expected, chance)] += 1
                except Exception as error:  # noqa: BLE001 - whatever it is, it is what this file looks for
                    failures += 1
                    print(
                        f"  FOUND: {case}, {'exchange' if n % 2 == 0 else 'two renames'}: {type(error).__name__}: {error}",  # noqa: E501
                        flush=True,
                    )
                    shutil.rmtree(folder / "room", ignore_errors=True)
            print(f"{case}: {done[True]} killed, {done[False]} ended before, {failures} findings so far", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
