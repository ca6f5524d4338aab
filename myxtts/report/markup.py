"""HTML and SVG from Python: `tag("p", text)`. What is not `Markup` already is escaped, wherever it comes from."""

from __future__ import annotations

import html
from collections.abc import Iterable
from typing import Any

_EMPTY = frozenset({"meta", "img", "rect", "line", "path", "circle", "br"})


class Markup(str):
    """Text that is HTML and goes out as it is."""


def tag(name: str, *children: Any, **attributes: Any) -> Markup:
    """One element. None leaves a child or an attribute out; `class_` is class, `stroke_width` is stroke-width."""
    written = "".join(f' {_name(key)}="{_value(value)}"' for key, value in attributes.items() if value is not None)
    if name in _EMPTY and not children:
        return Markup(f"<{name}{written}/>")
    return Markup(f"<{name}{written}>{join(children)}</{name}>")


def join(children: Iterable[Any]) -> Markup:
    return Markup("".join(child if isinstance(child, Markup) else _text(child) for child in children))


def _text(child: Any) -> str:
    return "" if child is None else html.escape(str(child), quote=False)


def _name(key: str) -> str:
    return key.rstrip("_").replace("_", "-") if key not in ("viewBox", "preserveAspectRatio") else key


def _value(value: Any) -> str:
    """Places in a picture to a tenth of a pixel: 10,000 steps are a lot of digits."""
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else html.escape(str(value))
