"""What the verbs share: how they are declared, which config and data their arguments mean, progress bars."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

log = logging.getLogger(__name__)

Result = tuple[int, dict[str, Any], str]  # exit code, what --json prints, what a person reads


class UsageError(Exception):
    pass


class Parser(argparse.ArgumentParser):
    """Raises instead of exiting, so that a usage error too is JSON for those who asked for JSON."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see '{self.prog} --help')")


def add_verb(verbs: Any, name: str, verb: Callable[..., Result], help: str, examples: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = verbs.add_parser(
        name,
        help=help,
        description=help,
        epilog=f"examples:\n{examples}",
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    parser.set_defaults(verb=verb)
    return parser


def add_config_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", metavar="FILE", help="YAML file with settings")
    parser.add_argument("--preset", metavar="NAME", help="settings for a class of machine, see 'myxtts config'")
    parser.add_argument("--set", metavar="KEY=VALUE", action="append", default=[], dest="overrides",
                        help="one setting, for example data.language=fa; may be repeated")  # fmt: skip


def load_config(arguments: argparse.Namespace) -> Any:
    from myxtts.config.config import load

    return load(arguments.config, arguments.preset, arguments.overrides)


def load_config_with_data(arguments: argparse.Namespace, ways: str = "") -> Any:
    """The config, with the data that --cache names in it, and --batch-size where the verb has it."""
    config = load_config(arguments)
    if arguments.cache is not None:
        config.data.dataset_path = str(arguments.cache)
    if getattr(arguments, "batch_size", None):
        config.data.batch_size = arguments.batch_size
    if config.data.dataset_path is None:
        raise UsageError(f"no data is named: give --cache DATA, {ways}or a --config with data.dataset_path")
    return config


_CORPUS_FLAGS = ("layout", "speaker", "language", "speaker_pattern")


def add_corpus_flags(parser: argparse.ArgumentParser) -> None:
    layouts = "ljspeech, vctk, libritts, common_voice, piper, kaldi, coqui, huggingface, manifest"
    pattern = "take (?P<speaker>...) and (?P<language>...) from the path of each audio file"
    parser.add_argument("--layout", metavar="NAME", help=f"{layouts}, or one of an installed package (default: auto)")
    parser.add_argument("--speaker", metavar="NAME", help="speaker of rows that name none")
    parser.add_argument("--language", metavar="CODE", help="language of rows that name none, for example fa")
    parser.add_argument("--speaker-pattern", metavar="REGEX", help=pattern)


def corpus_at(path: Path, config: Any, arguments: argparse.Namespace | None = None) -> Any:
    """The corpus at a path, read as the flags of the verb say (where it has them), else as the config says."""
    from myxtts.corpus.read import open_corpus

    given = {name: getattr(arguments, name, None) for name in _CORPUS_FLAGS}
    settings = {name: getattr(config.data, name) for name in _CORPUS_FLAGS}
    return open_corpus(path, **settings | {name: value for name, value in given.items() if value is not None})


def corpora_at(paths: list[Path], config: Any, arguments: argparse.Namespace) -> Any:
    """One corpus, or several as one. Of several, rows that name no speaker are given the name of their folder."""
    from myxtts.corpus.several import Corpora

    if len(paths) == 1:
        return corpus_at(paths[0], config, arguments)
    by_folder = arguments.speaker is None and config.data.speaker == type(config.data)().speaker
    parts = []
    for path, name in zip(paths, _names_of(paths), strict=True):
        speaker = {"speaker": name} if by_folder else {}
        parts.append(corpus_at(path, config, argparse.Namespace(**{**vars(arguments), **speaker})))
    return Corpora(parts)


def _names_of(paths: list[Path]) -> list[str]:
    """The name of each folder; with as much of the way to it as tells them apart."""
    ways = [path.resolve().parts for path in paths]
    for length in range(1, max(map(len, ways)) + 1):
        names = ["/".join(way[-length:]).lstrip("/") for way in ways]
        if len(set(names)) == len(set(ways)):
            break
    return names


def corpus_as_packed(paths: list[Path], cache: Path, config: Any) -> Any:
    """With the language, speaker and layout it was packed with; with those of the config if cache.json is lost."""
    from myxtts.cache.format import load_manifest
    from myxtts.cache.pack import corpora_in
    from myxtts.corpus.read import open_corpus
    from myxtts.corpus.several import Corpora
    from myxtts.errors import CacheError

    try:
        settings = corpora_in(load_manifest(cache))
    except CacheError:
        return corpus_at(paths[0], config) if len(paths) == 1 else Corpora([corpus_at(path, config) for path in paths])
    if len(paths) != len(settings):
        raise UsageError(
            f"{cache} holds {len(settings)} corpora, {len(paths)} given: name all, in the order of packing"
        )
    corpora = [open_corpus(path, **given) for path, given in zip(paths, settings, strict=True)]
    return corpora[0] if len(corpora) == 1 else Corpora(corpora)


def find_cache(path: Path) -> Path:
    """The cache meant by a path: itself, or the default cache of the corpus that it is."""
    from myxtts.cache.pack import default_cache
    from myxtts.cache.reader import is_cache

    default = default_cache(path)
    return default if not is_cache(path) and is_cache(default) else path


@contextmanager
def packing_bar(corpus: Any) -> Iterator[Any]:
    """A progress bar for packing; yields the function that moves it."""
    with progress_bar(corpus.count(), "packing", "utt") as bar:

        def show(state: Any) -> None:
            bar.set_postfix_str(f"{state.audio_seconds / 3600:.2f} h, {state.rejected} rejected", refresh=False)
            bar.update(state.rows_read - bar.n)

        yield show


def pack_with_bar(corpus: Any, cache: Path, settings: Any, config: Any, **options: Any) -> None:
    from myxtts.cache.pack import load_table, pack

    with packing_bar(corpus) as show:
        pack(corpus, cache, settings, table=load_table(config.data.token_table), progress=show, **options)


def cache_of(path: Path, config: Any, arguments: argparse.Namespace | None = None) -> Path:
    """A cache, or the default cache of a corpus: packed now if it has none, and again if it no longer fits."""
    from myxtts.cache.pack import PackSettings, default_cache
    from myxtts.cache.reader import is_cache
    from myxtts.errors import CacheMismatch

    if is_cache(path):
        given = [f"--{flag.replace('_', '-')}" for flag in _CORPUS_FLAGS if getattr(arguments, flag, None) is not None]
        if given:
            log.warning("%s: for a corpus only; %s is packed and stays as it is", ", ".join(given), path)
        return path
    corpus, cache = corpus_at(path, config, arguments), default_cache(path)
    settings = PackSettings.from_config(config.data)
    try:
        pack_with_bar(corpus, cache, settings, config)
    except CacheMismatch as error:
        if not (config.data.auto_rebuild_mel_cache and config.data.auto_rebuild_token_cache):
            raise
        log.warning("packing again: %s", error)
        pack_with_bar(corpus, cache, settings, config, rebuild=True)
    return cache


def describe_cache(summary: dict[str, Any]) -> str:
    rejected, lengths = summary["rejected"], summary["utterance_seconds"]
    reasons = ", ".join(f"{count} {reason}" for reason, count in rejected.items())
    listed = f": {reasons}; each row in {summary['cache']}/rejected.jsonl" if rejected else ""
    lines = [
        f"{summary['cache']}  (id {summary['id'][:12]}, mode {summary['mode']})",
        f"  utterances  {summary['utterances']}, {summary['audio_seconds'] / 3600:.2f} h, "
        f"{lengths['min']:.1f} to {lengths['max']:.1f} s, median {lengths['median']:.1f} s",
        f"  speakers    {first_names(summary['speakers'])}",
        f"  languages   {first_names(summary['languages'])}",
        f"  tokens      {summary['settings']['tokens']['kind']}, {summary['token_table_size']} in the table",
        f"  size        {sum(summary['bytes'].values()) / 1e6:.1f} MB",
        f"  rejected    {sum(rejected.values())}{listed}",
    ]  # fmt: skip
    return "\n".join(lines)


def first_names(counts: dict[str, int], most: int = 6) -> str:
    ranked = sorted(counts.items(), key=lambda item: -item[1])
    shown = ", ".join(f"{name} ({count})" for name, count in ranked[:most])
    return shown + (f" and {len(ranked) - most} more" if len(ranked) > most else "")


def positive(text: str) -> int:
    value = int(text) if text.lstrip("-").isdecimal() else 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a number from 1 up")
    return value


def above_zero(text: str, unit: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e9:  # NaN fails too
        raise argparse.ArgumentTypeError(f"{text} is not a number of {unit} above 0")
    return value


def progress_bar(total: int, verb: str, unit: str) -> Any:
    """A progress bar with rate and ETA on stderr; one line every ten seconds where stderr is not a terminal."""
    from tqdm import tqdm

    interval = 0.1 if sys.stderr.isatty() else 10.0
    return tqdm(total=total, desc=verb, unit=unit, unit_scale=unit == "B", mininterval=interval, file=sys.stderr,
                dynamic_ncols=True, leave=False, delay=0 if sys.stderr.isatty() else 2)  # fmt: skip
