"""Models of the program CRFsuite, read from their file: the likeliest labels of a sequence.

A file is a header, then the features (kind, from, to, weight: from an attribute to a label, or from a label to the
next), then the names of labels and attributes, each in a table of strings.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from myxtts.errors import TextError

Attributes = Mapping[str, float]  # what is seen at one place of a sequence, and how much of it

_HEADER = struct.Struct("<4sI4s9I")
_SECTION_BYTES = 12  # name, size, number of features
_FEATURE = np.dtype([("kind", "<u4"), ("from", "<u4"), ("to", "<u4"), ("weight", "<f8")])
_OF_ATTRIBUTE, _OF_LABEL = 0, 1


class Model:
    """Linear chains of labels."""

    def __init__(self, content: bytes):
        magic, _, kind, _, _, labels, attributes, at_features, at_labels, at_attributes, *_ = _HEADER.unpack_from(
            content
        )
        if (magic, kind) != (b"lCRF", b"FOMC"):
            raise TextError(f"found {magic + kind!r}, expected a model of CRFsuite (lCRFFOMC)")
        self.labels = [name for _, name in sorted(_names(content, at_labels))]
        self._numbers = {name: number for number, name in _names(content, at_attributes)}
        features = _features(content, at_features)
        self._state = _table(features[features["kind"] == _OF_ATTRIBUTE], attributes, labels)
        self._step = _table(features[features["kind"] == _OF_LABEL], labels, labels)

    @classmethod
    def load(cls, path: Path) -> Model:
        try:
            return cls(path.read_bytes())
        except (OSError, struct.error, IndexError, ValueError, TextError) as error:
            raise TextError(f"cannot read {path}: {error}; install its package again") from None

    def tag(self, sequence: Sequence[Attributes]) -> list[str]:
        """The likeliest label of each place."""
        if not sequence:
            return []
        best = self._score(sequence[0])
        back = []
        for attributes in sequence[1:]:
            ways = best[:, None] + self._step
            back.append(ways.argmax(0))
            best = ways.max(0) + self._score(attributes)
        path = [int(best.argmax())]
        for came_from in reversed(back):
            path.append(int(came_from[path[-1]]))
        return [self.labels[number] for number in reversed(path)]

    def _score(self, attributes: Attributes) -> NDArray[np.float32]:
        known = [(self._numbers[name], value) for name, value in attributes.items() if name in self._numbers]
        numbers, values = [number for number, _ in known], np.array([value for _, value in known], np.float32)
        score: NDArray[np.float32] = values @ self._state[numbers]
        return score


def _features(content: bytes, at: int) -> NDArray[np.void]:
    [count] = struct.unpack_from("<I", content, at + _SECTION_BYTES - 4)
    return np.frombuffer(content, _FEATURE, count, at + _SECTION_BYTES)


def _table(features: NDArray[np.void], rows: int, columns: int) -> NDArray[np.float32]:
    table = np.zeros((rows, columns), np.float32)
    table[features["from"], features["to"]] = features["weight"]
    return table


def _names(content: bytes, at: int) -> Iterable[tuple[int, str]]:
    """(number, name) of each string; the last part of a table lists where its strings are."""
    count, where = struct.unpack_from("<2I", content, at + 16)
    for place in struct.unpack_from(f"<{count}I", content, at + where):
        if place:
            number, size = struct.unpack_from("<2I", content, at + place)
            yield number, content[at + place + 8 : at + place + 8 + size - 1].decode()
