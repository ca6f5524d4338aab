"""What a stranger wrote (ids, speakers, paths, events of a log) as text that a terminal shows and does not obey."""

from __future__ import annotations

import logging
import re

# C0 and C1 controls but tab and newline; what turns the direction of writing; half surrogates (no UTF-8).
_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    """The same text with every character that a terminal would act on written as an escape such as \\x1b."""
    return _OBEYED.sub(_escaped, text)


def printable_json(text: str) -> str:
    """The same JSON: these characters stand in strings only, where JSON has an escape for each."""
    return _OBEYED.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def name_as_text(name: str) -> str:
    """The name of a file as text that can be stored: bytes that are not UTF-8 are written as \\xff."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace") if not name.isascii() else name


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


class PrintableFormatter(logging.Formatter):
    """Log records for a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))
