"""How long a training will take: steps of a length times what a step takes here, measured or, before any run, recorded.

On two cores the demo voice took 0.183 s a step with 16 utterances (docs/log.md: 2,300 steps in 7 minutes).
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

from myxtts.config.config import XTTSConfig, load, preset_names
from myxtts.data.starting_points import with_starting_point
from myxtts.machine.description import describe_machine
from myxtts.report.run_data import read_run
from myxtts.studio.workshop import Workshop

AUTOMATIC = "automatic"
LENGTHS = {"short": 400, "usual": 2300, "long": 10_000}
MOST_STEPS = 10_000_000
_RECORDED_SECONDS, _RECORDED_BATCH, _RECORDED_CORES = 0.183, 16, 2
_PREPARING_SECONDS = 40  # TensorFlow, compiling of three shapes, the last validation
_FEWEST_STEPS = 50


def presets() -> list[str]:
    return [AUTOMATIC, *preset_names()]


def predictions(workshop: Workshop, overrides: list[str]) -> dict[str, Any]:
    """Of each preset: its batch, seconds a step and whether they were measured here; None where nobody knows."""
    measured = _measured(workshop)
    return {name: _predict(_batch_of(name, tuple(overrides)), measured) for name in presets()}


def preparing_seconds() -> int:
    return _PREPARING_SECONDS


def _predict(batch: int, measured: tuple[float, int] | None) -> dict[str, Any]:
    if measured is not None:
        seconds, of_batch = measured
        return {"batch": batch, "seconds_a_step": round(seconds * batch / of_batch, 4), "measured": True}
    machine = _machine()
    if machine["gpus"]:
        return {"batch": batch, "seconds_a_step": None, "measured": False}
    cores = max(min(float(machine["cpus"]), 8.0), 1.0)
    seconds = _RECORDED_SECONDS * batch / _RECORDED_BATCH * _RECORDED_CORES / cores
    return {"batch": batch, "seconds_a_step": round(seconds, 4), "measured": False}


def _measured(workshop: Workshop) -> tuple[float, int] | None:
    """Seconds a step, and its batch, of the newest run here that is long enough."""
    runs = [run for voice in workshop.voices() for run in voice.runs if (run / "log.jsonl").is_file()]
    for run in sorted(runs, key=lambda path: (path / "log.jsonl").stat().st_mtime, reverse=True)[:3]:
        pace = _pace_of(run, (run / "log.jsonl").stat().st_size)
        if pace is not None:
            return pace
    return None


@functools.lru_cache(maxsize=16)
def _pace_of(run: Path, size: int) -> tuple[float, int] | None:
    """`size` is there so that a log that has grown is read again."""
    steps = read_run(run).steps
    if len(steps["step"]) < _FEWEST_STEPS:
        return None
    return float((steps["data_ms"] + steps["compute_ms"]).mean()) / 1e3, max(int(steps["batch"][-1]), 1)


@functools.lru_cache(maxsize=32)
def _batch_of(preset: str, overrides: tuple[str, ...]) -> int:
    config: XTTSConfig = load(None, None if preset == AUTOMATIC else preset, overrides)
    return int(with_starting_point(config, _machine()).data.batch_size)


@functools.cache
def _machine() -> dict[str, Any]:
    return describe_machine()
