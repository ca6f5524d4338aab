"""`myxtts tune` measures settings on this machine and writes the best of them to a new config."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from myxtts.cli.shared import (
    Result,
    UsageError,
    add_config_flags,
    add_data_flag,
    add_verb,
    cache_of,
    load_config_with_data,
    progress_bar,
)

_DEFAULT_OUTPUT = Path("tuned.yaml")


def add(verbs: Any) -> None:
    parser = add_verb(verbs, "tune", run, "measure settings on this machine and write the fastest to a new config",
        "  myxtts tune --data voice.cache\n  myxtts tune --config my.yaml --seconds 20 -o my.tuned.yaml\n"
        "  myxtts tune --data voice.cache --set data.batch_size=16     # stays at 16")  # fmt: skip
    add_data_flag(parser)
    parser.add_argument("--seconds", metavar="S", type=float, default=30.0, help="how long to measure (default 30)")
    parser.add_argument("-o", "--output", metavar="FILE.yaml", type=Path, default=_DEFAULT_OUTPUT,
                        help="the new config (default tuned.yaml)")  # fmt: skip
    parser.add_argument("--force", action="store_true", help="write over an existing FILE.yaml")
    add_config_flags(parser)


def run(arguments: argparse.Namespace) -> Result:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    _check(arguments)
    config = load_config_with_data(arguments)
    cache = cache_of(config.data.dataset_path, config)
    began = time.monotonic()
    from myxtts.tuner.tune import tune

    with seconds_bar(arguments.seconds) as show:
        left = arguments.seconds - (time.monotonic() - began)  # TensorFlow's start counts too
        tuned = tune(config, cache, left, progress=show)
    tuned.config.to_yaml(arguments.output, given_only=True)
    result = {"config": str(arguments.output), "cache": str(cache), **tuned.to_dict()}
    return 0, result, f"{tuned}\nthe settings are in {arguments.output}: train with --config {arguments.output}"


def _check(arguments: argparse.Namespace) -> None:
    """Before anything is measured."""
    if not 1 <= arguments.seconds <= 3600:
        raise UsageError(f"--seconds {arguments.seconds:g}: expected 1 to 3600")
    if arguments.output.exists() and not arguments.force:
        raise UsageError(f"{arguments.output} exists: name another file with -o, or add --force to write over it")
    if not arguments.output.resolve().parent.is_dir():
        raise UsageError(f"there is no folder {arguments.output.parent}: make it first, or name another with -o")


@contextmanager
def seconds_bar(seconds: float) -> Iterator[Callable[[float, str], None]]:
    """A bar of the seconds that a search may take, with what is being tried."""
    with progress_bar(round(seconds), "tuning", "s") as bar:

        def show(elapsed: float, what: str) -> None:
            bar.set_postfix_str(what, refresh=False)
            bar.update(min(int(elapsed), bar.total) - bar.n)

        yield show
