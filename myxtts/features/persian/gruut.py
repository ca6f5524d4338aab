"""A second opinion on the ezafe: the part-of-speech CRF of the package gruut-lang-fa, where it is installed.

Its file is text as the program Wapiti writes it: patterns, 23 tags (Ne is a noun with ezafe), 590,000 observations and
their weights, 69 MB in all. An observation that begins with 'u' has a weight for each tag, one with '*' also one for
each pair of tags. Weights below 0.1 are left out. Reading takes two seconds, so what is needed of it (16 MB) is kept in
$XDG_CACHE_HOME/myxtts; deleting that means reading it again.
"""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import logging
import os
import re
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import xxhash
from numpy.typing import NDArray

from myxtts.files import whole_file

PACKAGE = "gruut-lang-fa"

_log = logging.getLogger(__name__)
_LEAST_WEIGHT = 0.1
_WEIGHT = re.compile(rb"(\d+)=(-?0x1(?:\.[0-9a-f]+)?p(?:-[1-4]|\+\d+))\n")  # of 1/16 and more; the others are noise
_PUNCTUATION, _DIGIT = re.compile(r"[!-/:-@\[-`{-~]"), re.compile(r"\d", re.ASCII)
# The word in five roles: itself, before, two before, after, two after.
_ROLES = (b"u:w=", b"u:wl=", b"u:wll=", b"u:wr=", b"u:wrr=")
_TESTS = (
    b"p?l",
    b"n?l",
    b"p?",
    b"n?",
    b"p?r",
    b"n?r",
    b"p?a",
    b"n?a",
)  # has marks, digits: before, itself, after, only
_LEAST, _STEPS_BETWEEN_SCALING = 1e-4, 4  # four steps shrink a number by 1e-32 at worst, and float32 ends at 1e-38
# Both taggers are asked: what they share must not count twice. Of the values tried on GE2PE's Kasre sentences (0 to
# -1.5 in halves) -1 gave 11.2 % of words wrong, 0 gave 12.3 %.
_SHARED_OPINION = -1.0
_OUTSIDE = ("_x-2", "_x-1", "_x+1", "_x+2")

Floats = NDArray[np.float32]
Arrays = dict[str, NDArray[np.generic]]


def version() -> str | None:
    """The version of the package, None if it is not installed."""
    try:
        return importlib.metadata.version(PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        return None


class GruutTagger:
    """How likely each word carries the ezafe, in log odds."""

    def __init__(self, arrays: Arrays):
        self._hashes = arrays["hashes"]  # uint64 [observations], ascending
        self._ends = arrays["ends"]  # where the weights of each begin, and end
        self._tags, self._weights = arrays["tags"], arrays["weights"].astype(np.float32)
        self._pairs = arrays["pairs"].astype(np.float32)  # [observations with pairs, tags + tags * tags]
        self._pair_rows = dict(zip(arrays["pair_hashes"].tolist(), range(len(self._pairs)), strict=True))
        with_ezafe = arrays["with_ezafe"].astype(np.float32)
        self._count, self._split = len(with_ezafe), np.stack([1 - with_ezafe, with_ezafe], 1)
        self._word = functools.lru_cache(maxsize=8192)(self._make_word)
        self._edge = functools.lru_cache(maxsize=8192)(self._make_edge)

    @classmethod
    def load(cls) -> GruutTagger:
        kept = _kept_at()
        try:
            with np.load(kept, allow_pickle=False) as arrays:
                return cls(dict(arrays))
        except (OSError, ValueError, KeyError, zipfile.BadZipFile):  # not there yet, or damaged
            arrays = _parse(_model_file().read_bytes())
        try:
            _keep(kept, arrays)
        except OSError as error:
            _log.info("cannot keep %s (%s): it is made again each time", kept, error.strerror)
        return cls(arrays)

    def scores(self, words: Sequence[str]) -> list[float]:
        """Log odds of an ezafe on each word, from all ways to tag the sentence, less what taggers share."""
        around = [self._word(word) for word in (*_OUTSIDE[:2], *words, *_OUTSIDE[2:])]
        roles = np.array([roles for roles, _ in around])  # [words + 4, roles, tags]
        flags = [flags for _, flags in around]
        edges = [self._edge(word, flags[at + 1], flags[at + 3]) for at, word in enumerate(words)]
        single = np.array([single for single, _ in edges])
        single += roles[2:-2, 0] + roles[3:-1, 3] + roles[1:-3, 1] + roles[4:, 4] + roles[:-4, 2]
        single = np.maximum(np.exp(single - single.max(1, keepdims=True)), _LEAST)
        steps = np.array([steps for _, steps in edges]) * single[:, None, :]
        tags = _marginals(single[0], steps) @ self._split
        logs = np.log(np.maximum(tags, 1e-9))
        return (logs[:, 1] - logs[:, 0] + _SHARED_OPINION).tolist()

    def _make_word(self, word: str) -> tuple[Floats, tuple[bool, bool]]:
        """Weights in each role [roles, tags]; whether the word has marks, digits."""
        encoded = word.encode()
        roles = np.stack([self._single(role + encoded) for role in _ROLES])
        return roles, (bool(_PUNCTUATION.search(word)), bool(_DIGIT.search(word)))

    def _make_edge(self, word: str, before: tuple[bool, bool], after: tuple[bool, bool]) -> tuple[Floats, Floats]:
        """What beginning, end and kind of a word, and the kinds beside it, weigh: [tags], and exponentials of pairs."""
        encoded, names = word.encode(), [b"*"]
        for length in (1, 2, 3):  # bytes, not letters, in this model
            names += [b"*:p%d=" % length + encoded[:length], b"*:s%d=" % length + encoded[-length:]]
        whole = not _PUNCTUATION.sub("", word), not _DIGIT.sub("", word)
        values = before + self._word(word)[1] + after + whole
        names += [
            b"*:%s=%s" % (name, b"true" if value else b"false") for name, value in zip(_TESTS, values, strict=True)
        ]
        rows = [self._pair_rows.get(xxhash.xxh3_64_intdigest(name)) for name in names]
        weights = self._pairs[[row for row in rows if row is not None]].sum(0)
        pairs = weights[self._count :].reshape(self._count, self._count)
        return weights[: self._count], np.maximum(np.exp(pairs - pairs.max()), _LEAST)

    def _single(self, name: bytes) -> Floats:
        weights = np.zeros(self._count, np.float32)
        hashed = np.uint64(xxhash.xxh3_64_intdigest(name))
        at = int(np.searchsorted(self._hashes, hashed))
        if at < len(self._hashes) and self._hashes[at] == hashed:
            mine = slice(int(self._ends[at]), int(self._ends[at + 1]))
            weights[self._tags[mine]] = self._weights[mine]
        return weights


def _marginals(first: Floats, steps: Floats) -> Floats:
    """The probability of each tag [words, tags]; `steps[t]` leads from word t-1 to word t, `first` into word 0."""
    forward = np.empty((len(steps), len(first)), np.float32)
    backward = np.ones_like(forward)
    forward[0] = first
    for at in range(1, len(steps)):
        np.dot(forward[at - 1], steps[at], out=forward[at])
        if at % _STEPS_BETWEEN_SCALING == 0:
            forward[at] /= forward[at].max()
    for at in range(len(steps) - 1, 0, -1):
        np.dot(steps[at], backward[at], out=backward[at - 1])
        if at % _STEPS_BETWEEN_SCALING == 0:
            backward[at - 1] /= backward[at - 1].max()
    forward *= backward
    return forward / forward.sum(1, keepdims=True)


# ---- Wapiti's file ---------------------------------------------------------------------------------------------------


def _model_file() -> Path:
    spec = importlib.util.find_spec("gruut_lang_fa")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "pos" / "postagger.model"


def _parse(content: bytes) -> Arrays:
    """The arrays of `GruutTagger`, from the three parts of the file: tags, observations, weights."""
    _, tag_lines, rest = content.split(b"#qrk#")
    tags = [line.partition(b":")[2].rstrip(b",") for line in tag_lines.split(b"\n")[1:] if line]
    count, _, rest = rest.partition(b"\n")
    rest, _, weight_lines = rest.partition(b",\n0=")
    names = [line.partition(b":")[2] for line in rest.split(b",\n")]
    if len(names) != int(count):
        raise ValueError(f"the tagger of {PACKAGE} lists {count.decode()} observations and has {len(names)}")
    pairs = _WEIGHT.findall(b"0=" + weight_lines)
    at = np.array([place for place, _ in pairs]).astype(np.int64)
    weights = np.array([float.fromhex(weight.decode()) for _, weight in pairs], np.float32)
    heavy = np.abs(weights) >= _LEAST_WEIGHT
    return _arrange(names, tags, at[heavy], weights[heavy])


def _arrange(names: list[bytes], tags: list[bytes], at: NDArray[np.int64], weights: Floats) -> Arrays:
    n_tags = len(tags)
    hashes = np.array([xxhash.xxh3_64_intdigest(name) for name in names], np.uint64)
    paired = np.array([name[:1] == b"*" for name in names])
    first = np.concatenate([[0], np.cumsum(np.where(paired, n_tags + n_tags**2, n_tags))])
    owner = np.searchsorted(first, at, "right") - 1
    inside = at - first[owner]
    pair_rows = np.cumsum(paired) - 1
    pairs = np.zeros((int(paired.sum()), n_tags + n_tags**2), np.float16)
    mine = paired[owner]
    pairs[pair_rows[owner[mine]], inside[mine]] = weights[mine]
    order = np.argsort(hashes[owner[~mine]], kind="stable")
    sorted_hashes, starts = np.unique(hashes[owner[~mine]][order], return_index=True)
    return {
        "hashes": sorted_hashes,
        "ends": np.append(starts, len(order)).astype(np.int32),
        "tags": inside[~mine][order].astype(np.uint8),
        "weights": weights[~mine][order].astype(np.float16),
        "pairs": pairs,
        "pair_hashes": hashes[paired],
        "with_ezafe": np.array([tag.endswith(b"e") for tag in tags]),
    }


def _kept_at() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "myxtts" / f"{PACKAGE}-{version()}.npz"


def _keep(path: Path, arrays: Arrays) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path, durable=False) as file:
        np.savez(file, allow_pickle=False, **arrays)
