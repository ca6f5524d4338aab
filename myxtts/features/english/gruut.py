"""What the package gruut-lang-en knows: the kind of each word of a sentence, 125,000 words, and a guess at others."""

from __future__ import annotations

import base64
import contextlib
import functools
import importlib.util
import sqlite3
import string
from collections.abc import Sequence
from pathlib import Path

from myxtts.errors import TextError
from myxtts.features.english.crfsuite import Attributes, Model

PACKAGE = "gruut-lang-en"

_NOTHING, _BETWEEN = "_", "|"  # a letter without a sound; between the sounds of one letter
_WORDS_AROUND, _LETTERS_AROUND = 2, 3
_WORDS_A_CALL = 60


def kinds(words: Sequence[str]) -> list[str]:
    """The part of speech of each word, by the names of the Penn Treebank (NN, VBD)."""
    tags = []
    for start in range(0, len(words), _WORDS_A_CALL):
        tags += _model("pos").tag(_describe(words[start : start + _WORDS_A_CALL]))
    return tags


def _describe(words: Sequence[str]) -> list[Attributes]:
    alone = [_of_word(word) for word in words]
    described: list[Attributes] = []
    for at in range(len(words)):
        seen = {"bias": 1.0, "BOS": float(at == 0), "EOS": float(at == len(words) - 1)} | alone[at]
        for away in (-2, -1, 1, 2):
            if 0 <= at + away < len(words):
                seen |= {f"{away:+}:{name}": value for name, value in (alone[at + away] | {"bias": 1.0}).items()}
        described.append(seen)
    return described


def _of_word(word: str) -> dict[str, float]:
    parts = {"word[:2]": word[:2], "word[:3]": word[:3], "word[-2:]": word[-2:], "word[-3:]": word[-3:]}
    return {
        f"word:{_encoded(word)}": 1.0,
        "len(word)": float(len(word)),
        "word.ispunctuation": float(all(char in string.punctuation for char in word)),
        "word.isdigit()": float(word.isdigit()),
    } | {f"{name}:{part}": 1.0 for name, part in parts.items()}


@functools.cache
def listed() -> dict[str, str]:
    """Words in small letters -> sounds, in the notation of the package. Reading them takes 0.2 s: only when needed."""
    path = _folder() / "lexicon.db"
    try:
        with contextlib.closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as base:
            rows = base.execute("SELECT word, phonemes FROM word_phonemes ORDER BY pron_order DESC").fetchall()
    except sqlite3.Error as error:
        raise TextError(f"cannot read {path}: {error}; install {PACKAGE} again") from None
    return {word: sounds.replace(" ", "") for word, sounds in rows}  # of several ways the first one


@functools.lru_cache(maxsize=16384)
def guess(word: str) -> str:
    """The sounds of a word in small letters, in the notation of the package."""
    sequence = []
    for at in range(len(word)):
        places = range(max(0, at - _LETTERS_AROUND), min(len(word), at + _LETTERS_AROUND + 1))
        seen = {f"grapheme{f'{n - at:+}' if n != at else ''}:{_encoded(word[n])}": 1.0 for n in places}
        sequence.append(seen | {"bias": 1.0, "begin": float(at == 0), "end": float(at == len(word) - 1)})
    labels = [base64.b64decode(label).decode() for label in _model("g2p").tag(sequence)]
    return "".join(label.replace(_BETWEEN, "") for label in labels if label != _NOTHING)


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@functools.cache
def _model(name: str) -> Model:
    return Model.load(_folder() / name / "model.crf")


def _folder() -> Path:
    spec = importlib.util.find_spec("gruut_lang_en")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent
