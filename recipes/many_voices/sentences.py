"""What is said: an endless, fixed order of sentences for each language, from grammars written for this project.

The grammars of the demo corpus (`myxtts/corpus/sentences`) and those in `sentences/`, which add to them.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path

from myxtts.corpus.demo_sentences import Grammar, load_grammar, read_lists, write_sentences

FOLDER = Path(__file__).with_name("sentences")
SHORTEST, LONGEST = 8, 140  # characters; 'Buona notte!' is short, but people say such things


def sentences(language: str, seed: int) -> Iterator[str]:
    """The sentences of a language without an end; from the beginning, in another order, when all were said."""
    while True:
        for sentence in write_sentences(grammar_of(language), f"many/{language}/{seed}", SHORTEST, LONGEST):
            if sentence.spoken not in all_held_out():
                yield sentence.spoken
        seed += 1_000_000


def grammar_of(language: str) -> Grammar:
    family = language.split("-")[0]
    grammar = load_grammar(language)
    own = FOLDER / f"{family}.txt"
    if own.exists():
        read_lists(own.read_text(encoding="utf-8"), grammar)
    return grammar


@functools.cache
def held_out(family: str) -> tuple[str, ...]:
    """The sentences for judging."""
    grammar: Grammar = {}
    read_lists((FOLDER / "held_out.txt").read_text(encoding="utf-8"), grammar)
    return tuple(grammar[family])


@functools.cache
def all_held_out() -> frozenset[str]:
    return frozenset(held_out("en") + held_out("it"))
