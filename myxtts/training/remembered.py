"""Settings that a search found, kept for the next run on the same machine, data and model.

One JSON file for each, in $XDG_CACHE_HOME/myxtts/tuned (or ~/.cache/myxtts/tuned). Deleting one means searching again.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from myxtts.config.config import DataConfig
from myxtts.errors import ConfigError
from myxtts.files import fingerprint, write_whole

log = logging.getLogger(__name__)


def tuned_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "myxtts" / "tuned"


def file_of(key: Mapping[str, Any]) -> Path:
    return tuned_folder() / f"{fingerprint(dict(key))}.json"


def recall(key: Mapping[str, Any], data: DataConfig, knobs: tuple[str, ...]) -> dict[str, Any] | None:
    """What was found for this key: settings that `data` can have, none but `knobs`. None if nothing is known."""
    file = file_of(key)
    try:
        settings = json.loads(file.read_bytes())["settings"]
        strange = set(settings) - set(knobs)
        if strange:
            raise ConfigError(f"found {', '.join(sorted(strange))}, expected some of {', '.join(knobs)}")
        data.filled(settings)
        return dict(settings)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, ConfigError) as error:
        log.warning("%s cannot be used (%s): searching again", file, error)
        return None


def remember(key: Mapping[str, Any], settings: Mapping[str, Any], said: str) -> None:
    """Where that cannot be written, the next run searches again."""
    file = file_of(key)
    body = {"settings": dict(settings), "said": said, "for": dict(key)}
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, (json.dumps(body, ensure_ascii=False, indent=1) + "\n").encode())
    except OSError as error:
        log.warning("cannot keep what was found in %s (%s): the next run searches again", file, error.strerror)
