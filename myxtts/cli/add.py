"""`myxtts add` adds a corpus to a cache."""

from __future__ import annotations

import argparse
import logging
from pathlib import Path
from typing import Any

from myxtts.cli.shared import (
    Result,
    add_corpus_flags,
    add_verb,
    describe_cache,
    load_config,
    packing_bar,
    positive,
)
from myxtts.terminal import name_as_text

log = logging.getLogger(__name__)


def add(verbs: Any) -> None:
    parser = add_verb(verbs, "add", run, "add a corpus, or what is new in one, to a cache; readers are not disturbed",
        "  myxtts add ~/second-session -o voice.cache\n  myxtts add ~/bob -o voices.cache --speaker bob")  # fmt: skip
    parser.add_argument("corpus", metavar="CORPUS", type=Path, help="folder in a known layout, or a manifest file")
    parser.add_argument("-o", "--output", metavar="CACHE", type=Path, dest="cache", required=True, help="the cache")
    parser.add_argument("--workers", metavar="N", type=positive, help="threads (default: one per core)")
    add_corpus_flags(parser)


def run(arguments: argparse.Namespace) -> Result:
    from myxtts.cache.add import add as add_to
    from myxtts.cache.manifest import load_manifest
    from myxtts.cache.open import corpus_at, open_cache

    body = load_manifest(arguments.cache)
    before, listed = body["utterances"], sum(body["rejected"].values())
    data = load_config(arguments).data
    if "speaker" not in data.given:
        # Of one person more is more of the same; several are told apart by their folders.
        one = len(body["speakers"]) == 1
        data = data.filled({"speaker": body["speakers"][0] if one else name_as_text(arguments.corpus.resolve().name)})
        log.info("rows that name no speaker are of %s (--speaker NAME for another)", data.speaker)
    corpus = corpus_at(arguments.corpus, data)
    with packing_bar(corpus) as show:
        add_to(corpus, arguments.cache, workers=arguments.workers, progress=show)
    summary = open_cache(arguments.cache).summary()
    added = summary["utterances"] - before
    text = f"added {added} utterances to {before}\n{describe_cache(summary)}"
    if not added and sum(summary["rejected"].values()) == listed:
        text = f"nothing to add: {arguments.cache} holds all of {arguments.corpus}\n{describe_cache(summary)}"
    elif added:
        text += "\nnext: resume a run that trained on it with 'myxtts train --replan'"
    return 0, {"added": added, **summary}, text
