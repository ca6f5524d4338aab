"""What the tuner found, kept for the next run on the same machine, cache and model; and when `train` asks for it.

One JSON file for each, in $XDG_CACHE_HOME/myxtts/tuned (or ~/.cache/myxtts/tuned). Deleting one means measuring again.
"""

from __future__ import annotations

import dataclasses
import json
import logging
import os
from collections.abc import Collection
from pathlib import Path
from typing import Any

from myxtts.cache.format import fingerprint, load_manifest, write_whole
from myxtts.config.config import XTTSConfig, load
from myxtts.errors import ConfigError
from myxtts.monitor import start_monitor
from myxtts.performance.machine import describe_machine
from myxtts.performance.tune import KNOBS, SECONDS, Progress, describe_change, tune

log = logging.getLogger(__name__)


def tune_for_training(
    config: XTTSConfig,
    cache: Path,
    run: Path,
    keep: Collection[str] = (),
    seconds: float = SECONDS,
    progress: Progress = lambda elapsed, what: None,
    **options: Any,
) -> XTTSConfig:
    """The config to train with: tuned now or before; of a run that goes on, with what it was begun with.

    `keep` names settings that somebody gave by hand. What is changed is said in one line. Options are those of `tune`.
    """
    if goes_on(run):
        return _as_begun(config, run, keep)
    key = key_of(config, cache, keep)
    file = tuned_folder() / f"{fingerprint(key)}.json"
    known = _recall(file, config)
    if known is not None:
        log.info("%s", known["said"] + f" (measured before: {file})")
        return _changed(config, known["settings"])
    tuned = tune(config, cache, seconds, keep=keep, progress=progress, **options)
    start_monitor()  # what was counted meanwhile is no part of the training that follows
    said = describe_change(tuned.changed, tuned.found)
    log.info("%s", said)
    settings = {name: new for name, (_, new) in tuned.changed.items()}
    _remember(file, {"settings": settings, "said": said, "for": key, **tuned.to_dict()})
    return tuned.config


def goes_on(run: Path) -> bool:
    """Does the directory hold checkpoints, which training would go on from?"""
    return any((run / "checkpoints").glob("step-*"))


def _as_begun(config: XTTSConfig, run: Path, keep: Collection[str]) -> XTTSConfig:
    """Other batches would be another run: a run keeps the settings that it was begun with."""
    try:
        begun = load(run / "config.yaml").data
    except ConfigError as error:
        log.warning("the run goes on with the settings given now, not tuned: %s", error)
        return config
    log.info("not tuned: the run in %s goes on with the settings it was begun with", run)
    return _changed(config, {name: getattr(begun, name) for name in KNOBS if name not in keep})


def key_of(config: XTTSConfig, cache: Path, keep: Collection[str]) -> dict[str, Any]:
    """All that decides which settings are best: the machine, the cache, the model and how it is trained."""
    machine = describe_machine(cache)
    training = {name: getattr(config.training, name) for name in (
        "precision", "gradient_accumulation_steps", "enable_graph_mode", "enable_xla_compilation",
        "enable_eager_debug", "deterministic")}  # fmt: skip
    data = config.data.to_dict()
    return {
        "machine": {name: machine[name] for name in ("cpu", "cpus", "memory_bytes", "gpus", "driver", "tensorflow")},
        "cache": load_manifest(cache)["id"],
        "model": config.model.to_dict(),
        "training": training,
        "data": {name: value for name, value in data.items() if name != "dataset_path"},
        "keep": sorted(set(keep) & set(KNOBS)),
    }


def tuned_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "myxtts" / "tuned"


def _recall(file: Path, config: XTTSConfig) -> dict[str, Any] | None:
    try:
        known = json.loads(file.read_bytes())
        _changed(config, known["settings"])
        return known if isinstance(known["said"], str) else None
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, ConfigError) as error:
        log.warning("%s cannot be used (%s): measuring again", file, error)
        return None


def _remember(file: Path, body: dict[str, Any]) -> None:
    """Where that cannot be written, the next run measures again."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, (json.dumps(body, ensure_ascii=False, indent=1) + "\n").encode())
    except OSError as error:
        log.warning("cannot keep what was found in %s (%s): the next run measures again", file, error.strerror)


def _changed(config: XTTSConfig, settings: dict[str, Any]) -> XTTSConfig:
    strange = set(settings) - set(KNOBS)
    if strange:
        raise ConfigError(f"found {', '.join(sorted(strange))}, expected some of {', '.join(KNOBS)}")
    return dataclasses.replace(config, data=dataclasses.replace(config.data, **settings))
