"""A run that is resumed keeps the settings it was started with, but for those that are given now."""

from __future__ import annotations

import dataclasses
import logging
from pathlib import Path
from typing import Any

from myxtts.config.config import DataConfig, XTTSConfig, load
from myxtts.errors import ConfigError
from myxtts.training.start_from import starts_from_another

log = logging.getLogger(__name__)

_ENDS = {"epochs", "steps", "minutes"}  # one that is given now stands for all


def is_started(run: Path) -> bool:
    """Does the directory hold checkpoints, from which training would resume?"""
    return any((run / "checkpoints").glob("step-*"))


def settings_of(run: Path) -> XTTSConfig | None:
    """Those that a run was started with; None where there is no run yet, or none that says them."""
    if not is_started(run):
        return None
    try:
        return load(run / "config.yaml")
    except ConfigError as error:
        log.warning("%s resumes with the settings given now alone: %s", run, error)
        return None


def with_settings_of(run: Path, config: XTTSConfig) -> XTTSConfig:
    """The config, where nothing was given as in the run's own config.yaml. Other batches would be another run."""
    before = settings_of(run)
    if before is None:
        return config
    log.info("%s resumes with the settings in its config.yaml%s", run, _given_now(config))
    if _given(config.data, before.data) != config.data.given.keys():
        log.info("data.frame_budget stays %s, as in config.yaml: a run has one", before.data.frame_budget)
    ends = _ENDS if _ENDS & config.training.given.keys() else set()
    sections: dict[str, Any] = {
        "data": config.data.filled(before.data.to_dict(), _given(config.data, before.data)),
        "model": config.model.filled(before.model.to_dict()),
        "training": config.training.filled(before.training.to_dict(), config.training.given.keys() | ends),
    }
    return dataclasses.replace(config, **sections)


def check_start(run: Path, before: XTTSConfig | None, config: XTTSConfig) -> None:
    """A run that began from nothing cannot be resumed from another model, nor the other way round."""
    given = config.training.start_from
    if before is None or given is None or starts_from_another(before.training) == starts_from_another(config.training):
        return
    began = (
        f"started from {before.training.start_from}" if starts_from_another(before.training) else "began from nothing"
    )
    by = config.training.given.get("start_from", "training.start_from")
    raise ConfigError(f"{run} {began}, and is resumed: leave {by} {given} out, choose another --run, or start over "
                      "with --reset")  # fmt: skip


def as_before(before: XTTSConfig | None, config: XTTSConfig, suited: XTTSConfig) -> XTTSConfig:
    """What suits a new run, but for what the config has of the run that it resumes: a run settles such things once."""
    if before is None:
        return suited
    sections: dict[str, Any] = {}
    for name in ("data", "model", "training"):
        now, own = getattr(config, name).to_dict(), getattr(before, name).to_dict()
        kept = {key: value for key, value in own.items() if now[key] == value}
        sections[name] = getattr(suited, name).filled(kept)
    return dataclasses.replace(suited, **sections)


def _given(data: DataConfig, before: DataConfig) -> set[str]:
    """What was given now, but for an `auto` in whose place the run has a number: another one would be other batches."""
    settled = data.frame_budget == "auto" and isinstance(before.frame_budget, int)
    return data.given.keys() - ({"frame_budget"} if settled else set())


def _given_now(config: XTTSConfig) -> str:
    parts = (config.data, config.model, config.training)
    now = [f"{part.section}.{key} ({source})" for part in parts for key, source in part.given.items()]
    return f"; given now: {', '.join(now)}" if now else ""
