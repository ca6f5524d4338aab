"""Which words of a text each slice has, which words nobody read, and what was said that is not in the text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from myxtts.prepare.alignment import NOWHERE, align, likeness
from myxtts.prepare.script import Script
from myxtts.prepare.sliding import slide, slide_heard

PASSAGE = 3  # words in a row: fewer that are missing or too many are a recogniser's mistake
_FEW = 4  # words: "all of his" was heard of Olive's
_MISHEARD = 0.45  # likeness of a heard passage to a written one that it stands for


@dataclass
class Share:
    """The part of a text that a slice has: spoken words `first` to `last` but for `holes`, none if last < first."""

    first: int = 0
    last: int = -1
    extra: list[str] = field(default_factory=list)  # passages that are not in the text
    holes: list[tuple[int, int]] = field(default_factory=list)  # sentences inside it that nobody read
    unread: int = 0  # words inside it, in the middle of a sentence, that were not heard

    def __bool__(self) -> bool:
        return self.last >= self.first

    def text(self, script: Script) -> str:
        starts = [self.first, *(last + 1 for _, last in self.holes)]
        ends = [*(first - 1 for first, _ in self.holes), self.last]
        return script.space.join(script.text(first, last) for first, last in zip(starts, ends, strict=True))

    def take(self, first: int, last: int) -> None:
        self.first, self.last = (min(self.first, first), max(self.last, last)) if self else (first, last)


@dataclass(frozen=True)
class Allotment:
    """One share for each slice; `unread` are passages of the text (first and last spoken word) that nobody read."""

    shares: list[Share]
    unread: list[tuple[int, int]]
    known_share: float  # share of the heard words that are in the text


def allot(slices: Sequence[Sequence[str]], script: Script) -> Allotment:
    """`slices` are the heard words of each slice, in order, as `script.spoken` spells them."""
    heard = [word for words in slices for word in words]
    owner = [n for n, words in enumerate(slices) for _ in words]
    shares = [Share() for _ in slices]
    known = [(at, place) for at, place in enumerate(align(heard, script.spoken)) if place != NOWHERE]
    known = slide(known, heard, script.spoken, script.ends)
    last = {owner[at]: at for at in range(len(heard))}
    known = slide_heard(known, heard, script.spoken, frozenset(last.values()))
    for at, place in known:
        shares[owner[at]].take(place, place)
    unread: list[tuple[int, int]] = []
    for before, after in pairwise([(-1, -1), *known, (len(heard), len(script.spoken))]):
        unread += _Between(heard, owner, script, shares, before, after).share_out()
    return Allotment(shares, unread, len(known) / max(len(heard), 1))


class _Between:
    """What lies between two heard words that were found in the text: words heard, words written, or both."""

    def __init__(
        self,
        heard: list[str],
        owner: list[int],
        script: Script,
        shares: list[Share],
        before: tuple[int, int],
        after: tuple[int, int],
    ):
        self.heard, self.owner, self.script, self.shares = heard, owner, script, shares
        self.at = range(before[0] + 1, after[0])
        self.words = range(before[1] + 1, after[1])
        self.left = owner[before[0]] if before[0] >= 0 else None
        self.right = owner[after[0]] if after[0] < len(owner) else None

    def share_out(self) -> list[tuple[int, int]]:
        """The passages that nobody read."""
        if self.at and self.words and self._is_misheard():
            self._share_misheard()
            return []
        self._note_extra()
        return self._share_unheard()

    def _is_misheard(self) -> bool:
        """A few words in the place of a few others in the middle of a slice, or a passage that is like another."""
        if self.left is not None and self.left == self.right and max(len(self.at), len(self.words)) <= _FEW:
            return True
        heard = "".join(self.heard[at] for at in self.at)
        written = "".join(self.script.spoken[n] for n in self.words)
        if max(len(heard), len(written)) > 400:
            return False
        return likeness(heard, written) >= _MISHEARD

    def _share_misheard(self) -> None:
        """Each slice gets as much of the passage as it has of the letters that were heard."""
        total = sum(len(self.heard[at]) for at in self.at) or 1
        written = [len(self.script.spoken[n]) for n in self.words]
        slices = sorted({self.owner[at] for at in self.at})
        begin, so_far = 0, 0
        for one in slices:
            so_far += sum(len(self.heard[at]) for at in self.at if self.owner[at] == one)
            end = len(written) if one == slices[-1] else _nearest(written, so_far / total)
            if end > begin:
                self.shares[one].take(self.words[begin], self.words[end - 1])
            begin = end

    def _note_extra(self) -> None:
        for one in sorted({self.owner[at] for at in self.at}):
            words = [self.heard[at] for at in self.at if self.owner[at] == one]
            if len(words) >= PASSAGE or not self.shares[one]:
                self.shares[one].extra.append(" ".join(words))

    def _share_unheard(self) -> list[tuple[int, int]]:
        """Up to two words that the recogniser left out belong to the sentence they stand in; more were not read."""
        if not self.words:
            return []
        first, last = self.words[0], self.words[-1]
        if self.left is not None and self.left == self.right:
            return self._note_unread(self.shares[self.left], first, last) if len(self.words) >= PASSAGE else []
        ends = [n for n in self.words if n in self.script.ends]
        head = ends[0] - first + 1 if ends else len(self.words) if self.right is None else 0
        tail = last - ends[-1] if ends else len(self.words)
        if self.left is not None and 0 < head < PASSAGE and first - 1 not in self.script.ends:
            self.shares[self.left].take(first, first + head - 1)
            first += head
        if self.right is not None and 0 < tail < PASSAGE and last - tail + 1 >= first:
            self.shares[self.right].take(last - tail + 1, last)
            last -= tail
        return [(first, last)] if last >= first else []

    def _note_unread(self, share: Share, first: int, last: int) -> list[tuple[int, int]]:
        """Whole sentences can be left out of a row; a part of one may have been read and not heard."""
        if {first - 1, last} <= self.script.ends:
            share.holes.append((first, last))
        else:
            share.unread += len(self.words)
        return [(first, last)]


def _nearest(lengths: list[int], share: float) -> int:
    """How many words come nearest to a share of the letters."""
    wanted, so_far, best = share * sum(lengths), 0, (share * sum(lengths), 0)
    for n, length in enumerate(lengths, 1):
        so_far += length
        best = min(best, (abs(so_far - wanted), n))
    return best[1]
