"""`myxtts info` says what a cache holds."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from myxtts.cli.shared import Result, add_verb, describe_cache, find_cache


def add(verbs: Any) -> None:
    parser = add_verb(verbs, "info", run, "say what a cache holds", "  myxtts info voice.cache --json")
    parser.add_argument("cache", metavar="CACHE", type=Path, help="a cache, or a corpus (then its default cache)")


def run(arguments: argparse.Namespace) -> Result:
    from myxtts.cache.open import open_cache

    summary = open_cache(find_cache(arguments.cache)).summary()
    return 0, summary, describe_cache(summary)
