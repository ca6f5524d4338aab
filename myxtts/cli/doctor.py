"""`myxtts doctor` says why the accelerator is idle, and what the cure will bring."""

from __future__ import annotations

import argparse
import itertools
import os
from pathlib import Path
from typing import Any

from myxtts.cli.shared import Result, UsageError, add_config_flags, add_verb, load_config, positive, progress_bar

_STAGES = 5  # data, loader, device, loop, step; a cure may pack before


def add(verbs: Any) -> None:
    parser = add_verb(verbs, "doctor", run, "say what limits a pipeline, the evidence, the cure and its predicted gain",
        "  myxtts doctor --cache voice.cache\n  myxtts doctor --config my.yaml --fix\n"
        "  myxtts doctor --run runs/anna")  # fmt: skip
    parser.add_argument("--cache", metavar="DATA", type=Path, help="cache or corpus to examine")
    parser.add_argument("--run", metavar="RUN", type=Path, dest="run_dir", help="explain the past of a run")
    parser.add_argument("--batch-size", metavar="N", type=positive)
    parser.add_argument("--step-ms", metavar="MS", type=float,
                        help="emulate an accelerator of this step time (default 10 without a GPU)")  # fmt: skip
    parser.add_argument("--real-step", action="store_true", help="measure with the model's own step")
    parser.add_argument("--fix", action="store_true", help="write the best cure to a new config, measure again")
    parser.add_argument("--output", metavar="FILE", type=Path, help="where --fix writes (default: *.fixed.yaml)")
    add_config_flags(parser)


def run(arguments: argparse.Namespace) -> Result:
    if arguments.run_dir is not None:
        from myxtts.performance.history import explain

        past = explain(arguments.run_dir)
        return (0 if past.healthy else 1), past.to_dict(), str(past)
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    config = _config(arguments)
    step_ms = _step_ms(arguments)
    from myxtts.performance.doctor import examine, treat

    output = _output(arguments) if arguments.fix else None
    with progress_bar(_STAGES, "measuring", "stage") as bar:

        def show(what: str) -> None:
            bar.set_postfix_str(what)
            bar.update()

        found = examine(config, step_ms, show)
        done = None
        if output is not None and found.cures:
            bar.reset(_STAGES + 1)
            done = treat(config, found, output, step_ms, show)
    result = {"device": _device(step_ms), **found.to_dict(), "treatment": done.to_dict() if done else None}
    text = f"device: {_device(step_ms)}\n{found}"
    if output is not None and found.cures:
        text += f"\n\n{done}" if done else "\n\nno setting brings this cure: it is for you to do"
    return (0 if (done.after if done else found).healthy else 1), result, text


def _config(arguments: argparse.Namespace) -> Any:
    config = load_config(arguments)
    if arguments.cache is not None:
        config.data.dataset_path = str(arguments.cache)
    if arguments.batch_size:
        config.data.batch_size = arguments.batch_size
    if config.data.dataset_path is None:
        raise UsageError("no data is named: give --cache DATA, --run RUN, or a --config with data.dataset_path")
    return config


def _step_ms(arguments: argparse.Namespace) -> float | None:
    """None for the real step: asked for, or there is a GPU to ask."""
    if arguments.step_ms is not None and not 0 < arguments.step_ms < 1e6:
        raise UsageError(f"--step-ms {arguments.step_ms:g}: expected milliseconds above 0")
    if arguments.real_step and arguments.step_ms is not None:
        raise UsageError("--real-step and --step-ms: one device at a time, the model's own or an emulated one")
    if arguments.real_step:
        return None
    if arguments.step_ms is None:
        from myxtts.data.device import first_gpu
        from myxtts.performance.doctor import EMULATED_MS

        return None if first_gpu() else EMULATED_MS
    return float(arguments.step_ms)


def _device(step_ms: float | None) -> str:
    return "the model's own step" if step_ms is None else f"emulated, {step_ms:g} ms a step"


def _output(arguments: argparse.Namespace) -> Path:
    """A file that is not there yet: no config of the user's is overwritten, not even one that was made here."""
    if arguments.output is not None:
        if arguments.output.exists():
            raise UsageError(f"--output {arguments.output} exists: name a new file")
        return Path(arguments.output)
    first = Path(arguments.config).with_suffix(".fixed.yaml") if arguments.config else Path("config.fixed.yaml")
    others = (first.with_suffix(f".{n}.yaml") for n in itertools.count(2))
    return next(path for path in itertools.chain([first], others) if not path.exists())
