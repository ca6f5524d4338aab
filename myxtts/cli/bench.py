"""`myxtts bench` measures loaders."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from myxtts.cli.report import html_file
from myxtts.cli.shared import (
    Result,
    UsageError,
    add_config_flags,
    add_data_flag,
    add_setting,
    add_verb,
    cache_of,
    load_config_with_data,
    positive,
    progress_bar,
)


def add(verbs: Any) -> None:
    parser = add_verb(verbs, "bench", run, "measure loaders side by side, with an emulated accelerator",
        "  myxtts bench --data voice.cache\n"
        "  myxtts bench --data ~/corpus --loaders mapped,python --plot au.png")  # fmt: skip
    add_data_flag(parser)
    add_setting(parser, "data.batch_size", "--batch-size", metavar="N", type=positive, help="default: data.batch_size")
    parser.add_argument(
        "--loaders", metavar="A,B,C", help="some of limit, mapped, limit-audio, mapped-audio, native, npy, python"
    )
    parser.add_argument("--step-ms", metavar="A,B,C", default="5,10,20,50", help="step times to emulate")
    parser.add_argument("--batches", metavar="N", type=positive,
                        help="take N of each loader for its rate (default: as many as arrive in 2 s)")  # fmt: skip
    parser.add_argument("--cold", action="store_true", help="drop the files from memory before each loader")
    parser.add_argument("--plot", metavar="FILE.png", type=Path, help="draw utilisation over step time")
    parser.add_argument("--html", metavar="FILE", type=html_file, help="write all of it as a page for the browser")
    add_config_flags(parser)


def run(arguments: argparse.Namespace) -> Result:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    from myxtts.bench.loaders import as_table, bench, plot, usable_loaders
    from myxtts.cache.open import open_cache

    config = load_config_with_data(arguments)
    cache = cache_of(config.data.dataset_path, config)
    loaders = arguments.loaders.split(",") if arguments.loaders else usable_loaders(open_cache(cache))
    with progress_bar(len(loaders) + 1, "measuring", "loader") as bar:

        def show(what: str) -> None:
            bar.set_postfix_str(what)
            bar.update(0 if what == "controls" else 1)

        result = bench(cache, config, loaders, _step_times(arguments.step_ms), arguments.cold, show,
                       arguments.batches)  # fmt: skip
    if arguments.plot:
        plot(result, arguments.plot)
    if arguments.html:
        from myxtts.report.bench import write_bench_report

        write_bench_report(arguments.html, result, config)
    return 0, result, as_table(result) + (f"\nfor the browser: {arguments.html}" if arguments.html else "")


def _step_times(text: str) -> list[float]:
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        values = [0.0]
    if not all(0 < value < 1e7 for value in values):  # NaN fails too
        raise UsageError(f"--step-ms {text}: expected milliseconds separated by commas, for example 5,10,20")
    return values
