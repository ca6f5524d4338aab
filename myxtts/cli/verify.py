"""`myxtts verify` reads every byte of a cache."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from myxtts.cli.shared import (
    Result,
    UsageError,
    add_config_flags,
    add_verb,
    corpus_as_packed,
    data_place,
    find_cache,
    load_config,
    progress_bar,
)


def add(verbs: Any) -> None:
    parser = add_verb(verbs, "verify", run, "read every byte of a cache and name what is damaged",
        "  myxtts verify voice.cache\n  myxtts verify voice.cache --fix ~/corpus\n"
        "  myxtts verify s3://bucket/corpus.cache")  # fmt: skip
    parser.add_argument("cache", metavar="CACHE", type=data_place,
                        help="a cache, its address, or a corpus (then its default cache)")  # fmt: skip
    parser.add_argument("--fix", metavar="CORPUS", type=Path, nargs="+",
                        help="rebuild what is damaged from this corpus, or from all it was packed from")  # fmt: skip
    add_config_flags(parser)


def run(arguments: argparse.Namespace) -> Result:
    from myxtts.cache.pack import load_table
    from myxtts.cache.publish import clear_leftovers
    from myxtts.cache.settings import PackSettings
    from myxtts.cache.verify import repair, verify

    config = load_config(arguments)
    if isinstance(arguments.cache, str):
        return _verify_address(arguments.cache, arguments.fix, config)
    cache = find_cache(arguments.cache)
    with _verifying() as show:
        damages = verify(cache, show)
    left = damages
    if arguments.fix and not damages:
        clear_leftovers(cache)  # of a repair that was killed when it was done
    if damages and arguments.fix:
        corpus = corpus_as_packed(arguments.fix, cache, config)
        table = load_table(config.data.token_table)
        left = repair(cache, corpus, PackSettings.from_config(config.data), damages, table)
        left = left or verify(cache)
    unrepaired = left if arguments.fix else []
    text = _describe_damage(cache, damages, left, arguments.fix)
    return (1 if left else 0), _result(cache, damages, left, unrepaired), text


def _verify_address(address: str, fix: list[Path] | None, config: Any) -> Result:
    from myxtts.cache.mirror_folder import mirrors_folder
    from myxtts.cache.verify_address import verify_address

    again = f"pack it there again with: myxtts pack CORPUS -o {address} --rebuild"
    if fix:
        raise UsageError(f"--fix mends a cache in a folder, and {address} is none: {again}")
    with _verifying() as show:
        damages = verify_address(address, mirrors_folder(config.data.mirror_dir), show)
    lines = [*map(str, damages), f"{len(damages)} damaged; {again}"]
    text = "\n".join(lines) if damages else f"{address}: every byte is as it was written"
    return (1 if damages else 0), _result(address, damages, damages, []), text


@contextmanager
def _verifying() -> Iterator[Callable[[int, int], None]]:
    with progress_bar(0, "verifying", "B") as bar:

        def show(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield show


def _result(cache: Path | str, damages: list[Any], left: list[Any], unrepaired: list[Any]) -> dict[str, Any]:
    listed = {"damaged": damages, "unrepaired": unrepaired}
    return {"cache": str(cache), "intact": not left} | {
        name: [damage.to_dict() for damage in some] for name, some in listed.items()
    }


def _describe_damage(cache: Path, damages: list[Any], left: list[Any], fixed_from: list[Path] | None) -> str:
    if not damages:
        return f"{cache}: every byte is as it was written"
    lines = [str(damage) for damage in damages]
    if fixed_from is None:
        lines.append(f"{len(damages)} damaged; rebuild with: myxtts verify {cache} --fix CORPUS")
    else:
        lines += [f"not repaired: {damage}" for damage in left]
        lines.append(f"{cache}: {len(damages)} damaged, {len(left)} left after the repair")
    return "\n".join(lines)
