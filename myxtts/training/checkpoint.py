"""The checkpoints of a run: each is there whole or not at all, and a damaged one is never taken for an intact one.

    RUN/lock                    held by the one process that trains here; it dies with its process
    RUN/checkpoints/step-N/     see models/format.py
    RUN/checkpoints/last, best  links: the newest, and the one with the lowest metric

A checkpoint is written under a hidden name, synced, and renamed. It is deleted the other way round. So what is visible
is whole, and what is hidden was left by a kill and is removed at the next start.
"""

from __future__ import annotations

import contextlib
import logging
import math
import os
import shutil
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from myxtts.errors import CheckpointDamaged, CheckpointError, TrainingError
from myxtts.files import (
    is_still,
    open_append,
    place_of,
    point_link,
    publish,
    recover,
    sync_folder,
    try_lock,
)
from myxtts.models import weights
from myxtts.models.description import ModelDescription, load_description
from myxtts.models.format import STATE, check_files, read_state, write_state
from myxtts.models.vocoder_description import VocoderDescription
from myxtts.training.run_log import plain

log = logging.getLogger(__name__)

LOCK = "lock"

Tensors = dict[str, dict[str, np.ndarray]]
Description = ModelDescription | VocoderDescription


@dataclass(frozen=True)
class Loaded:
    """A checkpoint whose bytes are those that were written."""

    path: Path
    step: int
    metric: float | None
    tensors: Tensors  # file stem ("weights", "ema", "optimiser") -> name -> array
    state: dict[str, Any]  # what the trainer gave to `save`
    description: Description


class RunLock:
    """The right to change a run directory: one process has it, and a killed one no longer does."""

    def __init__(self, run: Path | str):
        self.run = Path(run)
        path = self.run / LOCK
        try:
            self.run.mkdir(parents=True, exist_ok=True)
            self._file = open_append(path)
            free = try_lock(self._file.fileno())
        except OSError as error:
            raise TrainingError(f"cannot train in {run} ({error.strerror}): choose another --run") from None
        if not free:
            self._file.close()
            owner = path.read_text(encoding="utf-8", errors="replace").strip() or "another process"
            raise TrainingError(f"{run} is in use by {owner}: wait for it, stop it, or choose another --run")
        if not is_still(self._file.fileno(), path):  # moved by --reset, meanwhile
            self._file.close()
            raise TrainingError(f"{run} was moved by another process while this one started: start again")
        self._file.truncate(0)
        self._file.write(f"process {os.getpid()} on {socket.gethostname()}\n".encode())
        self._file.flush()

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> RunLock:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Checkpoints:
    """Saves and finds the checkpoints of a run, whose lock it holds until `close`."""

    def __init__(self, run: Path | str, keep: int):
        """`keep`: how many of the newest remain; the best remains besides."""
        if keep < 1:
            raise TrainingError(f"found {keep} checkpoints to keep, expected at least 1")
        self._lock = RunLock(run)
        self.folder, self.keep = Path(run) / "checkpoints", keep
        try:
            self.folder.mkdir(exist_ok=True)
            self._clear_leftovers()
            self._point_links()  # a kill may have come between a checkpoint and its links
            point_link(self.folder / "probe", ".")  # better now than after the first hours
            (self.folder / "probe").unlink()
        except OSError as error:
            self._lock.close()
            raise CheckpointError(
                f"{self.folder} cannot hold checkpoints ({error.strerror}): it must be writable and its file system "
                "must know symbolic links; choose another --run"
            ) from None

    def close(self) -> None:
        self._lock.close()

    def __enter__(self) -> Checkpoints:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def save(
        self,
        step: int,
        tensors: Mapping[str, Mapping[str, np.ndarray]],
        state: Mapping[str, Any],
        description: Description,
        metric: float | None = None,
    ) -> Path:
        """Write `step-N`, point `last` (and `best`) at it, delete what is over `keep`. A step saved again is replaced.

        `metric`: lower is better. On an error the earlier checkpoints are as they were.
        """
        place = self.folder / f"step-{step}"
        hidden = _hidden(place)
        body = {"step": step, "metric": _finite(metric), "sequence": self._newest() + 1}
        try:
            shutil.rmtree(hidden, ignore_errors=True)
            hidden.mkdir()
            for stem, arrays in tensors.items():
                weights.save(hidden / f"{stem}.safetensors", arrays, {"step": str(step)})
            description.save(hidden)
            write_state(hidden, {**body, "state": plain(dict(state))})
            publish(hidden, place, STATE)
            self._point_links()
        except (OSError, CheckpointError) as error:
            with contextlib.suppress(OSError):
                recover(hidden, place, STATE)
                shutil.rmtree(hidden, ignore_errors=True)
            raise CheckpointError(
                f"cannot save {place} ({error}): the earlier checkpoints are untouched; make room, then start again"
            ) from None
        self._delete_old()
        return place

    def load(self, path: Path | str | None = None) -> Loaded | None:
        """The checkpoint at `path`; without one, `latest_intact`."""
        return self.latest_intact() if path is None else load(path)

    def latest_intact(self) -> Loaded | None:
        """What to resume from: the newest intact checkpoint; None if the run has none yet."""
        damaged = []
        for path, _ in reversed(self._in_order()):
            try:
                return load(path)
            except CheckpointDamaged as error:
                log.error("CHECKPOINT DAMAGED: %s; going back to the one before it", error)
                damaged.append(str(error))
        if damaged:
            raise CheckpointDamaged(f"no checkpoint in {self.folder} is intact ({'; '.join(damaged)}): restore one "
                                    "from a copy, or start over with --reset")  # fmt: skip
        return None

    def best(self) -> tuple[int, float] | None:
        """(step, metric) of the best checkpoint."""
        body = _lowest([body for _, body in self._in_order()])
        return None if body is None else (body["step"], body["metric"])

    def _in_order(self) -> list[tuple[Path, dict[str, Any] | None]]:
        """All visible checkpoints and what their state.json says, as they were saved, the newest last.

        By number of saving, not by step: after a return to an earlier step, a later step's checkpoint is the older one.
        One whose state cannot be read (None) counts as the newest, so that resuming meets and reports it.
        """
        paths = [path for path in self.folder.glob("step-*") if path.name[5:].isdigit() and path.is_dir()]
        states = [(path, _state_or_none(path)) for path in paths]
        return sorted(states, key=lambda one: (one[1]["sequence"] if one[1] else math.inf, int(one[0].name[5:])))

    def _newest(self) -> int:
        return max((body["sequence"] for _, body in self._in_order() if body), default=0)

    def _point_links(self) -> None:
        states = [body for _, body in self._in_order() if body]
        for name, body in (("last", states[-1] if states else None), ("best", _lowest(states))):
            if body is not None:
                point_link(self.folder / name, f"step-{body['step']}")
        sync_folder(self.folder)

    def _delete_old(self) -> None:
        checkpoints = self._in_order()
        readable = [body["step"] for _, body in checkpoints if body]
        best = _lowest([body for _, body in checkpoints])
        kept = {*readable[-self.keep :], best and best["step"]}
        for path, body in checkpoints:
            # A damaged one may hold something to be rescued: it goes only when there are enough intact ones.
            if body["step"] not in kept if body else len(readable) > self.keep:
                _remove(path)

    def _clear_leftovers(self) -> None:
        for path in [*self.folder.glob(".saving-*"), *self.folder.glob(".*.replaced-by-myxtts")]:
            place = self.folder / place_of(path.name).removeprefix(".saving-")
            recover(_hidden(place), place, STATE)
        for path in self.folder.glob(".*"):
            ours = path.name.startswith((".saving-", ".deleting-", ".step-"))
            if ours or place_of(path.name) in ("last", "best", "probe"):
                _remove(path)


def _hidden(place: Path) -> Path:
    """Where a checkpoint is written before it is published."""
    return place.with_name(f".saving-{place.name}")


def load(path: Path | str) -> Loaded:
    """A checkpoint after checking every byte of it; CheckpointDamaged names the file that is not as it was written."""
    path = Path(path).resolve()
    body = read_state(path)
    check_files(path, body)
    stems = [name.removesuffix(".safetensors") for name in body["files"] if name.endswith(".safetensors")]
    tensors = {stem: weights.load(path / f"{stem}.safetensors") for stem in stems}
    return Loaded(path, body["step"], body["metric"], tensors, body["state"], load_description(path))


def _state_or_none(folder: Path) -> dict[str, Any] | None:
    try:
        return read_state(folder)
    except CheckpointDamaged:
        return None  # reported by whoever wants to load it


def _lowest(states: Sequence[dict[str, Any] | None]) -> dict[str, Any] | None:
    """The state with the best metric, of equals the first. The best is never deleted, so it is the best so far."""
    rated = [body for body in states if body and body["metric"] is not None]
    return min(rated, key=lambda body: body["metric"], default=None)


def _finite(metric: float | None) -> float | None:
    return None if metric is None or not math.isfinite(metric) else float(metric)


def _remove(path: Path) -> None:
    """Hide it in one step, then delete it. What cannot be deleted is in nobody's way: the next start tries again."""
    try:
        if not path.name.startswith("."):
            path = path.rename(path.with_name(f".deleting-{path.name}"))
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    except OSError as error:
        log.warning("cannot delete %s (%s): delete it by hand if it takes too much room", path, error)
