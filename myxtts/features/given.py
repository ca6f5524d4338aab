"""Phonemes that the user has given, among those that eSpeak makes of the words around them.

eSpeak must see the whole clause: before a gap the article in 'a GIF' would be the letter A. So it speaks the clause as
it is written, and the word alone; what it says for the word is found in the clause and replaced. Where it is not found,
for eSpeak may join words, the clause is spoken in parts.
"""

from __future__ import annotations

import itertools
from collections.abc import Set

Piece = tuple[str, str]  # (language, words) or ("", a mark or a space)
_SPACE = ("", " ")
_NO_STRESS = str.maketrans("", "", "ˈˌ")


def clauses(plan: list[Piece], given: Set[Piece]) -> dict[tuple[int, int], Piece]:
    """Where in a plan a given word stands among others, and the whole of it as one piece."""
    runs = itertools.groupby(range(len(plan)), lambda at: plan[at] == _SPACE or plan[at][0] != "")
    spans = [list(places) for words, places in runs if words]
    marks = {}
    for places in spans:
        pieces = [plan[at] for at in places if plan[at] != _SPACE]
        if len(pieces) > 1 and not given.isdisjoint(pieces) and len({language for language, _ in pieces}) == 1:
            text = "".join(plan[at][1] for at in places)
            marks[places[0], places[-1] + 1] = (pieces[0][0], " ".join(text.split()))
    return marks


def merge(plan: list[Piece], spoken: dict[Piece, str], given: dict[Piece, str]) -> list[str]:
    """The phonemes of each piece; those of a clause with given words are all in its first word."""
    heard = spoken | given
    out = [heard[piece] if piece[0] else piece[1] for piece in plan]
    for (start, end), whole in clauses(plan, given.keys() & spoken.keys()).items():
        wanted = [piece for piece in plan[start:end] if piece in given]
        known = whole in spoken and spoken.keys() >= set(wanted)
        ipa = _replace(spoken[whole].split(), [(spoken[piece], given[piece]) for piece in wanted]) if known else ""
        if ipa:
            first, *others = [at for at in range(start, end) if plan[at][0]]
            out[first : others[-1] + 1] = [ipa, *[""] * (others[-1] - first)]
    return out


def _replace(words: list[str], replacements: list[tuple[str, str]]) -> str:
    """The words with what is to be replaced, found in this order; '' if some of it is not found."""
    plain, start = [word.translate(_NO_STRESS) for word in words], 0
    for old, new in replacements:
        sought = old.translate(_NO_STRESS).split()
        places = [at for at in range(start, len(plain) - len(sought) + 1) if plain[at : at + len(sought)] == sought]
        if not places or not sought:
            return ""
        at = places[0]
        words[at : at + len(sought)], plain[at : at + len(sought)] = [new], [new]
        start = at + 1
    return " ".join(words)
