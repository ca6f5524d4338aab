"""`myxtts pack` packs a corpus."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from myxtts.cli.shared import (
    Result,
    UsageError,
    add_config_flags,
    add_corpus_flags,
    add_verb,
    corpora_at,
    data_place,
    describe_cache,
    load_config,
    pack_with_bar,
    packing_bar,
    positive,
    progress_bar,
    summary_of,
)


def add(verbs: Any) -> None:
    parser = add_verb(verbs, "pack", run, "pack a corpus into a cache that training maps; resumes after a kill",
        "  myxtts pack ~/LJSpeech-1.1\n  myxtts pack manifest.csv -o voice.cache --language fa\n"
        "  myxtts pack ~/books --layout ljspeech --speaker-pattern '(?P<speaker>[^/]+)/[^/]+$'\n"
        "  myxtts pack ~/anna ~/bob -o voices.cache\n"
        "  myxtts pack ~/corpus --mode audio --workers 8 --json\n"
        "  myxtts pack ~/corpus -o /shared/corpus.cache --dask tcp://head:8786\n"
        "  myxtts pack ~/corpus -o s3://bucket/corpus.cache")  # fmt: skip
    parser.add_argument("corpora", metavar="CORPUS", type=Path, nargs="+",
                        help="folder in a known layout, or a manifest file; several become one cache")  # fmt: skip
    parser.add_argument("-o", "--output", metavar="CACHE", type=data_place, dest="cache",
                        help="a folder, or an address such as s3://BUCKET/NAME.cache, for which it is packed in shards "
                        "(default: CORPUS/cached_features/NAME.cache)")  # fmt: skip
    parser.add_argument("--mode", choices=("precompute", "audio"), help="pack mel frames and audio, or audio only")
    parser.add_argument("--workers", metavar="N", type=positive,
                        help="threads (default: one per core; with --dask one per worker process)")  # fmt: skip
    parser.add_argument("--dask", metavar="ADDRESS",
                        help="pack in shards on a Dask cluster: of this scheduler, or local:N processes")  # fmt: skip
    parser.add_argument("--shard-rows", metavar="N", type=positive, help="rows of a shard (default: 2048)")
    parser.add_argument("--rebuild", action="store_true", help="pack again even if there is a cache")
    add_corpus_flags(parser)
    add_config_flags(parser)


def run(arguments: argparse.Namespace) -> Result:
    from myxtts.cache.pack import default_cache
    from myxtts.cache.settings import PackSettings

    config = load_config(arguments)
    if len(arguments.corpora) > 1 and arguments.cache is None:
        raise UsageError("several corpora become one cache: say which with -o CACHE")
    corpus = corpora_at(arguments.corpora, config)
    cache = arguments.cache or default_cache(arguments.corpora[0])
    settings = PackSettings.from_config(config.data, arguments.mode)
    if isinstance(cache, str):
        _pack_to_address(arguments, corpus, cache, settings, config)
    elif arguments.dask:
        _pack_shards(arguments, corpus, cache, settings, config)
    elif arguments.shard_rows:
        raise UsageError("--shard-rows cuts a cache into shards: give --dask ADDRESS or --dask local:N too, or pack to "
                         "an address with -o")  # fmt: skip
    else:
        pack_with_bar(corpus, cache, settings, config, rebuild=arguments.rebuild, workers=arguments.workers)
    summary = summary_of(cache, config)
    return 0, summary, f"{describe_cache(summary)}\nnext: myxtts verify {cache}"


def _pack_shards(arguments: argparse.Namespace, corpus: Any, cache: Path, settings: Any, config: Any) -> None:
    from myxtts.cache.cluster import dask_executor
    from myxtts.cache.shards import pack_shards

    with packing_bar(corpus) as show, dask_executor(arguments.dask) as (executor, processes):
        pack_shards(corpus, cache, settings, executor, threads=arguments.workers or 1, ahead=2 * processes,
                    progress=show, rebuild=arguments.rebuild, **_shard_options(arguments, config))  # fmt: skip


def _pack_to_address(arguments: argparse.Namespace, corpus: Any, address: str, settings: Any, config: Any) -> None:
    from myxtts.cache.mirror_folder import mirrors_folder
    from myxtts.cache.pack import default_workers
    from myxtts.cache.upload import pack_to_address

    threads = arguments.workers or (1 if arguments.dask else default_workers())
    with ExitStack() as stack:
        executor, processes = stack.enter_context(_executor(arguments.dask))
        pack_to_address(corpus, address, settings, executor, mirrors_folder(config.data.mirror_dir),
                        show=_upload_bar(stack), threads=threads, ahead=2 * processes,
                        progress=stack.enter_context(packing_bar(corpus)), rebuild=arguments.rebuild,
                        **_shard_options(arguments, config))  # fmt: skip


@contextmanager
def _executor(dask: str | None) -> Iterator[tuple[Executor, int]]:
    """Of a Dask cluster, or this process alone, in which a shard is packed by many threads."""
    if dask:
        from myxtts.cache.cluster import dask_executor

        with dask_executor(dask) as made:
            yield made
    else:
        with ThreadPoolExecutor(1) as executor:
            yield executor, 1


def _upload_bar(stack: ExitStack) -> Callable[[int, int], None]:
    """Made when the first file has arrived: until then another bar is there."""
    bars: list[Any] = []

    def show(done: int, total: int) -> None:
        if not bars:
            bars.append(stack.enter_context(progress_bar(total, "uploading", "B")))
        bars[0].update(done - bars[0].n)

    return show


def _shard_options(arguments: argparse.Namespace, config: Any) -> dict[str, Any]:
    from myxtts.cache.pack import load_table
    from myxtts.cache.shards import SHARD_ROWS

    return {"table": load_table(config.data.token_table), "shard_rows": arguments.shard_rows or SHARD_ROWS}
