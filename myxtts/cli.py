"""The verbs: each parses its arguments, loads the config, calls one function of a room and prints what it returns.

Exit codes: 0 done, 1 done and something is wrong with what was looked at, 2 could not be done, 130 interrupted.
Rooms are imported inside the verbs, so that `myxtts --help` answers at once.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from myxtts import __version__
from myxtts.errors import MyXTTSError

Result = tuple[int, dict[str, Any], str]  # exit code, what --json prints, what a person reads


def main(argv: Sequence[str] | None = None) -> int:
    argv = list(sys.argv[1:] if argv is None else argv)
    as_json = "--json" in argv
    logging.basicConfig(format="%(levelname)s: %(message)s", stream=sys.stderr, level=logging.INFO)
    warnings.showwarning = _show_warning
    try:
        arguments = _parser().parse_args(argv)
        code, result, text = arguments.verb(arguments)
        print(json.dumps(result, ensure_ascii=False, indent=2) if as_json else text, flush=True)
        return code
    except (MyXTTSError, _UsageError) as error:
        return _fail(as_json, 2, type(error).__name__.lstrip("_"), str(error))
    except KeyboardInterrupt:
        return _fail(as_json, 130, "Interrupted", "interrupted: run the same command again to go on")
    except BrokenPipeError:  # `myxtts config | head` closed the pipe: nothing is wrong
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        return _fail(as_json, 2, "OSError", f"{error.filename or 'the system'}: {error.strerror or error}")


def _fail(as_json: bool, code: int, kind: str, message: str) -> int:
    if as_json:
        print(json.dumps({"error": {"type": kind, "message": message}}, ensure_ascii=False))
    else:
        print(f"error: {message}", file=sys.stderr)
    return code


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    print(f"warning: {message}", file=sys.stderr)


class _UsageError(Exception):
    pass


class _Parser(argparse.ArgumentParser):
    """Raises instead of exiting, so that a usage error too is JSON for those who asked for JSON."""

    def error(self, message: str) -> NoReturn:
        raise _UsageError(f"{message} (see '{self.prog} --help')")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="myxtts", allow_abbrev=False, description=__import__("myxtts").__doc__)
    parser.add_argument("--version", action="version", version=f"myxtts {__version__}")
    verbs = parser.add_subparsers(metavar="VERB", required=True)
    for add in (_add_demo_corpus, _add_pack, _add_verify, _add_info, _add_bench, _add_config):
        add(verbs)
    return parser


def _add_verb(verbs: Any, name: str, verb: Callable[..., Result], help: str, examples: str) -> argparse.ArgumentParser:
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


def _add_config_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", metavar="FILE", help="YAML file with settings")
    parser.add_argument("--preset", metavar="NAME", help="settings for a class of machine, see 'myxtts config'")
    parser.add_argument("--set", metavar="KEY=VALUE", action="append", default=[], dest="overrides",
                        help="one setting, for example data.language=fa; may be repeated")  # fmt: skip


def _load_config(arguments: argparse.Namespace) -> Any:
    from myxtts.config.config import load

    return load(arguments.config, arguments.preset, arguments.overrides)


# -- demo-corpus -----------------------------------------------------------------------------------------------------


def _add_demo_corpus(verbs: Any) -> None:
    parser = _add_verb(verbs, "demo-corpus", _demo_corpus, "make a small synthetic corpus to try things on",
        "  myxtts demo-corpus demo/corpus\n  myxtts demo-corpus voices --engine espeak --utterances 200")  # fmt: skip
    parser.add_argument("folder", metavar="DIR", type=Path)
    parser.add_argument("--utterances", metavar="N", type=_positive, default=1000, help="how many (default 1000)")
    parser.add_argument("--engine", choices=("hibari", "espeak"), default="hibari",
                        help="hibari: a natural English voice; espeak: several in en, fa, es, fr, de")  # fmt: skip
    parser.add_argument("--seed", type=int, default=0)


def _demo_corpus(arguments: argparse.Namespace) -> Result:
    from myxtts.corpus.demo import make_demo_corpus

    with _bar(arguments.utterances, "speaking", "utt") as bar:
        result = make_demo_corpus(
            arguments.folder,
            arguments.utterances,
            arguments.engine,
            arguments.seed,
            progress=lambda done, total: bar.update(done - bar.n),
        )
    text = (
        f"{arguments.folder}: {result['utterances']} synthetic utterances, {result['seconds'] / 60:.1f} min, "
        f"{len(result['speakers'])} speaker(s), {', '.join(result['languages'])}\n"
        f"next: myxtts pack {arguments.folder}"
    )
    return 0, {key: str(value) if isinstance(value, Path) else value for key, value in result.items()}, text


# -- pack ------------------------------------------------------------------------------------------------------------


def _add_pack(verbs: Any) -> None:
    parser = _add_verb(verbs, "pack", _pack, "pack a corpus into a cache that training maps; goes on after a kill",
        "  myxtts pack ~/LJSpeech-1.1\n  myxtts pack manifest.csv -o voice.cache --set data.language=fa\n"
        "  myxtts pack ~/corpus --mode audio --workers 8 --json")  # fmt: skip
    parser.add_argument("corpus", metavar="CORPUS", type=Path, help="folder with metadata.csv, or a manifest file")
    parser.add_argument("-o", "--output", metavar="CACHE", type=Path, dest="cache",
                        help="default: CORPUS/cached_features/NAME.cache")  # fmt: skip
    parser.add_argument("--mode", choices=("precompute", "audio"), help="pack mel frames and audio, or audio only")
    parser.add_argument("--workers", metavar="N", type=_positive, help="threads (default: one per core)")
    parser.add_argument("--rebuild", action="store_true", help="pack again even if there is a cache")
    _add_config_flags(parser)


def _pack(arguments: argparse.Namespace) -> Result:
    from myxtts.cache.pack import PackSettings, PackState, default_cache, load_table, pack
    from myxtts.cache.reader import Cache

    config = _load_config(arguments)
    corpus = _open_corpus(arguments.corpus, config)
    cache = arguments.cache or default_cache(arguments.corpus)
    with _bar(corpus.count(), "packing", "utt") as bar:

        def show(state: PackState) -> None:
            bar.set_postfix_str(f"{state.audio_seconds / 3600:.2f} h, {state.rejected} rejected", refresh=False)
            bar.update(state.rows_read - bar.n)

        pack(corpus, cache, PackSettings.from_config(config.data, arguments.mode), rebuild=arguments.rebuild,
             table=load_table(config.data.token_table), workers=arguments.workers, progress=show)  # fmt: skip
    summary = Cache(cache).summary()
    return 0, summary, f"{_describe(summary)}\nnext: myxtts verify {cache}"


def _open_corpus(path: Path, config: Any) -> Any:
    from myxtts.corpus.read import open_corpus

    return open_corpus(path, config.data.layout, config.data.speaker, config.data.language)


def _open_corpus_as_packed(path: Path, cache: Path, config: Any) -> Any:
    """With the language, speaker and layout it was packed with; with those of the config if cache.json is lost."""
    from myxtts.cache.format import load_manifest
    from myxtts.corpus.read import open_corpus
    from myxtts.errors import CacheError

    try:
        return open_corpus(path, **load_manifest(cache)["corpus"])
    except CacheError:
        return _open_corpus(path, config)


def _find_cache(path: Path) -> Path:
    """The cache meant by a path: itself, or the default cache of the corpus that it is."""
    from myxtts.cache.pack import default_cache
    from myxtts.cache.reader import is_cache

    default = default_cache(path)
    return default if not is_cache(path) and is_cache(default) else path


# -- verify ----------------------------------------------------------------------------------------------------------


def _add_verify(verbs: Any) -> None:
    parser = _add_verb(verbs, "verify", _verify, "read every byte of a cache and name what is damaged",
        "  myxtts verify voice.cache\n  myxtts verify voice.cache --fix ~/corpus")  # fmt: skip
    parser.add_argument("cache", metavar="CACHE", type=Path)
    parser.add_argument("--fix", metavar="CORPUS", type=Path, help="rebuild what is damaged from this corpus")
    _add_config_flags(parser)


def _verify(arguments: argparse.Namespace) -> Result:
    from myxtts.cache.pack import PackSettings, load_table
    from myxtts.cache.verify import repair, verify

    config = _load_config(arguments)
    cache = _find_cache(arguments.cache)
    with _bar(0, "verifying", "B") as bar:

        def show(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        found = verify(cache, show)
    left = found
    if found and arguments.fix:
        corpus = _open_corpus_as_packed(arguments.fix, cache, config)
        table = load_table(config.data.token_table)
        left = repair(cache, corpus, PackSettings.from_config(config.data), found, table)
        left = left or verify(cache)
    result = {
        "cache": str(cache),
        "sound": not left,
        "damaged": [damage.to_dict() for damage in found],
        "unrepaired": [damage.to_dict() for damage in left] if arguments.fix else [],
    }
    return (1 if left else 0), result, _describe_damage(cache, found, left, arguments.fix)


def _describe_damage(cache: Path, found: list[Any], left: list[Any], fixed_from: Path | None) -> str:
    if not found:
        return f"{cache}: every byte is as it was written"
    lines = [str(damage) for damage in found]
    if fixed_from is None:
        lines.append(f"{len(found)} damaged; rebuild with: myxtts verify {cache} --fix CORPUS")
    else:
        lines += [f"not repaired: {damage}" for damage in left]
        lines.append(f"{cache}: {len(found)} damaged, {len(left)} left after the repair")
    return "\n".join(lines)


# -- info ------------------------------------------------------------------------------------------------------------


def _add_info(verbs: Any) -> None:
    parser = _add_verb(verbs, "info", _info, "say what a cache holds", "  myxtts info voice.cache --json")
    parser.add_argument("cache", metavar="CACHE", type=Path)


def _info(arguments: argparse.Namespace) -> Result:
    from myxtts.cache.reader import Cache

    summary = Cache(_find_cache(arguments.cache)).summary()
    return 0, summary, _describe(summary)


def _describe(summary: dict[str, Any]) -> str:
    rejected, lengths = summary["rejected"], summary["utterance_seconds"]
    reasons = ", ".join(f"{count} {reason}" for reason, count in rejected.items())
    listed = f": {reasons}; each row in {summary['cache']}/rejected.jsonl" if rejected else ""
    lines = [
        f"{summary['cache']}  (id {summary['id'][:12]}, mode {summary['mode']})",
        f"  utterances  {summary['utterances']}, {summary['audio_seconds'] / 3600:.2f} h, "
        f"{lengths['min']:.1f} to {lengths['max']:.1f} s, median {lengths['median']:.1f} s",
        f"  speakers    {_first_names(summary['speakers'])}",
        f"  languages   {_first_names(summary['languages'])}",
        f"  tokens      {summary['settings']['tokens']['kind']}, {summary['token_table_size']} in the table",
        f"  size        {sum(summary['bytes'].values()) / 1e6:.1f} MB",
        f"  rejected    {sum(rejected.values())}{listed}",
    ]  # fmt: skip
    return "\n".join(lines)


def _first_names(counts: dict[str, int], most: int = 6) -> str:
    ranked = sorted(counts.items(), key=lambda item: -item[1])
    shown = ", ".join(f"{name} ({count})" for name, count in ranked[:most])
    return shown + (f" and {len(ranked) - most} more" if len(ranked) > most else "")


# -- bench -----------------------------------------------------------------------------------------------------------


def _add_bench(verbs: Any) -> None:
    parser = _add_verb(verbs, "bench", _bench, "measure loaders side by side, with an emulated accelerator",
        "  myxtts bench voice.cache\n  myxtts bench ~/corpus --loaders mapped,python --plot au.png")  # fmt: skip
    parser.add_argument("data", metavar="CACHE_OR_CORPUS", type=Path)
    parser.add_argument("--batch-size", metavar="N", type=_positive, help="default: data.batch_size")
    parser.add_argument(
        "--loaders", metavar="A,B,C", help="some of limit, mapped, limit-audio, mapped-audio, native, npy, python"
    )
    parser.add_argument("--step-ms", metavar="A,B,C", default="5,10,20,50", help="step times to emulate")
    parser.add_argument("--cold", action="store_true", help="drop the files from memory before each loader")
    parser.add_argument("--plot", metavar="FILE.png", type=Path, help="draw utilisation over step time")
    _add_config_flags(parser)


def _bench(arguments: argparse.Namespace) -> Result:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    from myxtts.cache.reader import Cache
    from myxtts.performance.bench import as_table, bench, plot, usable_loaders

    config = _load_config(arguments)
    if arguments.batch_size:
        config.data.batch_size = arguments.batch_size
    cache = _cache_of(arguments.data, config)
    loaders = arguments.loaders.split(",") if arguments.loaders else usable_loaders(Cache(cache))
    with _bar(len(loaders) + 1, "measuring", "loader") as bar:

        def show(what: str) -> None:
            bar.set_postfix_str(what)
            bar.update(0 if what == "controls" else 1)

        result = bench(cache, config, loaders, _step_times(arguments.step_ms), arguments.cold, show)
    if arguments.plot:
        plot(result, arguments.plot)
    return 0, result, as_table(result)


def _cache_of(path: Path, config: Any) -> Path:
    """A cache, or the default cache of a corpus, packed now if it has none."""
    from myxtts.cache.pack import PackSettings, default_cache, load_table, pack
    from myxtts.cache.reader import is_cache

    if is_cache(path):
        return path
    corpus, cache = _open_corpus(path, config), default_cache(path)
    pack(corpus, cache, PackSettings.from_config(config.data), table=load_table(config.data.token_table))
    return cache


def _step_times(text: str) -> list[float]:
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        values = [0.0]
    if not all(0 < value < 1e7 for value in values):  # NaN fails too
        raise _UsageError(f"--step-ms {text}: expected milliseconds separated by commas, for example 5,10,20")
    return values


# -- config ----------------------------------------------------------------------------------------------------------


def _add_config(verbs: Any) -> None:
    parser = _add_verb(verbs, "config", _config, "show the settings in force, as YAML, and the presets",
        "  myxtts config > my.yaml\n  myxtts config --preset gpu_24gb --set data.batch_size=48")  # fmt: skip
    _add_config_flags(parser)


def _config(arguments: argparse.Namespace) -> Result:
    from myxtts.config.config import preset_names

    config = _load_config(arguments)
    text = f"# presets: {', '.join(preset_names())}\n{config.to_yaml()}".rstrip()
    return 0, {**config.to_dict(), "presets": preset_names()}, text


# -- shared ----------------------------------------------------------------------------------------------------------


def _positive(text: str) -> int:
    value = int(text) if text.lstrip("-").isdecimal() else 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a number from 1 up")
    return value


def _bar(total: int, verb: str, unit: str) -> Any:
    """A progress bar with rate and ETA on stderr; one line every ten seconds where stderr is not a terminal."""
    from tqdm import tqdm

    interval = 0.1 if sys.stderr.isatty() else 10.0
    return tqdm(total=total, desc=verb, unit=unit, unit_scale=unit == "B", mininterval=interval, file=sys.stderr,
                dynamic_ncols=True, leave=False, delay=0 if sys.stderr.isatty() else 2)  # fmt: skip
