"""`myxtts check` looks at every row of a corpus before anything is made of it."""

from __future__ import annotations

import argparse
import functools
import json
from pathlib import Path
from typing import Any

from myxtts.cli.shared import (
    Result,
    UsageError,
    add_config_flags,
    add_corpus_flags,
    add_verb,
    load_config,
    positive,
    progress_bar,
)


def add(verbs: Any) -> None:
    parser = add_verb(verbs, "check", run, "find what is wrong with which row of a corpus, and the cure",
        "  myxtts check ~/LJSpeech-1.1\n  myxtts check ~/cv/fa --layout common_voice --plot corpus.png\n"
        "  myxtts check manifest.csv --strict --list problems.jsonl --json")  # fmt: skip
    parser.epilog = f"{parser.epilog}\n\nexit codes: 0 nothing is wrong, 1 something is, 2 could not be done"
    parser.add_argument("corpus", metavar="CORPUS", type=Path, help="folder in a known layout, or a manifest file")
    parser.add_argument("--strict", action="store_true", help="treat warnings as errors")
    parser.add_argument("--plot", metavar="FILE.png", type=Path, help="draw lengths, levels, speakers and languages")
    parser.add_argument("--list", metavar="FILE", type=Path, dest="listed",
                        help="where every problem goes, as JSON lines (default: ./NAME.check.jsonl)")  # fmt: skip
    parser.add_argument("--workers", metavar="N", type=positive, help="threads (default: one per core)")
    add_corpus_flags(parser)
    add_config_flags(parser)


def run(arguments: argparse.Namespace) -> Result:
    from myxtts.cache.open import corpus_at
    from myxtts.files import whole_file, write_whole

    config = load_config(arguments)
    corpus = corpus_at(arguments.corpus, config.data)
    listed = arguments.listed or Path(f"{arguments.corpus.resolve().name}.check.jsonl")
    _refuse_late_errors(listed, arguments.plot)
    report = _check_with_bar(corpus, config, arguments.workers)
    write_whole(listed, report.list_problems())
    if arguments.plot:
        from myxtts.corpus.picture import draw

        title = f"{arguments.corpus.resolve().name} ({corpus.layout.name})"
        with whole_file(arguments.plot) as file:
            draw(report, title, file)
    summary = report.to_dict()
    result = {
        "corpus": str(arguments.corpus),
        "layout": corpus.layout.name,
        "ok": not (summary["errors"] or (arguments.strict and summary["warnings"])),
        **summary,
        "list": str(listed),
        "plot": str(arguments.plot) if arguments.plot else None,
    }
    return (0 if result["ok"] else 1), result, describe(result)


def _refuse_late_errors(listed: Path, plot: Path | None) -> None:
    """Before an hour of work, not after it."""
    for file in filter(None, (listed, plot)):
        _try_to_write(file)
    if listed.exists() and not _is_ours(listed):
        raise UsageError(f"{listed} exists and was not written by 'myxtts check': name another file with --list")
    if plot and plot.suffix != ".png":
        raise UsageError(f"--plot {plot}: expected a name that ends in .png")
    if plot:
        from myxtts.corpus.picture import find_matplotlib

        find_matplotlib()


def _try_to_write(file: Path) -> None:
    """By writing beside it, as will be done: root is allowed everything but a full disk and a read-only one."""
    from myxtts.files import try_to_write

    try:
        try_to_write(file)
    except OSError as error:
        raise UsageError(f"{file} cannot be written ({error.strerror}): name one in a folder that can be") from None


def _is_ours(path: Path) -> bool:
    """An earlier list, which may be empty only if its name says what it is."""
    with open(path, "rb") as file:
        first = file.readline(1 << 16)
    try:
        return {"reason", "kind", "message"} <= set(json.loads(first)) if first else path.name.endswith(".check.jsonl")
    except (ValueError, TypeError):
        return False


def _check_with_bar(corpus: Any, config: Any, workers: int | None) -> Any:
    from myxtts.cache.pack import default_workers
    from myxtts.cache.prepare import make_readings
    from myxtts.cache.settings import PackSettings
    from myxtts.corpus.check import check
    from myxtts.features.hear import hear_clips

    settings = PackSettings.from_config(config.data)
    hear = functools.partial(hear_clips, settings=settings.audio)
    spell = functools.partial(make_readings, frontend=settings.text)
    with progress_bar(corpus.count(), "checking", "utt") as bar:

        def show(rows: int, errors: int) -> None:
            bar.set_postfix_str(f"{errors} with errors", refresh=False)
            bar.update(rows - bar.n)

        return check(corpus, hear, spell, workers or default_workers(), show)


def describe(result: dict[str, Any]) -> str:
    """The summary table, then each reason with its first examples and the cure."""
    hours = f"{result['seconds'] / 3600:.2f} h" if result["seconds"] >= 360 else f"{result['seconds']:.1f} s"
    lines = [
        f"{result['corpus']}  (layout {result['layout']})",
        f"  rows        {result['rows']}, usable {result['utterances']} ({hours})",
        _spread("seconds", result["utterance_seconds"], "s"),
        _spread("level", result["level_db"], "dBFS"),
        _spread("rate", result["characters_per_second"], "characters a second"),
        f"  speakers    {_shares(result['speakers'])}",
        f"  languages   {_shares(result['languages'])}",
    ]
    for kind in ("errors", "warnings"):
        lines += _describe_reasons(kind, result)
    lines.append(f"every problem: {result['list']}" + (f"; picture: {result['plot']}" if result["plot"] else ""))
    if result["ok"]:
        lines.append(f"next: myxtts pack {result['corpus']}")
    return "\n".join(lines)


def _spread(name: str, spread: dict[str, float] | None, unit: str) -> str:
    if spread is None:
        return f"  {name:<10}  none"
    return f"  {name:<10}  {spread['min']:.1f} to {spread['max']:.1f} {unit}, median {spread['median']:.1f}"


def _shares(seconds: dict[str, float]) -> str:
    """The largest, each with its share of the sound."""
    total = sum(seconds.values()) or 1.0
    shares = {f"{name} {value / total:.0%}": value for name, value in seconds.items()}
    return f"{len(seconds)}: " + ", ".join(list(shares)[:6]) + (", ..." if len(shares) > 6 else "")


def _describe_reasons(kind: str, result: dict[str, Any]) -> list[str]:
    from myxtts.corpus.reasons import REASONS

    counts = result[kind]
    lines = [f"{sum(counts.values())} {kind}"]
    for reason, count in counts.items():
        lines += [f"  {count:>6}  {reason}: {REASONS[reason].what}", f"          cure: {REASONS[reason].cure}"]
        lines += [f"          row {problem['row']}  {_plain(problem['id']) or '(no id)'}: {_short(problem['message'])}"
                  for problem in result["examples"][reason]]  # fmt: skip
        if count > len(result["examples"][reason]):
            lines.append(f"          and {count - len(result['examples'][reason])} more")
    return lines


def _short(message: str, most: int = 140) -> str:
    message = _plain(message)
    return message if len(message) <= most else f"{message[:most]}..."


def _plain(text: str) -> str:
    """Without what would move the cursor or colour the terminal."""
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in text)
