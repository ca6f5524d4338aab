"""Which utterances are for validation: decided by what is said, so that no sentence is on both sides.

A sentence is its letters and digits: case, accents, punctuation and spaces aside, because a sentence that was learnt
with a comma is not unseen without it. Its xxh3 is a number that depends on nothing else. Sentences whose number is
in the lowest 5 % are for validation; of a small corpus the lowest that make 8 utterances, of a large one the lowest
that make 200. So the order of a corpus does not matter, and an utterance that was trained on is not validated on later
when others are added.
"""

from __future__ import annotations

import logging
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import xxhash
from numpy.typing import NDArray

from myxtts.cache.reader import Cache
from myxtts.features.letters import clean

log = logging.getLogger(__name__)

SHARE = 0.05
FEWEST, MOST = 8, 200
_CHUNK_UTTERANCES = 1 << 14  # 12 MB of characters at a time
_CODE_POINTS = 0x110000


@dataclass(frozen=True)
class Split:
    """Per cache the rows of each side, ascending: what `Plan` takes as `utterances`. `note` says why there is none."""

    train: list[NDArray[np.int64]]
    validation: list[NDArray[np.int64]]
    note: str = ""


def split(caches: Cache | Sequence[Cache]) -> Split:
    """Split all utterances of the caches that are trained on together. A corpus too small for it is said once."""
    caches = [caches] if isinstance(caches, Cache) else list(caches)
    hashes = [text_hashes(cache) for cache in caches]
    chosen, note = choose(np.concatenate(hashes))
    if note:
        log.warning("no validation: %s", note)
    sides = np.split(chosen, np.cumsum([len(part) for part in hashes])[:-1])
    return Split([np.flatnonzero(~side) for side in sides], [np.flatnonzero(side) for side in sides], note)


def choose(hashes: NDArray[np.uint64]) -> tuple[NDArray[np.bool_], str]:
    """(mask of the utterances for validation, "") or (nothing chosen, the reason), from the hashes of their texts."""
    nobody = np.zeros(len(hashes), bool)
    if len(hashes) < 2 * FEWEST:
        counted = f"found {len(hashes)} utterances, expected at least {2 * FEWEST}"
        return nobody, f"{counted}; record more, or name others with --val-data"
    sentences, sentence, sizes = np.unique(hashes, return_inverse=True, return_counts=True)  # lowest hash first
    if len(sentences) == 1:
        return nobody, "all utterances say the same; name others with --val-data"
    taken = _take(sentences, sizes, most=min(MOST, len(hashes) // 2))
    if sizes[taken].sum() < FEWEST:
        return nobody, (
            f"{len(sentences)} different sentences for {len(hashes)} utterances cannot be parted so that {FEWEST} "
            "remain unseen; name others with --val-data"
        )
    return taken[sentence], ""


def _take(sentences: NDArray[np.uint64], sizes: NDArray[np.int64], most: int) -> NDArray[np.bool_]:
    """Mask of the sentences for validation: lowest first, whole, and without those that would be too many."""
    low = sentences < np.uint64(SHARE * 2.0**64)
    taken = np.zeros(len(sentences), bool)
    count = 0
    for at, size in enumerate(sizes):
        if count == most or (count >= FEWEST and not low[at]):
            break
        if count + size <= most:
            taken[at] = True
            count += int(size)
    return taken


# ---- the hash of a sentence, a million of them in a few seconds -----------------------------------------------------


def text_hashes(cache: Cache) -> NDArray[np.uint64]:
    """xxh3 of what each utterance says, uint64 [utterances]."""
    letters, parts = _Letters(), []
    for blob, ends in cache.texts():
        start = 0
        for first in range(0, len(ends), _CHUNK_UTTERANCES):
            chunk = ends[first : first + _CHUNK_UTTERANCES]
            parts.append(_hash_chunk(blob[start : chunk[-1]], chunk - start, letters))
            start = int(chunk[-1])
    return np.concatenate(parts) if parts else np.empty(0, np.uint64)


def hash_texts(texts: Sequence[str]) -> NDArray[np.uint64]:
    """The same for texts that are not in a cache."""
    encoded = [text.encode() for text in texts]
    ends = np.cumsum([len(text) for text in encoded], dtype=np.int64)
    return _hash_chunk(np.frombuffer(b"".join(encoded), np.uint8), ends, _Letters())


def _hash_chunk(blob: NDArray[np.uint8], ends: NDArray[np.int64], letters: _Letters) -> NDArray[np.uint64]:
    """`ends`: where each text ends in the UTF-8 bytes of all. Python runs once per text, only to hash its bytes."""
    codes = np.frombuffer(blob.tobytes().decode().encode("utf-32-le"), np.uint32).astype(np.intp)
    characters = np.cumsum((blob & 0xC0) != 0x80)  # bytes that begin a character, counted up to each byte
    kept, kept_ends = letters.of(codes)
    ends = np.append(0, kept_ends)[np.append(0, characters)[ends]]
    view = memoryview(kept.tobytes())
    bounds = (np.append(0, ends) * kept.itemsize).tolist()
    return np.array([xxhash.xxh3_64_intdigest(view[a:b]) for a, b in pairwise(bounds)], np.uint64)


class _Letters:
    """What each character contributes to a sentence: nothing, a letter or several. Worked out once per character."""

    def __init__(self) -> None:
        self._count = np.full(_CODE_POINTS, -1, np.int8)
        self._letters = np.zeros((_CODE_POINTS, 1), np.uint32)

    def of(self, codes: NDArray[np.intp]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """(the letters of all characters, where those of each character end)."""
        counts = self._count.take(codes)
        if (counts < 0).any():
            self._learn(np.unique(codes[counts < 0]).tolist())
            counts = self._count.take(codes)
        inside = np.arange(self._letters.shape[1]) < counts[:, None]
        return self._letters.take(codes, axis=0)[inside], np.cumsum(counts, dtype=np.int64)

    def _learn(self, codes: list[int]) -> None:
        for code in codes:
            letters = [ord(letter) for letter in _letters_of(chr(code))]
            if len(letters) > self._letters.shape[1]:  # most corpora never meet a character of two letters
                more = len(letters) - self._letters.shape[1]
                self._letters = np.pad(self._letters, ((0, 0), (0, more)))
            self._count[code] = len(letters)
            self._letters[code, : len(letters)] = letters


def _letters_of(char: str) -> str:
    spread = unicodedata.normalize("NFKD", clean(char)).casefold()
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKD", spread)))
