"""`myxtts pack` packs a corpus."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from myxtts.cli.shared import (
    Result,
    UsageError,
    add_config_flags,
    add_corpus_flags,
    add_verb,
    corpora_at,
    describe_cache,
    load_config,
    pack_with_bar,
    positive,
)


def add(verbs: Any) -> None:
    parser = add_verb(verbs, "pack", run, "pack a corpus into a cache that training maps; resumes after a kill",
        "  myxtts pack ~/LJSpeech-1.1\n  myxtts pack manifest.csv -o voice.cache --language fa\n"
        "  myxtts pack ~/books --layout ljspeech --speaker-pattern '(?P<speaker>[^/]+)/[^/]+$'\n"
        "  myxtts pack ~/anna ~/bob -o voices.cache\n"
        "  myxtts pack ~/corpus --mode audio --workers 8 --json")  # fmt: skip
    parser.add_argument("corpora", metavar="CORPUS", type=Path, nargs="+",
                        help="folder in a known layout, or a manifest file; several become one cache")  # fmt: skip
    parser.add_argument("-o", "--output", metavar="CACHE", type=Path, dest="cache",
                        help="default: CORPUS/cached_features/NAME.cache")  # fmt: skip
    parser.add_argument("--mode", choices=("precompute", "audio"), help="pack mel frames and audio, or audio only")
    parser.add_argument("--workers", metavar="N", type=positive, help="threads (default: one per core)")
    parser.add_argument("--rebuild", action="store_true", help="pack again even if there is a cache")
    add_corpus_flags(parser)
    add_config_flags(parser)


def run(arguments: argparse.Namespace) -> Result:
    from myxtts.cache.pack import default_cache
    from myxtts.cache.reader import Cache
    from myxtts.cache.settings import PackSettings

    config = load_config(arguments)
    if len(arguments.corpora) > 1 and arguments.cache is None:
        raise UsageError("several corpora become one cache: say which with -o CACHE")
    corpus = corpora_at(arguments.corpora, config)
    cache = arguments.cache or default_cache(arguments.corpora[0])
    settings = PackSettings.from_config(config.data, arguments.mode)
    pack_with_bar(corpus, cache, settings, config, rebuild=arguments.rebuild, workers=arguments.workers)
    summary = Cache(cache).summary()
    return 0, summary, f"{describe_cache(summary)}\nnext: myxtts verify {cache}"
