"""`myxtts text` shows what becomes of a text, step by step: why something is said as it is."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from myxtts.cli.shared import Result, add_config_flags, add_verb, as_text, load_config


def add(verbs: Any) -> None:
    parser = add_verb(verbs, "text", run, "show how a text is read: in words, in phonemes, in tokens",
        "  myxtts text 'Dr. Smith paid $5.50 on May 3, 1998.'\n"
        "  myxtts text 'جلسه ۱۴۰۳/۰۵/۱۲ ساعت ۱۰:۳۰' --language fa\n"
        "  myxtts text 'am 3. Mai' --language de --set data.text_tokens=characters")  # fmt: skip
    parser.epilog = f"{parser.epilog}\n\nexit codes: 0 all is read, 1 something is not, 2 could not be done"
    parser.add_argument("text", metavar="TEXT", help="what to read; - reads it from standard input")
    parser.add_argument("--language", metavar="CODE", help="for example fa (default: data.language)")
    add_config_flags(parser)


def run(arguments: argparse.Namespace) -> Result:
    from myxtts.errors import RowError
    from myxtts.features.text import TextFrontend
    from myxtts.features.token_table import TokenTable

    config = load_config(arguments)
    language = arguments.language or config.data.language
    [reading] = TextFrontend.from_config(config.data).read([_text(arguments.text)], language)
    symbols = [] if isinstance(reading.symbols, RowError) else reading.symbols
    result = {
        "text": reading.text,
        "language": language,
        "normalised": reading.normalised,
        "words": reading.words,
        "kind": config.data.text_tokens,
        "spelled": "" if isinstance(reading.spelled, RowError) else reading.spelled,
        "symbols": symbols,
        "tokens": TokenTable.base().encode(symbols).tolist(),
        "left_out": reading.left_out,
        "error": str(reading.symbols) if isinstance(reading.symbols, RowError) else None,
    }
    return int(bool(result["error"] or result["left_out"])), result, describe(result)


def _text(written: str) -> str:
    return as_text(sys.stdin.buffer.read(), "the text") if written == "-" else written


def describe(result: dict[str, Any]) -> str:
    """A line for each step; a step that changes nothing is left out."""
    lines = [("text", result["text"])]
    for step in ("normalised", "words"):
        if result[step] != lines[-1][1]:
            lines.append((step, result[step]))
    if result["error"]:
        lines.append(("error", result["error"]))
    else:
        lines += [(result["kind"], result["spelled"]), ("tokens", " ".join(map(str, result["tokens"])))]
    unread = " ".join(result["left_out"]) or "nothing"
    lines.append(("left out", unread))
    return "\n".join(f"{name:<12}{value}" for name, value in lines)
