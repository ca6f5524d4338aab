"""The verbs: each parses its arguments, loads the config, calls one function of a room and prints what it returns.

Exit codes: 0 done, 1 done and something is wrong with what was looked at, 2 could not be done, 130 interrupted.
There is one file per verb here; rooms are imported inside the verbs, so that `myxtts --help` answers at once.
"""

from __future__ import annotations

import argparse
import io
import json
import logging
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any

from myxtts import __version__
from myxtts.cli import (
    add,
    bench,
    check,
    config,
    demo_corpus,
    doctor,
    evaluate,
    gpu_check,
    import_vocoder,
    info,
    monitor,
    pack,
    profile,
    report,
    say,
    text,
    train,
    tune,
    verify,
)
from myxtts.cli.shared import Parser, UsageError
from myxtts.errors import MyXTTSError


def main(argv: Sequence[str] | None = None) -> int:
    argv = list(sys.argv[1:] if argv is None else argv)
    as_json = "--json" in argv
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # file names need not be UTF-8: what is not is shown as an escape
            stream.reconfigure(errors="backslashreplace")
    logging.basicConfig(format="%(levelname)s: %(message)s", stream=sys.stderr, level=logging.INFO)
    warnings.showwarning = _show_warning
    try:
        arguments = _parser().parse_args(argv)
        code, result, shown = arguments.verb(arguments)
        print(json.dumps(result, ensure_ascii=False, indent=2) if as_json else shown, flush=True)
        return code
    except (MyXTTSError, UsageError) as error:
        return _fail(as_json, 2, type(error).__name__.lstrip("_"), str(error))
    except KeyboardInterrupt:
        return _fail(as_json, 130, "Interrupted", "interrupted: run the same command again to resume")
    except BrokenPipeError:  # `myxtts config | head` closed the pipe: nothing is wrong
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        return _fail(as_json, 2, "OSError", f"{error.filename or 'the system'}: {error.strerror or error}")


def _fail(as_json: bool, code: int, kind: str, message: str) -> int:
    if as_json:
        print(json.dumps({"error": {"type": kind, "message": message}}, ensure_ascii=False))
    else:
        print(f"error: {message}", file=sys.stderr)
    return code


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    print(f"warning: {message}", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog="myxtts", allow_abbrev=False, description=__import__("myxtts").__doc__)
    parser.add_argument("--version", action="version", version=f"myxtts {__version__}")
    verbs = parser.add_subparsers(metavar="VERB", required=True)
    for verb in (
        demo_corpus,
        check,
        pack,
        add,
        verify,
        info,
        bench,
        train,
        say,
        text,
        import_vocoder,
        evaluate,
        doctor,
        tune,
        monitor,
        profile,
        report,
        gpu_check,
        config,
    ):
        verb.add(verbs)
    return parser
