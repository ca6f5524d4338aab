"""`myxtts info` says what a cache holds."""

from __future__ import annotations

import argparse
from typing import Any

from myxtts.cli.shared import Result, add_config_flags, add_verb, data_place, describe_cache, load_config, summary_of


def add(verbs: Any) -> None:
    parser = add_verb(verbs, "info", run, "say what a cache holds",
        "  myxtts info voice.cache --json\n  myxtts info s3://bucket/corpus.cache")  # fmt: skip
    parser.add_argument("cache", metavar="CACHE", type=data_place,
                        help="a cache, its address, or a corpus (then its default cache)")  # fmt: skip
    add_config_flags(parser)


def run(arguments: argparse.Namespace) -> Result:
    summary = summary_of(arguments.cache, load_config(arguments))
    return 0, summary, describe_cache(summary)
