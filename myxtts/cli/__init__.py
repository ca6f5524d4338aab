"""The verbs: each parses its arguments, loads the config, calls one function of a room and prints what it returns.

Exit codes: 0 done, 1 done and something is wrong with what was looked at, 2 could not be done, 75 another worker of a
run is gone and the same command resumes it, 130 interrupted.
There is one file per verb here; rooms are imported inside the verbs, so that `myxtts --help` answers at once.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import logging
import os
import sys
import traceback
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
    export,
    gpu_check,
    import_vocoder,
    info,
    launch,
    monitor,
    pack,
    prepare,
    profile,
    report,
    say,
    sentences,
    serve,
    studio,
    text,
    train,
    tune,
    verify,
)
from myxtts.cli.shared import Parser, UsageError
from myxtts.errors import MyXTTSError, WorkerLost, without_tensorflow
from myxtts.terminal import PrintableFormatter, printable, printable_json


def main(argv: Sequence[str] | None = None) -> int:
    _open_what_is_closed()
    argv = list(sys.argv[1:] if argv is None else argv)
    as_json = "--json" in argv
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # file names need not be UTF-8: what is not is shown as an escape
            stream.reconfigure(errors="backslashreplace")
    _log_to_stderr()
    warnings.showwarning = _show_warning
    try:
        arguments = _parser().parse_args(argv)
        code, result, shown = arguments.verb(arguments)
        print(_as_json(result) if as_json else printable(shown), flush=True)
        return code
    except WorkerLost as error:
        return _fail(as_json, 75, "WorkerLost", str(error))
    except (MyXTTSError, UsageError) as error:
        return _fail(as_json, 2, type(error).__name__.lstrip("_"), str(error))
    except KeyboardInterrupt:
        return _fail(as_json, 130, "Interrupted", "interrupted: run the same command again, it resumes where it can")
    except BrokenPipeError:  # `myxtts config | head` closed the pipe: nothing is wrong
        _drop_stdout()
        return 0
    except OSError as error:
        return _fail(as_json, 2, "OSError", f"{error.filename or 'the system'}: {error.strerror or error}")
    except MemoryError:
        return _fail(
            as_json, 2, "MemoryError", "the memory is not enough: close other programs, or use a larger machine"
        )
    except ModuleNotFoundError as error:
        return _fail(as_json, 2, *_of_missing_module(error))
    except Exception as error:  # noqa: BLE001 - the one place: an exit code of 1 would say that data is damaged
        return _fail(as_json, 2, "InternalError", _for_the_bug_report(error))


def _open_what_is_closed() -> None:
    """A stream that the caller has closed (`2>&-`) becomes /dev/null, which takes its number: the next file that is
    opened would have it otherwise, and a warning of a library would be written into a cache."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - to the end of the process


def _log_to_stderr() -> None:
    if not logging.root.handlers:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(PrintableFormatter("%(levelname)s: %(message)s"))
        logging.root.addHandler(handler)
        logging.root.setLevel(logging.INFO)


def _as_json(result: dict[str, Any], indent: int | None = 2) -> str:
    """Strict JSON, whatever is in it: NaN and infinities, which JSON has not, are texts."""
    try:
        text = json.dumps(result, ensure_ascii=False, indent=indent, allow_nan=False)
    except ValueError:
        from myxtts.training.run_log import plain

        text = json.dumps(plain(result), ensure_ascii=False, indent=indent, allow_nan=False)
    return printable_json(text)


def _fail(as_json: bool, code: int, kind: str, message: str) -> int:
    if as_json:
        try:
            print(_as_json({"error": {"type": kind, "message": message}}, indent=None), flush=True)
            return code
        except OSError:  # standard output itself cannot be written: /dev/full, a full disk
            _drop_stdout()
    with contextlib.suppress(OSError):  # nor can standard error: the exit code is all that is left
        print(f"error: {printable(message)}", file=sys.stderr, flush=True)
    with contextlib.suppress(OSError):
        sys.stdout.flush()
        return code
    _drop_stdout()
    return code


def _drop_stdout() -> None:
    """What could not be written is not tried again when Python ends, which would print and exit with 120."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _of_missing_module(error: ModuleNotFoundError) -> tuple[str, str]:
    """Rooms import TensorFlow where they begin, so that here is the one place where its absence can be explained."""
    if missing := without_tensorflow(error):
        return type(missing).__name__, str(missing)
    return "InternalError", _for_the_bug_report(error)


def _for_the_bug_report(error: Exception) -> str:
    """One line for the user; the traceback, which is for us, in a file."""
    import tempfile

    text = traceback.format_exc()
    what = f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0][:300]}"
    try:
        descriptor, path = tempfile.mkstemp(prefix="myxtts-bug-", suffix=".txt")
        with open(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(f"MyXTTS {__version__}: {sys.argv}\n{text}")
    except OSError:
        return f"a bug in MyXTTS ({what}); its traceback could not be written to {tempfile.gettempdir()}"
    return f"a bug in MyXTTS ({what}): please report it with {path}"


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    print(f"warning: {printable(str(message))}", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog="myxtts", allow_abbrev=False, description=__import__("myxtts").__doc__)
    parser.add_argument("--version", action="version", version=f"myxtts {__version__}")
    verbs = parser.add_subparsers(metavar="VERB", required=True)
    for verb in (
        demo_corpus,
        prepare,
        sentences,
        check,
        pack,
        add,
        verify,
        info,
        bench,
        train,
        launch,
        say,
        serve,
        studio,
        text,
        import_vocoder,
        export,
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
