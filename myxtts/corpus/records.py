"""Rows of a real CSV file, where a cell between quotes may go on over several lines."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator

_MOST_LINES = 100  # of one row: a quote that is open for longer is one that was forgotten


def join_rows(
    lines: Iterable[str], is_whole: Callable[[str], bool], is_usable: Callable[[str], bool]
) -> Iterator[tuple[int, str]]:
    """(number of its first line, row) of each row; a line break inside a cell becomes a space.

    A quote that nobody closes costs its own line and not those that follow it: lines are only joined if they are whole
    together, and if none of those that would vanish into the cell is usable by itself.
    """
    numbered, ahead = enumerate(lines, start=1), deque[tuple[int, str]]()
    while True:
        if not ahead:
            ahead.extend(itertools.islice(numbered, 1))
        if not ahead:
            return
        row, line = ahead.popleft()
        if line.count('"') % 2 and not is_whole(line):
            following = _lines_to_the_next_quote(ahead, numbered)
            joined = " ".join([line, *following])
            if following and is_whole(joined) and not any(map(is_usable, following)):
                line = joined
                for _ in following:
                    ahead.popleft()
        yield row, line


def _lines_to_the_next_quote(ahead: deque[tuple[int, str]], numbered: Iterator[tuple[int, str]]) -> list[str]:
    """Up to the line in which the open cell would end; [] if it is too far. What is read stays in `ahead`."""
    for length in range(1, _MOST_LINES):
        if len(ahead) < length:
            ahead.extend(itertools.islice(numbered, 1))
        if len(ahead) < length:
            return []
        if ahead[length - 1][1].count('"') % 2:
            return [line for _, line in itertools.islice(ahead, length)]
    return []
