"""What the verbs share: how they are declared, which config and data their arguments mean, progress bars."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NoReturn

from myxtts.terminal import name_as_text

Result = tuple[int, dict[str, Any], str]  # exit code, what --json prints, what a person reads


class UsageError(Exception):
    pass


def progress_bar(*arguments: Any, **options: Any) -> Any:
    """That of cache/progress.py, imported when it is shown: no verb waits for rooms that it does not need."""
    from myxtts.cache import progress

    return progress.progress_bar(*arguments, **options)


def packing_bar(*arguments: Any, **options: Any) -> Any:
    from myxtts.cache import progress

    return progress.packing_bar(*arguments, **options)


def check_output(flag: str, path: Path, ends: tuple[str, ...]) -> None:
    """Before the work is done: a book is long."""
    if path.suffix.lower() not in ends:
        raise UsageError(f"{flag} {path}: expected a name that ends in {' or '.join(ends)}")
    if not path.parent.is_dir():
        raise UsageError(f"{flag} {path}: there is no folder {path.parent}")
    if path.is_dir():
        raise UsageError(f"{flag} {path}: there is a folder of that name, choose another one")
    import tempfile

    try:
        tempfile.TemporaryFile(dir=path.parent).close()  # permissions alone do not tell it for root
    except OSError as error:
        why = f"cannot write in {path.parent} ({error.strerror}), choose another place"
        raise UsageError(f"{flag} {path}: {why}") from None


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


class GiveSetting(argparse.Action):
    """A flag that gives settings: its value, or `const` where it takes none. The flag is where they were given."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, flag: str | None = None
    ) -> None:
        value = self.const if self.nargs == 0 else values
        given = [(key, str(value) if isinstance(value, Path) else value, flag) for key in self.dest.split()]
        namespace.given_by_flags = [*getattr(namespace, "given_by_flags", []), *given]


def add_setting(parser: argparse.ArgumentParser, keys: str, *flags: str, **options: Any) -> None:
    """A flag for the settings `keys`, such as 'data.batch_size'; with `const` it takes no value and stands for that."""
    if "const" in options:
        options |= {"nargs": 0}
    parser.add_argument(*flags, dest=keys, action=GiveSetting, default=argparse.SUPPRESS, **options)


class Values:
    """The values of a flag, for `choices` and for %(choices)s in its help, looked up when somebody asks.

    Whoever knows them need not be imported to build the parser. With `others` it takes what is not among them too.
    """

    def __init__(self, look_up: Callable[[], Iterable[str]], others: bool = False):
        self._look_up, self._others = look_up, others

    def __iter__(self) -> Iterator[str]:
        return iter(self._look_up())

    def __contains__(self, value: object) -> bool:
        return self._others or value in [*self]


def values_of(setting: str) -> Values:
    """Those that a setting such as model.size may have."""

    def look_up() -> Iterable[str]:
        from myxtts.config.config import XTTSConfig
        from myxtts.config.settings import choices_of

        section, _, key = setting.partition(".")
        return choices_of(type(getattr(XTTSConfig(), section)), key)

    return Values(look_up)


def _layouts() -> Iterable[str]:
    from myxtts.corpus.detect import LAYOUTS

    return LAYOUTS


def load_config(arguments: argparse.Namespace) -> Any:
    """Preset, file and --set, then the verb's own flags; each setting knows where it was given."""
    from myxtts.config.config import load

    typed = {"config": None, "preset": None, "overrides": ()} | vars(arguments)  # a verb need not have them all
    config = load(typed["config"], typed["preset"], typed["overrides"])
    for name, value, flag in typed.get("given_by_flags", ()):
        section, _, key = name.partition(".")
        getattr(config, section).give({key: value}, flag)
    return config


def load_config_with_data(arguments: argparse.Namespace, ways: str = "") -> Any:
    """The config, which names the data."""
    explain_cut_off_files(arguments)
    config = load_config(arguments)
    if config.data.dataset_path is None:
        raise UsageError(f"no data is named: give --data DATA, {ways}or a --config with data.dataset_path")
    return config


def explain_cut_off_files(arguments: argparse.Namespace) -> None:
    """For verbs that map a cache and keep reading it: who cuts its files off meanwhile is named."""
    from myxtts.cache import cut_off

    def say(message: str) -> None:
        if arguments.json:
            print(json.dumps({"error": {"type": "CacheDamaged", "message": message}}))
        else:
            print(f"\nerror: {message}", file=sys.stderr)

    cut_off.explain_cut_off_files(say)


def data_place(text: str) -> Path | str:
    """A path, or an address, which is none: `Path` would make one slash of two."""
    return text if "://" in text else Path(text)


def add_data_flag(parser: argparse.ArgumentParser, *documented: str) -> None:
    """The one word for data that is a corpus or a cache; `documented` are other words that must keep working."""
    add_setting(parser, "data.dataset_path", "--data", *documented, metavar="DATA", type=data_place,
                help="a cache, its address, or a corpus, packed if need be (default: data.dataset_path)")  # fmt: skip


def add_corpus_flags(parser: argparse.ArgumentParser) -> None:
    pattern = "take (?P<speaker>...) and (?P<language>...) from the path of each audio file"
    add_setting(parser, "data.layout", "--layout", metavar="NAME", choices=Values(_layouts, others=True),
                help="%(choices)s, or one of an installed package (default: auto)")  # fmt: skip
    add_setting(parser, "data.speaker", "--speaker", metavar="NAME", help="speaker of rows that name none")
    add_setting(parser, "data.language", "--language", metavar="CODE",
                help="language of rows that name none, for example fa")  # fmt: skip
    add_setting(parser, "data.speaker_pattern", "--speaker-pattern", metavar="REGEX", help=pattern)


def corpora_at(paths: list[Path], config: Any) -> Any:
    """One corpus, or several as one. Of several, rows that name no speaker are given the name of their folder."""
    from myxtts.cache.open import corpus_at
    from myxtts.corpus.several import Corpora

    if len(paths) == 1:
        return corpus_at(paths[0], config.data)
    named = zip(paths, _names_of(paths), strict=True)
    return Corpora([corpus_at(path, config.data.filled({"speaker": name})) for path, name in named])


def _names_of(paths: list[Path]) -> list[str]:
    """The name of each folder; with as much of the way to it as tells them apart."""
    ways = [path.resolve().parts for path in paths]
    for length in range(1, max(map(len, ways)) + 1):
        names = [name_as_text("/".join(way[-length:]).lstrip("/")) for way in ways]
        if len(set(names)) == len(set(ways)):
            break
    return names


def corpus_as_packed(paths: list[Path], cache: Path, config: Any) -> Any:
    """With the language, speaker and layout it was packed with; with those of the config if cache.json is lost."""
    from myxtts.cache.manifest import load_manifest
    from myxtts.cache.open import corpus_at
    from myxtts.cache.pack import corpora_in
    from myxtts.corpus.read import open_corpus
    from myxtts.corpus.several import Corpora
    from myxtts.errors import CacheError

    try:
        settings = corpora_in(load_manifest(cache))
    except CacheError:
        corpora = [corpus_at(path, config.data) for path in paths]
        return corpora[0] if len(corpora) == 1 else Corpora(corpora)
    if len(paths) != len(settings):
        raise UsageError(
            f"{cache} holds {len(settings)} corpora, {len(paths)} given: name all, in the order of packing"
        )
    corpora = [open_corpus(path, **given) for path, given in zip(paths, settings, strict=True)]
    return corpora[0] if len(corpora) == 1 else Corpora(corpora)


def find_cache(path: Path) -> Path:
    """The cache meant by a path: itself, or the default cache of the corpus that it is."""
    from myxtts.cache.manifest import is_cache
    from myxtts.cache.pack import default_cache

    default = default_cache(path)
    return default if not is_cache(path) and is_cache(default) else path


def pack_with_bar(corpus: Any, cache: Path, settings: Any, config: Any, **options: Any) -> None:
    from myxtts.cache.pack import load_table, pack

    with packing_bar(corpus) as show:
        pack(corpus, cache, settings, table=load_table(config.data.token_table), progress=show, **options)


def cache_of(path: Path | str, config: Any) -> Path:
    """A cache, or the default cache of a corpus: packed now if it has none, and again if it no longer fits."""
    from myxtts.cache.open import open_or_pack

    return open_or_pack(path, config, packing_bar).folder


def summary_of(place: Path | str, config: Any) -> dict[str, Any]:
    """What a cache holds. Of one at an address the index is fetched, and kept where training will look for it."""
    from myxtts.cache.mirrored import mirror_index
    from myxtts.cache.open import open_cache

    if isinstance(place, Path):
        return open_cache(find_cache(place)).summary()
    folder = mirror_index(place, config.data.mirror_dir, config.data.mirror_gb)
    return open_cache(folder).summary() | {"cache": place}


def describe_cache(summary: dict[str, Any]) -> str:
    rejected, lengths = summary["rejected"], summary["utterance_seconds"]
    reasons = ", ".join(f"{count} {reason}" for reason, count in rejected.items())
    where = f"{summary['cache']}/*/rejected.jsonl" if "shards" in summary else f"{summary['cache']}/rejected.jsonl"
    listed = f": {reasons}; each row in {where}" if rejected else ""
    lines = [
        f"{summary['cache']}  (id {summary['id'][:12]}, mode {summary['mode']})",
        f"  utterances  {summary['utterances']}, {summary['audio_seconds'] / 3600:.2f} h, "
        f"{lengths['min']:.1f} to {lengths['max']:.1f} s, median {lengths['median']:.1f} s",
        f"  speakers    {first_names(summary['speakers'])}",
        f"  languages   {first_names(summary['languages'])}",
        f"  tokens      {summary['settings']['tokens']['kind']}, {summary['token_table_size']} in the table",
        f"  size        {sum(summary['bytes'].values()) / 1e6:.1f} MB"
        + (f" in {summary['shards']} shards" if "shards" in summary else ""),
        f"  rejected    {sum(rejected.values())}{listed}",
    ]  # fmt: skip
    return "\n".join(lines)


def first_names(counts: dict[str, int], most: int = 6) -> str:
    ranked = sorted(counts.items(), key=lambda item: -item[1])
    shown = ", ".join(f"{name} ({count})" for name, count in ranked[:most])
    return shown + (f" and {len(ranked) - most} more" if len(ranked) > most else "")


def as_text(content: bytes, what: str) -> str:
    """What a file or a pipe of the user's holds."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        reason = f"{error.reason} at byte {error.start}"
        raise UsageError(f"{what} is not UTF-8 ({reason}): convert it first") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def positive(text: str) -> int:
    value = int(text) if text.lstrip("-").isdecimal() and len(text) < 20 else 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a whole number of 1 or more, of less than 20 digits")
    return value


def above_zero(text: str, unit: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e9:  # NaN fails too
        raise argparse.ArgumentTypeError(f"{text} is not a number of {unit} above 0")
    return value


def port_number(text: str) -> int:
    if not text.isdecimal() or len(text) > 5 or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text} is not a port, a number from 0 to 65535")
    return int(text)
