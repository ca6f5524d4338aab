"""The page around a report: head, verdict, tiles, cards, tables. One file, no script, nothing loaded from anywhere."""

from __future__ import annotations

import base64
import hashlib
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from myxtts.files import write_whole
from myxtts.report.charts import share_bar
from myxtts.report.markup import Markup, join, tag
from myxtts.report.style import CSS
from myxtts.report.wording import moment
from myxtts.version import __version__

_STATES = {"good": "\u2713 healthy", "warn": "! worth a look", "bad": "\u2717 needs a cure"}  # never by colour alone
_MOST_COLUMNS = 4  # on a phone

Row = Sequence[Any]


def page(what: str, name: str, facts: Iterable[str], body: Iterable[Any]) -> str:
    """The whole file. The style is allowed by its hash, pictures and sound only from within the file."""
    digest = base64.b64encode(hashlib.sha256(CSS.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; media-src data:; base-uri 'none'; "
        "form-action 'none'"
    )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{policy}"/>'),
        tag("meta", name_="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name_="color-scheme", content="light dark"),
        tag("title", f"{name}: {what}"),
        Markup(f"<style>{CSS}</style>"),
    )
    top = tag("header", tag("span", tag("strong", name)), tag("span", what), *(tag("span", fact) for fact in facts))
    foot = tag("footer", f"MyXTTS {__version__}, written {moment(time.time())}. This file needs no network.")
    return f'<!doctype html>\n<html lang="en">{head}<body>{tag("main", top, *body, foot)}</body></html>\n'


def write_page(path: Path | str, text: str) -> None:
    write_whole(path, text.encode(errors="replace"))  # a lone surrogate in a file name is no reason to fail


def verdict(
    state: str, sentence: str, details: Iterable[Any], shares: dict[str, float] | None = None, note: str | None = None
) -> Markup:
    """What a person must know in ten seconds: good, warn or bad, one sentence, and where which time went (`note`)."""
    below = tag("p", note, class_="note") if note else None
    bar = tag("div", share_bar(shares), below, class_="balance") if shares else None
    lines = (tag("p", line) for line in details)
    return tag(
        "section",
        tag("p", _STATES[state], class_="state"),
        tag("h1", sentence, id="verdict"),
        *lines,
        bar,
        class_=f"verdict {state}",
    )


def tiles(rows: Iterable[tuple[str, str, str, str]]) -> Markup:
    """(id, name, value, remark) of the few numbers that matter."""
    return tag(
        "dl",
        *(
            tag("div", tag("dt", name), tag("dd", tag("span", value, id=key), tag("small", remark) if remark else None))
            for key, name, value, remark in rows
        ),
        class_="tiles",
    )


def card(title: str, *children: Any, note: str | None = None) -> Markup:
    """A section with its heading."""
    return tag("section", tag("h2", title), tag("p", note) if note else None, *children, class_="card")


def folded(title: str, *children: Any) -> Markup:
    return tag("details", tag("summary", title), *children)


def table(heads: Sequence[str], rows: Iterable[Row], words: Sequence[int] = (), id: str | None = None) -> Markup:
    """The first column names the row. The others are numbers and stand to the right, but for those in `words`.

    On a phone a row of more than four columns becomes a small list, for which every cell knows its heading.
    """
    many = len(heads) > _MOST_COLUMNS
    kinds = [None if n == 0 or n in words else "number" for n in range(len(heads))]
    top = tag("tr", *(tag("th", head, scope="col", class_=kind) for head, kind in zip(heads, kinds, strict=True)))
    lines = (
        tag(
            "tr",
            tag("th", first, scope="row"),
            *(
                tag(
                    "td", tag("span", "\u2013" if cell is None else cell), class_=kind, data_head=head if many else None
                )
                for cell, kind, head in zip(rest, kinds[1:], heads[1:], strict=True)
            ),
        )
        for first, *rest in rows
    )
    return tag(
        "div",
        tag("table", tag("thead", top), tag("tbody", *lines), id=id, class_="many" if many else None),
        class_="scroll",
    )


def settings_table(settings: dict[str, Any], defaults: dict[str, Any]) -> Markup:
    """Every setting; those that differ from the default are marked and first."""
    rows = [
        (f"{section}.{key}", value, (defaults.get(section) or {}).get(key))
        for section, values in settings.items()
        if isinstance(values, dict)
        for key, value in values.items()
    ]
    changed = [row for row in rows if row[1] != row[2]]
    same = [row for row in rows if row[1] == row[2]]
    shown = table(
        ["setting", "value", "default"], [(name, _yaml(value), _yaml(usual)) for name, value, usual in changed], (1, 2)
    )
    rest = table(["setting", "value"], [(name, _yaml(value)) for name, value, _ in same], (1,))
    return join(
        [
            folded(f"{len(changed)} changed from their defaults", shown) if changed else tag("p", "All as by default."),
            folded(f"{len(same)} as by default", rest),
        ]
    )


def _yaml(value: Any) -> str:
    return "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
