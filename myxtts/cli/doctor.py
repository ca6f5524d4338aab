"""`myxtts doctor` says why the accelerator is idle, and what the cure will bring."""

from __future__ import annotations

import argparse
import itertools
import os
from contextlib import nullcontext
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
    load_config_with_data,
    positive,
    progress_bar,
)

_STAGES = 5  # data, loader, device, loop, step; a cure may pack before


def add(verbs: Any) -> None:
    parser = add_verb(verbs, "doctor", run, "say what limits a pipeline, the evidence, the cure and its predicted gain",
        "  myxtts doctor --data voice.cache\n  myxtts doctor --config my.yaml --fix\n"
        "  myxtts doctor --run runs/anna --html anna.html\n"
        "  myxtts doctor --compare runs/anna runs/anna2")  # fmt: skip
    add_data_flag(parser)
    parser.add_argument("--run", metavar="RUN", type=Path, dest="run_dir", help="explain how a run went")
    parser.add_argument("--compare", metavar="RUN", type=Path, nargs=2, help="say what differs between two runs")
    add_setting(parser, "data.batch_size", "--batch-size", metavar="N", type=positive, help="default: data.batch_size")
    parser.add_argument("--num-batches", metavar="N", type=positive,
                        help="measure at most this many, each time (default: 400, or those of 6 s)")  # fmt: skip
    parser.add_argument("--step-ms", metavar="MS", type=float,
                        help="emulate an accelerator of this step time (default 10 without a GPU)")  # fmt: skip
    parser.add_argument("--real-step", action="store_true", help="measure with the model's own step")
    parser.add_argument("--fix", action="store_true", help="write the best cure to a new config, measure again")
    parser.add_argument("--html", metavar="FILE", type=html_file, help="write all of it as a page for the browser")
    parser.add_argument("--output", metavar="FILE", type=Path, help="where --fix writes (default: *.fixed.yaml)")
    add_config_flags(parser)


def run(arguments: argparse.Namespace) -> Result:
    if arguments.compare is not None:
        from myxtts.doctor.compare import compare

        compared = compare(*arguments.compare)
        return 0, compared.to_dict(), str(compared)
    if arguments.run_dir is not None:
        return _explain_run(arguments)
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    config = load_config_with_data(arguments, "--run RUN, ")
    step_ms = _step_ms(arguments)
    from myxtts.doctor.treatment import examine, treat
    from myxtts.machine.sampler import MachineSampler
    from myxtts.monitor import Monitor

    output = _output(arguments) if arguments.fix else None
    watch = MachineSampler(Monitor(), 0.5)
    with progress_bar(_STAGES, "measuring", "stage") as bar, watch if arguments.html else nullcontext():

        def show(what: str) -> None:
            bar.set_postfix_str(what)
            bar.update()

        most = {"most_batches": arguments.num_batches} if arguments.num_batches else {}
        diagnosis = examine(config, step_ms, show, **most)
        done = None
        if output is not None and diagnosis.cures:
            bar.reset(_STAGES + 1)
            done = treat(config, diagnosis, output, step_ms, show)
    if arguments.html:
        from myxtts.report.doctor import write_doctor_report

        seen = watch.samples, watch.description
        write_doctor_report(arguments.html, _device(step_ms), diagnosis, done, config, *seen)
    result = {"device": _device(step_ms), **diagnosis.to_dict(), "treatment": done.to_dict() if done else None}
    text = f"device: {_device(step_ms)}\n{diagnosis}"
    if output is not None and diagnosis.cures:
        text += f"\n\n{done}" if done else "\n\nno setting applies this cure: change it in your own code"
    return (0 if (done.after if done else diagnosis).healthy else 1), result, text


def _explain_run(arguments: argparse.Namespace) -> Result:
    from myxtts.doctor.history import explain

    past = explain(arguments.run_dir)
    if arguments.html:
        from myxtts.report.run import write_run_report

        write_run_report(arguments.run_dir, arguments.html)
    return (0 if past.healthy else 1), past.to_dict(), str(past)


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
        from myxtts.doctor.treatment import EMULATED_MS

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
