"""`myxtts export` makes a folder of a model that speaks where TensorFlow is not."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from myxtts.cli.shared import Result, UsageError, add_verb

_FORMATS = ("onnx", "savedmodel")


def add(verbs: Any) -> None:
    parser = add_verb(verbs, "export", run, "make a model speak without TensorFlow (ONNX), or in TensorFlow Serving",
        "  myxtts export runs/anna -o anna\n"
        "  myxtts say 'Good morning.' --model anna -o morning.wav\n"
        "  myxtts export base -o base-int8 --int8\n"
        "  myxtts export runs/anna -o anna-serving --format savedmodel")  # fmt: skip
    parser.add_argument("model", metavar="RUN", type=Path, help="run directory, checkpoint, export, or base")
    parser.add_argument("-o", "--output", metavar="DIR", type=Path, required=True, help="the folder to make")
    parser.add_argument("--format", choices=_FORMATS, default=_FORMATS[0], help="default: %(default)s")
    parser.add_argument("--int8", action="store_true", help="weights in 8 bits: smaller files, with ONNX only")
    parser.add_argument("--no-weights", action="store_true",
                        help="only what speaks: no training can start from it, and it is smaller")  # fmt: skip
    parser.add_argument("--vocoder", metavar="NAME|DIR", default="neural",
                        help="neural (default), griffin-lim, or the run or folder of a vocoder")  # fmt: skip


def run(arguments: argparse.Namespace) -> Result:
    if arguments.format == "savedmodel":
        return _savedmodel(arguments)
    from myxtts.export.export import export_onnx

    made = export_onnx(arguments.model, arguments.output, arguments.vocoder, arguments.int8,
                       start=not arguments.no_weights)  # fmt: skip
    megabytes = _megabytes(arguments.output)
    result = {
        "output": str(arguments.output), "format": "onnx", "int8": made.int8, "vocoder": made.vocoder,
        "megabytes": megabytes,
    }  # fmt: skip
    spoken = f"myxtts say 'Good morning.' --model {arguments.output} -o morning.wav"
    return 0, result, f"{arguments.output}: {megabytes} MB; speak with it: {spoken}"


def _savedmodel(arguments: argparse.Namespace) -> Result:
    if arguments.int8:
        raise UsageError("--int8 goes with --format onnx: a SavedModel keeps its weights as they are")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    from myxtts.export.savedmodel import export_savedmodel

    signatures = export_savedmodel(arguments.model, arguments.output, arguments.vocoder, not arguments.no_weights)
    megabytes = _megabytes(arguments.output)
    result = {
        "output": str(arguments.output), "format": "savedmodel", "signatures": signatures, "megabytes": megabytes,
    }  # fmt: skip
    return 0, result, f"{arguments.output}: {megabytes} MB; its signatures: {', '.join(signatures)}"


def _megabytes(folder: Path) -> float:
    return round(sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6, 1)
