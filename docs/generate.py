"""Fills in what the code knows best: <!-- generate: NAME --> in a page becomes the table or text that NAME makes.

MkDocs calls the functions whose names begin with `on_` (see hooks in mkdocs.yml). So the reference cannot fall behind
the parser, the settings or the reasons: it is made of them whenever the manual is built.
"""

from __future__ import annotations

import argparse
import html
import re
from collections.abc import Callable, Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from myxtts.cli import _parser
from myxtts.config.config import _SECTIONS, preset_names
from myxtts.config.settings import describe
from myxtts.corpus.detect import LAYOUTS
from myxtts.corpus.reasons import REASONS
from myxtts.doctor.causes import CAUSES, VERDICTS, Verdict

_PLACE = re.compile(r"<!-- generate: (\w+) -->")
_UNTRANSLATED = "این صفحه هنوز به فارسی برگردانده نشده است؛ متن انگلیسی را می‌بینید."


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """In a Persian page, what has no translation stands in a block that runs from left to right."""
    persian = page.file.src_uri.endswith(".fa.md")
    return _PLACE.sub(lambda place: _generate(place[1], persian), markdown)


def _generate(name: str, persian: bool) -> str:
    if name in VERDICT_TABLES:
        return verdicts(VERDICT_TABLES[name], persian)
    text = GENERATORS[name]()
    return f'<div dir="ltr" lang="en" markdown>\n\n{text}\n\n</div>' if persian else text


def on_page_content(content: str, page: Any, **_: Any) -> str:
    """An English page among the Persian ones runs from left to right, and says why it is English."""
    if not page.file.dest_uri.startswith("fa/") or page.file.src_uri.endswith(".fa.md"):
        return content
    note = f'<div class="admonition note" dir="rtl" lang="fa"><p>{_UNTRANSLATED}</p></div>'
    return f'{note}\n<div dir="ltr" lang="en">{content}</div>'


# ---- the settings ---------------------------------------------------------------------------------------------------


def settings() -> str:
    """Every key of every section: one heading and one table each."""
    return "\n\n".join(f"## {name}\n\n{_settings_of(group)}" for name, group in _SECTIONS.items())


def _settings_of(group: Any) -> str:
    rows = [
        (
            f"`{key}`{{ #{group.section}.{key} }}",
            f"{_bare(meaning)}<br>Default `{_as_yaml(default)}`; {_bare(expects)}.",
        )
        for key, default, expects, meaning in describe(group)
    ]
    return table(("key", "meaning"), rows)


def _as_yaml(value: Any) -> str:
    return yaml.safe_dump(value).removesuffix("...\n").strip()


def presets() -> str:
    """Each preset with what it sets and what its first comment says it is for."""
    blocks = []
    for name in preset_names():
        text = (resources.files("myxtts.config") / "presets" / f"{name}.yaml").read_text(encoding="utf-8")
        blocks.append(f"### {name}\n\n```yaml\n{text.strip()}\n```")
    return "\n\n".join(blocks)


# ---- the commands ---------------------------------------------------------------------------------------------------


def verbs() -> dict[str, tuple[str, argparse.ArgumentParser]]:
    """Each verb of the parser: what its help says in one line, and its own parser."""
    verbs = next(each for each in _parser()._actions if isinstance(each, argparse._SubParsersAction))
    short = {choice.dest: choice.help or "" for choice in verbs._choices_actions}
    return {name: (short.get(name, ""), parser) for name, parser in verbs.choices.items()}


def verb_table() -> str:
    rows = [(f"[`{name}`](#{name})", _bare(short)) for name, (short, _) in verbs().items()]
    return table(("verb", "what it does"), rows)


def commands() -> str:
    """Every verb with its usage, its arguments and its examples."""
    return "\n\n".join("\n\n".join(_command(name, *each)) for name, each in verbs().items())


def _command(name: str, short: str, parser: argparse.ArgumentParser) -> Iterator[str]:
    yield f"## {name}"
    yield f"{_sentence(short)}."
    usage = parser.format_usage().replace("\n" + " " * len("usage: "), "\n").removeprefix("usage: ")
    yield f"```text\n{usage.rstrip()}\n```"
    rows = [(_names(each, name), _bare(_help(each, parser))) for each in flags_of(parser)]
    yield table(("argument", "meaning"), rows)
    examples, _, rest = (parser.epilog or "").removeprefix("examples:").partition("\n\n")
    if examples.strip():
        yield f"```sh\n{_dedent(examples)}\n```"
    if rest.strip():
        yield f"{_sentence(rest)}."


def flags_of(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """What a user may write: without what is accepted for old times' sake only, and without --help."""
    return [each for each in parser._actions if each.help != argparse.SUPPRESS and each.dest != "help"]


def _names(action: argparse.Action, verb: str) -> str:
    value = "" if action.nargs == 0 else " " + _value(action)
    if not action.option_strings:
        return f"`{value.strip()}`{{ #{verb}-{action.dest} }}"
    flag = action.option_strings[-1]
    names = ", ".join(f"`{name}{value}`" for name in action.option_strings)
    return f"{names}{{ #{verb}{flag} }}" if len(action.option_strings) == 1 else names


def _value(action: argparse.Action) -> str:
    name = str(action.metavar or ("ONE" if action.choices else action.dest.upper()))
    return f"[{name}]" if action.nargs == "?" else name


def _help(action: argparse.Action, parser: argparse.ArgumentParser) -> str:
    text = action.help % {**vars(action), "prog": parser.prog} if action.help else ""
    return f"{text} ({' | '.join(map(str, action.choices))})" if action.choices else text


# ---- the corpus -----------------------------------------------------------------------------------------------------


def layouts() -> str:
    rows = [(f"`{each.name}`", _bare(each.about)) for each in LAYOUTS.values()]
    return table(("layout", "how it is recognised"), rows)


def reasons() -> str:
    """Errors first, then warnings."""
    ranked = sorted(REASONS.items(), key=lambda item: not item[1].is_error)
    rows = [(f"`{name}`", "error" if each.is_error else "warning", _bare(each.what), _bare(each.cure))
            for name, each in ranked]  # fmt: skip
    return table(("reason", "", "what is wrong", "what to do"), rows)


# ---- the verdicts ---------------------------------------------------------------------------------------------------

VERDICT_TABLES: dict[str, list[Verdict]] = {
    f"verdicts_of_the_{part.replace('-', '_')}": [cause for cause in CAUSES.values() if cause.part == part]
    for part in ("loader", "hand-over", "step")
} | {"verdicts_without_a_cause": [each for each in VERDICTS.values() if each.name not in CAUSES]}


def verdicts(rows: list[Verdict], persian: bool) -> str:
    """How each shows and what cures it, in English as the program says it."""
    if persian:
        texts = yaml.safe_load((Path(__file__).parent / "verdicts.fa.yaml").read_text(encoding="utf-8"))
        return table(("حکم", "نشانه", "راه‌حل"), [(f"`{each.name}`", *texts[each.name]) for each in rows])
    cells = [(f"`{each.name}`", _bare(each.shows), _bare(each.cure.format(n="N"))) for each in rows]
    return table(("verdict", "how it shows", "cure"), cells)


# ---- Markdown -------------------------------------------------------------------------------------------------------


def table(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [heads, tuple("---" for _ in heads), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _bare(text: str) -> str:
    """A text from the code as Markdown that shows just that."""
    return re.sub(r"([\\*_|#\[\]])", r"\\\1", html.escape(" ".join(text.split()), quote=False))


def _sentence(text: str) -> str:
    text = text.strip()
    return _bare(text[:1].upper() + text[1:])


def _dedent(text: str) -> str:
    return "\n".join(line.strip() for line in text.strip().splitlines())


GENERATORS: dict[str, Callable[[], str]] = {
    "settings": settings,
    "presets": presets,
    "verbs": verb_table,
    "commands": commands,
    "layouts": layouts,
    "reasons": reasons,
}
