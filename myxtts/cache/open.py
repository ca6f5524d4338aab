"""From a path to an open cache, for every door: the verbs, `LJSpeechDataset` and the doctor.

A cache is opened as it is. A corpus has its cache packed if it has none, and packed again if what was given no longer
fits and `data.auto_rebuild_mel_cache` (mel and audio) or `data.auto_rebuild_token_cache` (tokens) allows it. A corpus
that has changed is said, with the command that packs the changes; the cache is used as it is until then.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from myxtts.cache.changes import describe_changes
from myxtts.cache.fit import READING, Misfit, misfits, outdated, refuse, settings_in
from myxtts.cache.manifest import is_cache, load_manifest
from myxtts.cache.mirrored import REMOTE, MirroredCache, mirror_index
from myxtts.cache.pack import ProgressCallback, count_utterances, default_cache, digest_of, load_table, pack
from myxtts.cache.publish import clear_leftovers
from myxtts.cache.reader import Cache
from myxtts.cache.remote import is_address
from myxtts.cache.settings import PackSettings
from myxtts.cache.sharded import ShardedCache
from myxtts.config.config import DataConfig, XTTSConfig
from myxtts.corpus.read import Corpus, open_corpus
from myxtts.errors import CacheError

log = logging.getLogger(__name__)

# How packing is shown, where there is something to pack: a context that yields what is called after each few rows.
Progress = Callable[[Corpus], AbstractContextManager[ProgressCallback | None]]


def hidden(corpus: Corpus) -> AbstractContextManager[ProgressCallback | None]:
    return nullcontext()


def open_cache(path: Path | str, verify: bool = True) -> Cache:
    """The cache at a path, in one piece or in shards; or of the mirror of one that is at an address."""
    if (Path(path) / REMOTE).is_file():
        return MirroredCache(path, verify)
    sharded = "shards" in load_manifest(Path(path))
    return ShardedCache(path, verify) if sharded else Cache(path, verify)


def open_or_pack(
    path: Path | str,
    config: XTTSConfig,
    progress: Progress = hidden,
    *,
    mode: str | None = None,
    workers: int | None = None,
    overwrite: bool = False,
) -> Cache:
    """The cache at a path, or that of the corpus there. `mode` precompute asks for mel frames whatever the settings
    say; `overwrite` packs a corpus anew with the settings of the config alone."""
    data = config.data
    if is_address(path):
        path = mirror_index(str(path), data.mirror_dir, data.mirror_gb)
    path = Path(path)
    if is_cache(path):
        _check_alone(path, data, mode)
        return open_cache(path, data.cache_verification)
    place = default_cache(path)
    body = load_manifest(place) if is_cache(place) and not overwrite else None
    if body is not None:
        data = data.filled(settings_in(body))
        mode = body["mode"] if mode is None and data.preprocessing_mode == "auto" else mode
    corpus = corpus_at(path, data)
    if body is None or _must_rebuild(path, place, data, [*misfits(data, body, mode), *outdated(body)]):
        _pack(corpus, place, data, progress, mode, workers, rebuild=overwrite or body is not None)
    else:
        _accept(path, corpus, place, body)
    return open_cache(place, data.cache_verification)


def as_packed(path: Path, data: DataConfig) -> DataConfig:
    """The settings, where not given those of the cache of the corpus at a path, if it has one that can be read."""
    try:
        return data.filled(settings_in(load_manifest(default_cache(path))))
    except CacheError:
        return data


def corpus_at(path: Path, data: DataConfig) -> Corpus:
    """The corpus at a path, read as the settings say."""
    return open_corpus(path, **{name: getattr(data, name) for name in READING})


def _check_alone(cache: Path, data: DataConfig, mode: str | None) -> None:
    """A cache without its corpus cannot be packed again: what was given must fit."""
    body = load_manifest(cache)
    refuse(cache, [*misfits(data, body, mode), *(old for old in outdated(body) if old.part == "mel")])
    for old in outdated(body):
        log.warning("%s: %s; 'myxtts pack --rebuild CORPUS -o %s' packs it again", cache, old.what, cache)
    count_utterances(body, reused=body["utterances"])


def _must_rebuild(corpus: Path, cache: Path, data: DataConfig, misfits: list[Misfit]) -> bool:
    """An error where it must but may not."""
    refuse(cache, [each for each in misfits if not getattr(data, each.flag)], corpus)
    if misfits:
        log.warning("packing %s again: %s", cache, "; ".join(each.what for each in misfits))
    return bool(misfits)


def _pack(
    corpus: Corpus,
    cache: Path,
    data: DataConfig,
    progress: Progress,
    mode: str | None,
    workers: int | None,
    rebuild: bool,
) -> None:
    settings, table = PackSettings.from_config(data, mode), load_table(data.token_table)
    if not rebuild:
        log.info("packing %s into %s, once", corpus.folder, cache)
    with progress(corpus) as show:
        pack(corpus, cache, settings, table=table, workers=workers, rebuild=rebuild, progress=show)


def _accept(path: Path, corpus: Corpus, cache: Path, body: dict[str, Any]) -> None:
    """Use the cache as it is; say so if its corpus has changed since."""
    clear_leftovers(cache)
    count_utterances(body, reused=body["utterances"])
    if digest_of(corpus) not in [part["digest"] for part in body["corpora"]]:
        log.warning("%s", describe_changes(path, corpus, open_cache(cache, verify=False)))
