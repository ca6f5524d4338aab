"""The list of symbols whose positions are the token ids: append-only, so an id never changes its meaning.

A table file has one symbol per line, and the line number, counted from 0, is the id. What follows a tab is a comment.
What cannot be seen (spaces, combining marks, controls) and the backslash are written as \\uXXXX or \\UXXXXXXXX.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable
from importlib import resources

import numpy as np

from myxtts.errors import TextError
from myxtts.files import read_regular, write_whole

PAD, BOS, EOS, BLANK, UNK = SPECIALS = ("<pad>", "<bos>", "<eos>", "<blank>", "<unk>")
_MOST_BYTES = 1 << 26  # a symbol is 5 bytes
_NOTE = "\tappend-only: ids are line numbers from 0 and models depend on them; add at the end, never move or remove"


class TokenTable:
    """Symbols and their ids. Not locked: one thread encodes with `grow`."""

    def __init__(self, symbols: Iterable[str]):
        self._symbols = list(symbols)
        self._ids = {symbol: index for index, symbol in enumerate(self._symbols)}
        if tuple(self._symbols[: len(SPECIALS)]) != SPECIALS:
            raise TextError(f"a token table begins with {self._symbols[:5]}, expected {' '.join(SPECIALS)}")
        if len(self._ids) != len(self._symbols):
            twice = next(symbol for index, symbol in enumerate(self._symbols) if self._ids[symbol] != index)
            raise TextError(f"the token table has the symbol {twice!r} twice: an id for each symbol, once")

    @classmethod
    def base(cls) -> TokenTable:
        """The table of the package, the start of every project's own."""
        return cls(_parse(resources.files("myxtts.features").joinpath("tokens.txt").read_text(encoding="utf-8")))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> TokenTable:
        try:
            return cls(_parse(read_regular(path, _MOST_BYTES).decode("utf-8")))
        except OSError as error:
            raise TextError(f"cannot read the token table {os.fspath(path)}: {error.strerror}") from None
        except UnicodeDecodeError as error:
            raise TextError(f"{os.fspath(path)} is not a token table: {error}") from None
        except TextError as error:
            raise TextError(f"{os.fspath(path)}: {error}") from None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the table, whole or not at all."""
        write_whole(path, self.text().encode("utf-8"))

    def text(self) -> str:
        """The table as it stands in a file."""
        first, *rest = map(_escape, self._symbols)
        return "\n".join([first + _NOTE, *rest]) + "\n"

    @property
    def symbols(self) -> tuple[str, ...]:
        return tuple(self._symbols)

    def __len__(self) -> int:
        return len(self._symbols)

    def encode(self, symbols: Iterable[str], grow: bool = True) -> np.ndarray:
        """Ids, int32 [symbols]. An unknown symbol is appended to the table, or is <unk> without `grow`."""
        ids = self._ids
        if not grow:
            unknown = ids[UNK]
            return np.array([ids.get(symbol, unknown) for symbol in symbols], np.int32)
        return np.array([ids[symbol] if symbol in ids else self._append(symbol) for symbol in symbols], np.int32)

    def decode(self, ids: Iterable[int]) -> list[str]:
        return [self._symbols[self._known(int(index))] for index in ids]

    def extends(self, other: TokenTable) -> bool:
        """Whether every id of `other` means the same here: ids made with `other` can be read with this table."""
        return self._symbols[: len(other)] == other._symbols

    def _append(self, symbol: str) -> int:
        if not symbol:
            raise TextError("found an empty symbol, expected at least one character")
        self._symbols.append(symbol)
        self._ids[symbol] = len(self._symbols) - 1
        return self._ids[symbol]

    def _known(self, index: int) -> int:
        if not 0 <= index < len(self._symbols):
            raise TextError(
                f"token id {index} is not in the table of {len(self)} symbols: load the table the ids were made with"
            )
        return index


def _escape(symbol: str) -> str:
    return "".join(map(_escape_char, symbol))


def _escape_char(char: str) -> str:
    if char != "\\" and unicodedata.category(char)[0] in "LNPS":
        return char
    return f"\\u{ord(char):04x}" if ord(char) < 0x10000 else f"\\U{ord(char):08x}"


_ESCAPED = re.compile(r"\\(?:u([0-9a-f]{4})|U(0[0-9a-f]{7}|10[0-9a-f]{4}))|(\\)")


def _unescape(match: re.Match[str]) -> str:
    if match[3]:
        escape = match.string[match.start() :][:10]
        raise TextError(f"found {escape} in the token table, expected \\uXXXX or \\UXXXXXXXX after the backslash")
    return chr(int(match[1] or match[2], 16))


def _parse(text: str) -> list[str]:
    lines = text.split("\n")
    if lines.pop():
        raise TextError("the last line of a token table has no line end: the file was cut off")
    symbols = [_ESCAPED.sub(_unescape, line.rstrip("\r").partition("\t")[0]) for line in lines]
    if "" in symbols:
        raise TextError(f"line {symbols.index('') + 1} of the token table is empty: every line is a symbol")
    return symbols
