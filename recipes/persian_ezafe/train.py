"""Train the ezafe tagger that ships with MyXTTS:  python recipes/persian_ezafe/train.py updt-with-diacritics.txt

Prints its F1 on every seventh sentence, held out; then trains on all and writes myxtts/features/persian/ezafe.npz.
Four minutes on two cores. `python benchmarks/persian.py` then says what it is worth on another text.
"""

from __future__ import annotations

import argparse
import os
from collections import Counter
from pathlib import Path

import numpy as np
from corpus import UNKNOWN, Sentence, read_sentences
from crf import train
from scipy.sparse import csr_matrix

from myxtts.features.persian import ezafe

OUT = Path(ezafe.__file__).with_name(ezafe.MODEL)
PENALTY, STEPS, LEAST_SEEN = 1.5, 60, 2
UNIT = 1 / 32  # of a stored weight: int8 then holds -4 to 4


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--no-held-out", action="store_true", help="train on all at once")
    arguments = parser.parse_args()
    sentences = [_divided(*sentence) for sentence in read_sentences(arguments.corpus)]
    counts = Counter(label for _, labels in sentences for label in labels)
    print(f"{len(sentences)} sentences; ezafe {counts[1]}, none {counts[0]}, unknown {counts[UNKNOWN]}")
    if not arguments.no_held_out:
        held_out = sentences[::7]
        tagger = _train([sentence for n, sentence in enumerate(sentences) if n % 7])
        print("held out: precision {:.3f}, recall {:.3f}, F1 {:.3f}".format(*_score(tagger, held_out)))
    _save(arguments.out, *_weights(sentences))
    print(f"{arguments.out}: {arguments.out.stat().st_size:,} bytes")


def _divided(words: list[str], labels: list[int]) -> Sentence:
    parts, ends = ezafe.divide(words)
    all_labels = [0] * len(parts)
    for end, label in zip(ends, labels, strict=True):
        all_labels[end] = label
    return parts, all_labels


def _weights(sentences: list[Sentence]) -> tuple[np.ndarray, np.ndarray]:
    """Weights int8 [slots], transitions [2, 2]."""
    slots = [slots for words, _ in sentences for slots in ezafe.features(words)]
    counts = np.bincount(np.concatenate(slots), minlength=ezafe.TABLE_SLOTS)
    column = np.where(counts >= LEAST_SEEN, np.cumsum(counts >= LEAST_SEEN) - 1, -1)
    rows = [column[each][column[each] >= 0] for each in map(np.array, slots)]
    ends = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    joined = np.concatenate(rows)
    matrix = csr_matrix((np.ones(len(joined)), joined, ends), shape=(len(rows), column.max() + 1))
    known = np.array([label for _, labels in sentences for label in labels])
    learnt, transitions = train(matrix, [len(words) for words, _ in sentences], known, PENALTY, STEPS)
    weights = np.zeros(ezafe.TABLE_SLOTS, np.int8)
    weights[counts >= LEAST_SEEN] = np.clip(np.round(learnt / UNIT), -127, 127)
    return weights, transitions


def _train(sentences: list[Sentence]) -> ezafe.EzafeTagger:
    weights, transitions = _weights(sentences)
    return ezafe.EzafeTagger(weights, UNIT, transitions)


def _score(tagger: ezafe.EzafeTagger, sentences: list[Sentence]) -> tuple[float, float, float]:
    pairs = Counter(
        pair
        for words, labels in sentences
        for pair in zip(tagger.tag(words), labels, strict=True)
        if pair[1] != UNKNOWN
    )
    precision = pairs[True, 1] / (pairs[True, 1] + pairs[True, 0])
    recall = pairs[True, 1] / (pairs[True, 1] + pairs[False, 1])
    return precision, recall, 2 * precision * recall / (precision + recall)


def _save(path: Path, weights: np.ndarray, transitions: np.ndarray) -> None:
    beside = path.with_suffix(".tmp.npz")
    np.savez_compressed(beside, weights=weights, unit=np.float32(UNIT), transitions=transitions.astype(np.float32))
    os.replace(beside, path)


if __name__ == "__main__":
    main()
