"""Persian as it is read:  python benchmarks/persian.py [FILE.csv ...]

Prints for each file the share of words whose phonemes are wrong, and precision, recall and F1 of the ezafe; then the
same without our ezafe and words, which is eSpeak alone; and what a sentence costs. A file has a line per sentence:
the text, a comma, and its phonemes as GE2PE writes them ('/' is a, 'a' is ɑ, '@' ʔ, '$' ʃ, ';' ʒ; '1' and '2' are
remarks). Without a file: its 257 Kasre sentences, which have been chosen for their hard ezafe.

Not compared are stress, the length of vowels, ʔ and doubled consonants: the two notations differ in them by habit. A
word is right if it is in the right order among the others; two words may be written as one, and one as two. Whether a
word has an ezafe is read from its phonemes: a word that does not end in ه, and sounds as if it ended in -e, has one.
"""

from __future__ import annotations

import argparse
import csv
import re
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from myxtts.features import espeak
from myxtts.features.letters import clean, fold
from myxtts.features.normalise import normalise
from myxtts.features.persian import reading
from myxtts.features.phonemes import phonemise

KASRE = Path(__file__).with_name("data") / "persian_kasre.csv"
_MOST_JOINED = 4  # words that may be written as one
_FROM_IPA = [
    ("tʃ", "c"),
    ("dʒ", "J"),
    ("j", "y"),
    ("J", "j"),
    ("ɑ", "A"),
    ("ʃ", "S"),
    ("ʒ", "Z"),
    ("ɡ", "g"),
    ("ɢ", "q"),
]
_FROM_GE2PE = [("a", "A"), ("/", "a"), ("$", "S"), (";", "Z")]
_NOT_COMPARED = re.compile("[ˈˌːʔ@12.,;:!?]")

Sentence = tuple[str, list[str]]  # text, phonemes of its words


def main() -> None:
    parser = argparse.ArgumentParser(description="words wrong and ezafe F1 on Persian sentences with known phonemes")
    parser.add_argument("files", type=Path, nargs="*", default=[KASRE])
    print(f"ezafe by: {reading.tagger_name()}")
    for file in parser.parse_args().files:
        sentences = read_sentences(file)
        print(f"{file.stem}: {len(sentences)} sentences, {sum(len(words) for _, words in sentences)} words")
        for name, speak in (("this front end", phonemise), ("eSpeak alone", espeak_alone)):
            print(f"  {name}: {score(sentences, speak)}")
    print(f"more than eSpeak alone: {cost_ms(sentences):.2f} ms a sentence (processor time, second pass)")


def read_sentences(path: Path) -> list[Sentence]:
    """A bar in a text is a pause of its speaker."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = [row[:2] for row in csv.reader(file)][1:]
    plain = [fold(normalise(clean(text.replace("|", " ")), "fa"), "fa") for text, _ in rows]
    return [(text, said.split()) for text, (_, said) in zip(plain, rows, strict=True)]


def espeak_alone(texts: list[str], language: str) -> list[str]:
    return [espeak.speak_all({(language, text)})[language, text] for text in texts]


class Score(NamedTuple):
    words_wrong: float
    ezafe_precision: float
    ezafe_recall: float
    ezafe_f1: float

    def __str__(self) -> str:
        return "words wrong {:.1%}; ezafe precision {:.1%}, recall {:.1%}, F1 {:.1%}".format(*self)


def score(sentences: list[Sentence], speak: Callable[[list[str], str], list[str]]) -> Score:
    wrong, words = 0, 0
    ezafe: Counter[tuple[bool, bool]] = Counter()
    for (text, said), ipa in zip(sentences, speak([text for text, _ in sentences], "fa"), strict=True):
        truth, heard = [_plain(word, _FROM_GE2PE) for word in said], [_plain(word, _FROM_IPA) for word in ipa.split()]
        wrong += len(truth) - count_right(truth, [word for word in heard if word])
        words += len(truth)
        ezafe.update(_compare_ezafe(text.split(), truth, heard))
    precision = ezafe[True, True] / max(ezafe[True, True] + ezafe[True, False], 1)
    recall = ezafe[True, True] / max(ezafe[True, True] + ezafe[False, True], 1)
    return Score(wrong / words, precision, recall, 2 * precision * recall / max(precision + recall, 1e-9))


def _plain(word: str, replacements: list[tuple[str, str]]) -> str:
    for old, new in replacements:
        word = word.replace(old, new)
    return re.sub(r"(.)\1", r"\1", _NOT_COMPARED.sub("", word))


def count_right(truth: list[str], heard: list[str]) -> int:
    """The most words of the truth that are found, in order, among those heard."""
    best = [[0] * (len(heard) + 1) for _ in range(len(truth) + 1)]
    for t in range(len(truth) - 1, -1, -1):
        for h in range(len(heard) - 1, -1, -1):
            same = [
                n + best[t + n][h + m]
                for n in range(1, min(_MOST_JOINED, len(truth) - t) + 1)
                for m in range(1, min(_MOST_JOINED, len(heard) - h) + 1)
                if "".join(truth[t : t + n]) == "".join(heard[h : h + m])
            ]
            best[t][h] = max([best[t + 1][h], best[t][h + 1], *same])
    return best[0][0]


# ---- ezafe -----------------------------------------------------------------------------------------------------------


def _compare_ezafe(text: list[str], truth: list[str], heard: list[str]) -> list[tuple[bool, bool]]:
    """(heard, true) for each word of the text, if eSpeak gave as many words as the text has."""
    if len(text) != len(heard):
        return []
    said = _said_for(heard, truth)
    return [
        (_has_ezafe(word, mine), _has_ezafe(word, true)) for word, mine, true in zip(text, heard, said, strict=True)
    ]


def _has_ezafe(word: str, sounds: str) -> bool:
    return sounds.endswith(("eye", "he") if word.endswith("ه") else "e") and sounds != "he"


def _said_for(heard: list[str], truth: list[str]) -> list[str]:
    """For each word heard those of the truth that lie beside it in the cheapest alignment, as one string."""
    best: dict[tuple[int, int], tuple[float, tuple[int, int]]] = {(0, 0): (0.0, (0, 0))}
    for h, word in enumerate(heard):
        for t in range(len(truth) + 1):
            if (h, t) in best:
                for n in range(min(_MOST_JOINED, len(truth) - t) + 1):
                    price = best[h, t][0] + _distance("".join(truth[t : t + n]), word) + 0.1 * abs(n - 1)
                    if price < best.get((h + 1, t + n), (1e9, (0, 0)))[0]:
                        best[h + 1, t + n] = price, (h, t)
    at, said = min((at for at in best if at[0] == len(heard)), key=lambda at: best[at][0] + len(truth) - at[1]), []
    while at[0]:
        before = best[at][1]
        said.append("".join(truth[before[1] : at[1]]))
        at = before
    return said[::-1]


def _distance(one: str, other: str) -> int:
    """Letters to change, add or take away."""
    row = list(range(len(other) + 1))
    for n, a in enumerate(one, 1):
        last, row[0] = row[0], n
        for m, b in enumerate(other, 1):
            last, row[m] = row[m], min(row[m] + 1, row[m - 1] + 1, last + (a != b))
    return row[-1]


def cost_ms(sentences: list[Sentence]) -> float:
    texts = [text for text, _ in sentences]
    phonemise(texts, "fa")
    started = time.process_time()
    phonemise(texts, "fa")
    ours = time.process_time() - started
    started = time.process_time()
    espeak.speak_all({("fa", text) for text in texts})
    return (ours - (time.process_time() - started)) / len(texts) * 1000


if __name__ == "__main__":
    main()
