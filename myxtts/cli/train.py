"""`myxtts train` trains a voice, and goes on where a run was left."""

from __future__ import annotations

import argparse
import logging
import os
import shlex
import sys
from pathlib import Path
from typing import Any

from myxtts.cli.shared import (
    Result,
    UsageError,
    add_config_flags,
    add_corpus_flags,
    add_verb,
    cache_of,
    load_config,
    positive,
)
from myxtts.cli.tune import kept_in_file, kept_settings, seconds_bar

log = logging.getLogger(__name__)

# Bundles of settings. `enhanced` is what the defaults are; `basic` leaves out whatever might be to blame for a problem.
OPTIMIZATION_LEVELS: dict[str, dict[str, dict[str, Any]]] = {
    "basic": {
        "data": {"prefetch_to_gpu": False, "enhanced_gpu_prefetch": False, "prefetch_buffer_size": 2},
        "training": {"precision": "float32", "enable_xla_compilation": False},
    },
    "enhanced": {},
    "experimental": {"training": {"enable_xla_compilation": True}},
}
# flag -> where its value belongs
_SETTINGS = {
    "batch_size": "data",
    "num_workers": "data",
    "preprocessing_mode": "data",
    "prefetch_buffer_size": "data",
    "epochs": "training",
    "steps": "training",
    "minutes": "training",
}
_DISABLES = {
    "disable_tf_native_loading": ("use_tf_native_loading",),
    "disable_gpu_prefetch": ("prefetch_to_gpu", "enhanced_gpu_prefetch"),
    "disable_cpu_gpu_overlap": ("optimize_cpu_gpu_overlap",),
}


def add(verbs: Any) -> None:
    parser = add_verb(verbs, "train", run, "train a voice; an interrupted run goes on by itself",
        "  myxtts train --train-data ~/corpus --run runs/anna --minutes 30\n"
        "  myxtts train --train-data voice.cache --preset gpu_24gb --model-size small --epochs 200\n"
        "  myxtts train --train-data voice.cache --run runs/anna --reset --yes")  # fmt: skip
    parser.add_argument("--mode", choices=("train",), default="train", help=argparse.SUPPRESS)
    parser.add_argument("--train-data", metavar="DATA", type=Path, help="corpus (packed first if need be) or cache")
    parser.add_argument("--val-data", metavar="DATA", type=Path, help="default: 5 %% of the sentences of --train-data")
    parser.add_argument("--run", metavar="DIR", type=Path, dest="run_dir", help="default: runs/NAME of the data")
    parser.add_argument("--reset", action="store_true", help="start over; the old run is moved aside")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument("--replan", action="store_true", help="go on although the data or batch size has changed")
    parser.add_argument("--model-size", choices=("tiny", "small", "normal"), help="model.size")
    parser.add_argument("--epochs", metavar="N", type=positive, help="stop after this many epochs")
    parser.add_argument("--steps", metavar="N", type=positive, help="stop after this many steps")
    parser.add_argument("--minutes", metavar="M", type=float, help="stop after this many minutes")
    parser.add_argument("--batch-size", metavar="N", type=positive, help="utterances per step: data.batch_size")
    parser.add_argument("--num-workers", metavar="N", type=positive, help="data.num_workers")
    parser.add_argument("--prefetch-buffer-size", metavar="N", type=int, help="batches made ahead of the step")
    parser.add_argument("--preprocessing-mode", choices=("precompute", "on_the_fly", "auto"),
                        help="where the mel is made: data.preprocessing_mode")  # fmt: skip
    parser.add_argument("--optimization-level", choices=tuple(OPTIMIZATION_LEVELS), default="enhanced",
                        help="basic: float32, nothing staged ahead; experimental: also XLA; --set wins")  # fmt: skip
    parser.add_argument("--disable-tf-native-loading", action="store_true",
                        help="per-file loaders decode in Python; training packs first, decodes nothing")  # fmt: skip
    parser.add_argument("--disable-gpu-prefetch", action="store_true", help="copy a batch when its step begins")
    parser.add_argument("--disable-cpu-gpu-overlap", action="store_true", help="make a batch when its step begins")
    add_corpus_flags(parser)
    add_config_flags(parser)


def run(arguments: argparse.Namespace) -> Result:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    config = settings_of(arguments)
    data = arguments.train_data or (Path(config.data.dataset_path) if config.data.dataset_path else None)
    if data is None:
        raise UsageError(
            "no data is named: give --train-data CORPUS_OR_CACHE, or set data.dataset_path in the config; to try it "
            "first, run 'myxtts demo-corpus demo/corpus' and give --train-data demo/corpus"
        )
    folder = arguments.run_dir or Path(config.training.run_dir or f"runs/{data.resolve().name.removesuffix('.cache')}")
    if arguments.reset:
        _confirm(folder, arguments.yes)
    cache = cache_of(data, config, arguments)
    validation = None if arguments.val_data is None else cache_of(arguments.val_data, config, arguments)
    if not config.data.use_tf_native_loading:
        log.warning("--disable-tf-native-loading is for loaders that open a file per utterance: %s is packed, and "
                    "training decodes nothing; 'myxtts bench' compares such loaders", cache)  # fmt: skip
    if arguments.reset:  # not before: a typing error in the data would leave no run at its place
        from myxtts.training.reset import move_aside

        move_aside(folder)
    if config.data.auto_tune_performance:
        config = _tuned(config, cache, folder, arguments)
    from myxtts.performance.machine import MachineSampler
    from myxtts.performance.report.kept import KeptReport
    from myxtts.training.start import start_training

    options = {"replan": arguments.replan, "resume_command": _same_command()}
    with MachineSampler(), KeptReport(folder):
        result = start_training(config, cache, validation, folder, **options)
    best = result["best"]
    text = (
        f"{folder}: step {result['step']} after {result['seconds'] / 60:.1f} min, {result['why']}"
        + (f"; best at step {best['step']}, mel_l1 {best['mel_l1']:.3f}" if best else "")
        + f"; the device waited {result['stall']:.1%} of the time: {folder}/report.html\n"
        f"next: myxtts say 'Hello.' --model {folder} -o hello.wav"
    )
    return (130 if result["interrupted"] else 0), result, text


def settings_of(arguments: argparse.Namespace) -> Any:
    """The config, then the bundle of --optimization-level, but for what --set names, then single flags."""
    config = load_config(arguments)
    named = {text.partition("=")[0].strip() for text in arguments.overrides}
    for section, values in OPTIMIZATION_LEVELS[arguments.optimization_level].items():
        for key in values.keys() - {name.removeprefix(f"{section}.") for name in named}:
            setattr(getattr(config, section), key, values[key])
    for name, section in _SETTINGS.items():
        if getattr(arguments, name) is not None:
            setattr(getattr(config, section), name, getattr(arguments, name))
    for flag, keys in _DISABLES.items():
        for key in keys if getattr(arguments, flag) else ():
            setattr(config.data, key, False)
    if arguments.model_size:
        config.model.size = arguments.model_size
    return config


def _tuned(config: Any, cache: Path, folder: Path, arguments: argparse.Namespace) -> Any:
    from myxtts.performance.remembered import tune_for_training
    from myxtts.performance.tune import SECONDS

    with seconds_bar(SECONDS) as show:
        return tune_for_training(config, cache, folder, given_by_hand(arguments), SECONDS, show)


def given_by_hand(arguments: argparse.Namespace) -> set[str]:
    """The settings of the data section that flags, --set, a level or the config file name: tuning leaves them alone."""
    flags = {name for name, section in _SETTINGS.items() if section == "data" and getattr(arguments, name) is not None}
    disabled = {key for flag, keys in _DISABLES.items() if getattr(arguments, flag) for key in keys}
    level = set(OPTIMIZATION_LEVELS[arguments.optimization_level].get("data", {}))
    return flags | disabled | level | kept_settings(arguments.overrides) | kept_in_file(arguments.config)


def _confirm(folder: Path, yes: bool) -> None:
    if yes or not folder.exists():
        return
    if not sys.stdin.isatty():
        raise UsageError(f"--reset moves {folder} aside and starts over: add --yes to confirm")
    print(f"{folder} is moved aside and a new run begins there. Go on? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise UsageError("nothing was changed")


def _same_command() -> str:
    """What to type to go on: this command, without what would start over or is done by now."""
    words = [word for word in sys.argv[1:] if word not in ("--reset", "--yes", "--replan")]
    script = Path(sys.argv[0])
    if script.name == "__main__.py":
        return shlex.join(["python", "-m", "myxtts", *words])
    return shlex.join(["python", str(script), *words] if script.suffix == ".py" else [script.name, *words])
