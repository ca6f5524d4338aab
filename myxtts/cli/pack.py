"""`myxtts pack` packs a corpus."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from myxtts.cli.shared import (
    Result,
    add_config_flags,
    add_verb,
    corpus_at,
    describe_cache,
    load_config,
    pack_with_bar,
    positive,
)


def add(verbs: Any) -> None:
    parser = add_verb(verbs, "pack", run, "pack a corpus into a cache that training maps; goes on after a kill",
        "  myxtts pack ~/LJSpeech-1.1\n  myxtts pack manifest.csv -o voice.cache --set data.language=fa\n"
        "  myxtts pack ~/corpus --mode audio --workers 8 --json")  # fmt: skip
    parser.add_argument("corpus", metavar="CORPUS", type=Path, help="folder with metadata.csv, or a manifest file")
    parser.add_argument("-o", "--output", metavar="CACHE", type=Path, dest="cache",
                        help="default: CORPUS/cached_features/NAME.cache")  # fmt: skip
    parser.add_argument("--mode", choices=("precompute", "audio"), help="pack mel frames and audio, or audio only")
    parser.add_argument("--workers", metavar="N", type=positive, help="threads (default: one per core)")
    parser.add_argument("--rebuild", action="store_true", help="pack again even if there is a cache")
    add_config_flags(parser)


def run(arguments: argparse.Namespace) -> Result:
    from myxtts.cache.pack import PackSettings, default_cache
    from myxtts.cache.reader import Cache

    config = load_config(arguments)
    corpus = corpus_at(arguments.corpus, config)
    cache = arguments.cache or default_cache(arguments.corpus)
    settings = PackSettings.from_config(config.data, arguments.mode)
    pack_with_bar(corpus, cache, settings, config, rebuild=arguments.rebuild, workers=arguments.workers)
    summary = Cache(cache).summary()
    return 0, summary, f"{describe_cache(summary)}\nnext: myxtts verify {cache}"
