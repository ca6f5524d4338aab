"""The tuner under its documented name.

config = auto_tune_performance_settings(XTTSConfig())       # where to begin on this machine
config = auto_tune_performance_settings(config)             # with data.dataset_path: measured, for 30 s at most
"""

from __future__ import annotations

from pathlib import Path

from myxtts.cache.manifest import is_cache
from myxtts.cache.pack import default_cache
from myxtts.config.config import XTTSConfig
from myxtts.data.starting_points import with_starting_point

__all__ = ["auto_tune_performance_settings"]


def auto_tune_performance_settings(config: XTTSConfig) -> XTTSConfig:
    """A new config for this machine. Without packed data to measure on, it has the starting points alone."""
    path = None if config.data.dataset_path is None else Path(config.data.dataset_path)
    cache = path if path is None or is_cache(path) else default_cache(path)
    if cache is None or not is_cache(cache):
        return with_starting_point(config)
    from myxtts.tuner.tune import tune

    return tune(config, cache).config
