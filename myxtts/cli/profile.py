"""`myxtts profile` says how long batches, stages and steps take, and records a trace."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from myxtts.cli.shared import (
    Result,
    add_config_flags,
    add_data_flag,
    add_setting,
    add_verb,
    load_config_with_data,
    positive,
    progress_bar,
)

_PARTS = 4  # data, loading, stages, step; a trace may follow


def add(verbs: Any) -> None:
    parser = add_verb(verbs, "profile", run, "say how long loading, each stage and the model's step take",
        "  myxtts profile --data voice.cache\n  myxtts profile --config my.yaml --batches 200\n"
        "  myxtts profile --data voice.cache --trace trace")  # fmt: skip
    add_data_flag(parser)
    parser.add_argument("--batches", metavar="N", type=positive, help="how many (default: 50, or those of 20 s)")
    add_setting(parser, "data.batch_size", "--batch-size", metavar="N", type=positive, help="default: data.batch_size")
    parser.add_argument("--trace", metavar="DIR", type=Path,
                        help="record ten steps for TensorBoard's profiler and ui.perfetto.dev")  # fmt: skip
    add_config_flags(parser)


def run(arguments: argparse.Namespace) -> Result:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    config = load_config_with_data(arguments)
    from myxtts.bench.profile import profile

    with progress_bar(_PARTS + (arguments.trace is not None), "measuring", "part") as bar:

        def show(what: str) -> None:
            bar.set_postfix_str(what)
            bar.update()

        measured = profile(config, arguments.batches, arguments.trace, show)
    return 0, measured.to_dict(), str(measured)
