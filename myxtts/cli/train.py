"""`myxtts train` trains a voice, and resumes a run."""

from __future__ import annotations

import argparse
import functools
import json
import logging
import os
import shlex
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from myxtts.cli.shared import (
    Result,
    UsageError,
    add_config_flags,
    add_corpus_flags,
    add_data_flag,
    add_setting,
    add_verb,
    cache_of,
    explain_cut_off_files,
    find_cache,
    load_config,
    positive,
    values_of,
)

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


def add(verbs: Any) -> None:
    parser = add_verb(verbs, "train", run, "train a voice; an interrupted run is resumed",
        "  myxtts train --data ~/corpus --run runs/anna --minutes 30\n"
        "  myxtts train --data voice.cache --preset gpu_24gb --model-size small --epochs 200\n"
        "  myxtts train --data voice.cache --devices 0,2\n"
        "  myxtts train --data voice.cache --run runs/anna --reset --yes")  # fmt: skip
    parser.add_argument("--mode", choices=("train",), default="train", help=argparse.SUPPRESS)
    add_data_flag(parser, "--train-data")
    parser.add_argument("--val-data", metavar="DATA", type=Path, help="default: 5 %% of the sentences of --data")
    parser.add_argument("--run", metavar="DIR", type=Path, dest="run_dir", help="default: runs/NAME of the data")
    parser.add_argument("--reset", action="store_true", help="start over; the old run is moved aside")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument("--replan", action="store_true", help="resume although the data or batch size has changed")
    parser.add_argument("--optimization-level", choices=tuple(OPTIMIZATION_LEVELS), default="enhanced",
                        help="basic: float32, nothing staged ahead; experimental: also XLA; --set wins")  # fmt: skip
    _add_settings(parser)
    add_corpus_flags(parser)
    add_config_flags(parser)


def _add_settings(parser: argparse.ArgumentParser) -> None:
    """Flags of single settings."""
    number = {"metavar": "N", "type": positive}
    add = functools.partial(add_setting, parser)
    add("model.size", "--model-size", metavar="SIZE", choices=values_of("model.size"), help="%(choices)s: model.size")
    add("model.part", "--part", metavar="PART", choices=values_of("model.part"), help="%(choices)s: model.part")
    add(
        "training.start_from",
        "--from",
        metavar="RUN",
        help="a run, checkpoint or export, base or scratch: training.start_from",
    )
    add("training.epochs", "--epochs", **number, help="stop after this many epochs")
    add("training.steps", "--steps", **number, help="stop after this many steps")
    add("training.minutes", "--minutes", metavar="M", type=float, help="stop after this many minutes")
    add("data.batch_size", "--batch-size", **number, help="utterances per step: data.batch_size")
    add("training.devices", "--devices", metavar="N|all|0,2", type=_devices, help="GPUs to use: training.devices")
    add("data.num_workers", "--num-workers", **number, help="data.num_workers")
    add("data.prefetch_buffer_size", "--prefetch-buffer-size", metavar="N", type=int, help="batches made ahead")
    add("data.preprocessing_mode", "--preprocessing-mode", metavar="MODE", choices=values_of("data.preprocessing_mode"),
        help="where the mel is made, %(choices)s: data.preprocessing_mode")  # fmt: skip
    add("data.use_tf_native_loading", "--disable-tf-native-loading", const=False,
        help="per-file loaders decode in Python; training packs first, decodes nothing")  # fmt: skip
    add("data.prefetch_to_gpu data.enhanced_gpu_prefetch", "--disable-gpu-prefetch", const=False,
        help="copy a batch when its step begins")  # fmt: skip
    add("data.optimize_cpu_gpu_overlap", "--disable-cpu-gpu-overlap", const=False,
        help="make a batch when its step begins")  # fmt: skip


def run(arguments: argparse.Namespace) -> Result:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    from myxtts.cache.fit import made_like
    from myxtts.data.starting_points import for_this_machine
    from myxtts.training.cluster import cluster_of
    from myxtts.training.launch import end_with_launcher
    from myxtts.training.resume import is_started

    explain_cut_off_files(arguments)
    config, folder = _settled(arguments)
    if arguments.reset:
        _confirm(folder, arguments.yes)
    cluster = cluster_of()
    place = config.data.dataset_path
    cache = cache_of(place if cluster is None else _packed(place), config)
    validation = None if arguments.val_data is None else cache_of(arguments.val_data, made_like(cache, config))
    if not config.data.use_tf_native_loading:
        log.warning("--disable-tf-native-loading is for loaders that open a file per utterance: %s is packed, and "
                    "training decodes nothing; 'myxtts bench' compares such loaders", cache)  # fmt: skip
    chief = cluster is None or cluster.chief
    if arguments.reset and chief:  # not before: a typing error in the data would leave no run at its place
        from myxtts.training.reset import move_aside

        move_aside(folder)
    if arguments.reset or not is_started(folder):
        config = for_this_machine(config)
    from myxtts.machine.sampler import MachineSampler
    from myxtts.report.kept import KeptReport
    from myxtts.training.start import start_training

    end_with_launcher()
    words = functools.partial(_last_words, arguments.json)
    options = {"replan": arguments.replan, "resume_command": _same_command(), "last_words": words}
    with MachineSampler(), KeptReport(folder) if chief else nullcontext():
        result = start_training(config, cache, validation, folder, **options)
    code = 130 if result["interrupted"] else 0
    if cluster is not None and not chief:
        return code, result, f"worker {cluster.rank}: step {result['step']}, {result['why']}"
    return code, result, _describe(result, folder, config)


def _describe(result: dict[str, Any], folder: Path, config: Any) -> str:
    """How a run ended, and what to type next."""
    best, by = result["best"], config.training.best_by
    option = "--vocoder" if config.model.part == "vocoder" else "--model"
    return (
        f"{folder}: step {result['step']} after {result['seconds'] / 60:.1f} min, {result['why']}"
        + (f"; best at step {best['step']}, {by} {best[by]:.3f}" if best else "")
        + f"; the step waited {result['stall']:.1%} of its time for data: {folder}/report.html\n"
        f"next: myxtts say 'Hello.' {option} {folder} -o hello.wav"
    )


def _devices(text: str) -> int | str:
    return int(text) if text.isdecimal() and len(text) < 5 else text


def _packed(path: Path | str) -> Path | str:
    """Of several workers none may pack: they would do so at once."""
    from myxtts.cache.manifest import is_cache
    from myxtts.cache.remote import is_address

    if is_address(path):
        return path
    cache = find_cache(Path(path))
    if not is_cache(cache):
        raise UsageError(f"{path} is not packed, and several workers train on it: run 'myxtts pack {path}' first")
    return cache


def _last_words(as_json: bool, message: str) -> None:
    if as_json:
        print(json.dumps({"error": {"type": "WorkerLost", "message": message}}), flush=True)
    else:
        print(f"error: {message}", file=sys.stderr, flush=True)


def _settled(arguments: argparse.Namespace) -> tuple[Any, Path]:
    """The config and the run's directory; a run that is there is resumed with its own settings, unless it is reset."""
    from myxtts.training.resume import with_settings_of

    config = settings_of(arguments)
    if arguments.config:
        log.info("%s", _what_was_read(arguments.config, config))
    named = arguments.run_dir or (Path(config.training.run_dir) if config.training.run_dir else None)
    if named and not arguments.reset:
        config = with_settings_of(named, config)
    if config.data.dataset_path is None:
        raise UsageError(
            "no data is named: give --data DATA, or set data.dataset_path in the config; to try it "
            "first, run 'myxtts demo-corpus demo/corpus' and give --data demo/corpus"
        )
    if named:
        return config, named
    folder = Path("runs") / Path(config.data.dataset_path).resolve().name.removesuffix(".cache")
    return (config if arguments.reset else with_settings_of(folder, config)), folder


def _what_was_read(file: str, config: Any) -> str:
    """Only what counts: a key that a flag gives too is that flag's."""
    sections = (config.data, config.model, config.training)
    read = [f"{part.section}.{key}={getattr(part, key)}" for part in sections
            for key, source in part.given.items() if source == file]  # fmt: skip
    return f"settings of {file}: {', '.join(read) or 'none is given there'}"


def settings_of(arguments: argparse.Namespace) -> Any:
    """The config, with the bundle of --optimization-level where the command line says nothing about single settings."""
    config = load_config(arguments)
    for section, values in OPTIMIZATION_LEVELS[arguments.optimization_level].items():
        group = getattr(config, section)
        typed = {key for key, source in group.given.items() if source.startswith("--")}
        bundle = {key: value for key, value in values.items() if key not in typed}
        group.give(bundle, f"--optimization-level {arguments.optimization_level}")
    return config


def _confirm(folder: Path, yes: bool) -> None:
    if yes or not folder.exists():
        return
    if not sys.stdin.isatty():
        raise UsageError(f"--reset moves {folder} aside and starts over: add --yes to confirm")
    print(f"{folder} is moved aside and a new run begins there. Continue? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise UsageError("nothing was changed")


def _same_command() -> str:
    """What to type to resume: this command, without what would start over or is done by now."""
    words = [word for word in sys.argv[1:] if word not in ("--reset", "--yes", "--replan")]
    script = Path(sys.argv[0])
    if script.name == "__main__.py":
        return shlex.join(["python", "-m", "myxtts", *words])
    return shlex.join(["python", str(script), *words] if script.suffix == ".py" else [script.name, *words])
