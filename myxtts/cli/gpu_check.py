"""`myxtts gpu-check` is what a first user with a GPU runs: one JSON says what works and what does not."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from myxtts.cli.shared import Result, above_zero, add_config_flags, add_verb, load_config, progress_bar

_CHECKS = 8


def add(verbs: Any) -> None:
    parser = add_verb(verbs, "gpu-check", run, "check a GPU from driver to training; writes one JSON for a bug report",
        "  myxtts gpu-check\n  myxtts gpu-check --preset gpu_24gb --output my-card.json")  # fmt: skip
    parser.add_argument("--output", metavar="FILE", type=Path, default=Path("gpu-check.json"),
                        help="default: gpu-check.json")  # fmt: skip
    parser.add_argument("--demo", metavar="DIR", type=Path, default=Path("demo"),
                        help="where the demo corpus is or will be made (default: demo)")  # fmt: skip
    parser.add_argument("--minutes", metavar="M", type=minutes, default=2.0, help="of training (default 2)")
    add_config_flags(parser)


def minutes(text: str) -> float:
    return above_zero(text, "minutes")


def run(arguments: argparse.Namespace) -> Result:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    config = load_config(arguments)
    import tempfile

    from myxtts.cli.example_data import demo_cache
    from myxtts.gpu_check.check import GpuCheck

    with tempfile.TemporaryDirectory(prefix="myxtts-gpu-check-") as folder:
        check = GpuCheck(
            config,
            arguments.output,
            lambda: demo_cache(arguments.demo, config),
            Path(folder) / "run",
            arguments.minutes,
        )
        with progress_bar(_CHECKS, "checking", "check") as bar:

            def show(what: str) -> None:
                bar.set_postfix_str(what)
                bar.update()

            check.run(show)
    return check.exit_code, check.to_dict(), str(check)
