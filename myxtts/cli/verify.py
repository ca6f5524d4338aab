"""`myxtts verify` reads every byte of a cache."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from myxtts.cli.shared import (
    Result,
    add_config_flags,
    add_verb,
    corpus_as_packed,
    find_cache,
    load_config,
    progress_bar,
)


def add(verbs: Any) -> None:
    parser = add_verb(verbs, "verify", run, "read every byte of a cache and name what is damaged",
        "  myxtts verify voice.cache\n  myxtts verify voice.cache --fix ~/corpus")  # fmt: skip
    parser.add_argument("cache", metavar="CACHE", type=Path, help="a cache, or a corpus (then its default cache)")
    parser.add_argument("--fix", metavar="CORPUS", type=Path, nargs="+",
                        help="rebuild what is damaged from this corpus, or from all it was packed from")  # fmt: skip
    add_config_flags(parser)


def run(arguments: argparse.Namespace) -> Result:
    from myxtts.cache.pack import load_table
    from myxtts.cache.publish import clear_leftovers
    from myxtts.cache.settings import PackSettings
    from myxtts.cache.verify import repair, verify

    config = load_config(arguments)
    cache = find_cache(arguments.cache)
    with progress_bar(0, "verifying", "B") as bar:

        def show(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        damages = verify(cache, show)
    left = damages
    if arguments.fix and not damages:
        clear_leftovers(cache)  # of a repair that was killed when it was done
    if damages and arguments.fix:
        corpus = corpus_as_packed(arguments.fix, cache, config)
        table = load_table(config.data.token_table)
        left = repair(cache, corpus, PackSettings.from_config(config.data), damages, table)
        left = left or verify(cache)
    result = {
        "cache": str(cache),
        "intact": not left,
        "damaged": [damage.to_dict() for damage in damages],
        "unrepaired": [damage.to_dict() for damage in left] if arguments.fix else [],
    }
    return (1 if left else 0), result, _describe_damage(cache, damages, left, arguments.fix)


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
