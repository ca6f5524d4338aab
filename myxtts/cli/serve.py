"""`myxtts serve` lets programs speak with a model: OpenAI's /v1/audio/speech, and Wyoming for Home Assistant."""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
from pathlib import Path
from typing import Any

from myxtts.cli.shared import Result, UsageError, above_zero, add_verb, port_number, positive

_KEY = "MYXTTS_API_KEY"


def add(verbs: Any) -> None:
    parser = add_verb(verbs, "serve", run, "let programs speak with a model: the API of OpenAI, and Wyoming",
        "  myxtts serve runs/anna\n"
        "  myxtts serve runs/anna tts-1=runs/tom --port 8000 --voices voices\n"
        "  MYXTTS_API_KEY=secret myxtts serve runs/anna --host 0.0.0.0 --wyoming 10200")  # fmt: skip
    parser.add_argument("models", metavar="MODEL", nargs="+",
                        help="run, checkpoint or exported model; NAME=MODEL to give it another name")  # fmt: skip
    parser.add_argument("--host", metavar="ADDRESS", help="where to listen (default: 127.0.0.1, this machine only)")
    parser.add_argument("--port", metavar="N", type=port_number, help="0 takes a free one (default: 8020)")
    parser.add_argument("--wyoming", metavar="PORT", type=port_number, dest="wyoming_port",
                        help="also speak Wyoming, for Home Assistant, on this port (usually 10200)")  # fmt: skip
    parser.add_argument("--vocoder", metavar="NAME|DIR",
                        help="neural (default), griffin-lim, or the run or folder of a vocoder")  # fmt: skip
    parser.add_argument("--voices", metavar="DIR", type=Path, help="keep voices that clients add here (default: none)")
    parser.add_argument("--api-key", metavar="KEY",
                        help=f"what clients must send; 'ps' shows it here, but not in the variable {_KEY}")  # fmt: skip
    parser.add_argument("--queue", metavar="N", type=positive,
                        help="requests at a time; more are answered with 429 (default: 32)")  # fmt: skip
    parser.add_argument("--max-chars", metavar="N", type=positive, dest="most_chars",
                        help="longest text of a request (default: 4096)")  # fmt: skip
    parser.add_argument("--unload-minutes", metavar="M", type=_minutes,
                        help="unload a model that has been idle for M minutes (default: 15)")  # fmt: skip
    parser.add_argument("--memory-gb", metavar="GB", type=_gigabytes,
                        help="for loaded models; others are unloaded to make room (default: 4)")  # fmt: skip


def run(arguments: argparse.Namespace) -> Result:
    check_installed()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    from myxtts.serving.server import ServerSettings, serve

    names = ("models", "host", "port", "vocoder", "voices", "queue", "most_chars", "unload_minutes", "memory_gb",
             "wyoming_port")  # fmt: skip
    given = {name: value for name in names if (value := getattr(arguments, name)) is not None}
    key = arguments.api_key if arguments.api_key is not None else os.environ.get(_KEY)
    if key is not None and not key.strip():
        raise UsageError(f"the API key is empty: give one, or leave --api-key out and {_KEY} unset")
    summary = serve(ServerSettings(**given, api_key=key), _say_address)
    return 0, summary, f"ended after {summary['requests']} request(s), {summary['spoken_seconds']} s spoken"


def _say_address(address: str) -> None:
    print(f"serving at {address}/v1, Ctrl-C ends it", file=sys.stderr, flush=True)


def check_installed() -> None:
    from myxtts.errors import MissingExtra

    for package, module in (
        ("starlette", "starlette"),
        ("uvicorn", "uvicorn"),
        ("python-multipart", "python_multipart"),
    ):
        if importlib.util.find_spec(module) is None:
            raise MissingExtra(package, "serve", "serving")


def _minutes(text: str) -> float:
    return above_zero(text, "minutes")


def _gigabytes(text: str) -> float:
    return above_zero(text, "gigabytes")
