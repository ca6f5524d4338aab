"""Where a skipped passage begins, if that can be told in several ways: at a boundary.

In 'storm in May. (A lamp burnt in May.) Clara rode' the words in brackets were skipped, or 'in May. A lamp burnt' were:
both fit what was heard. The one that begins where a sentence or a slice begins is meant.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

Pair = tuple[int, int]  # a heard word and its place in the text

_FURTHEST = 12  # words


def slide(pairs: list[Pair], heard: Sequence[str], text: Sequence[str], ends: Collection[int]) -> list[Pair]:
    """The pairs with the passages that are only in the text begun after one of `ends`, as far as the words allow."""
    pairs = list(pairs)
    for n in range(len(pairs) - 1):
        (at, place), (after, beyond) = pairs[n], pairs[n + 1]
        if after == at + 1 and beyond > place + 1 and place not in ends:
            shift = _shift(pairs, n, heard, text, ends)
            for step in range(shift):  # to the right
                pairs[n + 1 + step] = (after + step, place + 1 + step)
            for step in range(-shift):  # to the left
                pairs[n - step] = (at - step, beyond - 1 - step)
    return pairs


def slide_heard(pairs: list[Pair], heard: Sequence[str], text: Sequence[str], ends: Collection[int]) -> list[Pair]:
    """The same for passages that are only in what was heard."""
    turned = slide([(place, at) for at, place in pairs], text, heard, ends)
    return [(at, place) for place, at in turned]


def _shift(pairs: list[Pair], n: int, heard: Sequence[str], text: Sequence[str], ends: Collection[int]) -> int:
    """How far to move the passage between pairs n and n + 1: the nearest boundary; 0 if there is none."""
    (at, place), (after, beyond) = pairs[n], pairs[n + 1]
    for step in range(_FURTHEST):
        if n - step < 0 or pairs[n - step] != (at - step, place - step) or heard[at - step] != text[beyond - 1 - step]:
            break
        if place - step - 1 in ends:
            return -(step + 1)
    for step in range(_FURTHEST):
        m = n + 1 + step
        if (
            m >= len(pairs)
            or pairs[m] != (after + step, beyond + step)
            or heard[after + step] != text[place + 1 + step]
        ):
            break
        if place + 1 + step in ends:
            return step + 1
    return 0
