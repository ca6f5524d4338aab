"""The vowelled sentences of the Uppsala Persian treebank, as words and what is known of their ezafe.

Several people wrote the vowel signs, and they differ: a consonant that ends a word has a kasra (ezafe) or a sukun
(none), but after ی and ه many left the ezafe out. So a label is 1, 0, or UNKNOWN, which the CRF sums over:
- a kasra, or a hamza over ه, at the end: 1
- a word in «های»: 1, for this ی is the ezafe
- ی or ه without a sign: 0 where the same sentence marks the ezafe after another such word, else unknown
- a final consonant without any sign: unknown
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path

from myxtts.features.letters import fold

UNKNOWN = -1
Sentence = tuple[list[str], list[int]]  # words and marks, labels

_SIGNS = "\u064b-\u0652\u0654\u0670"
_KASRA, _SUKUN, _HAMZA = "\u0650", "\u0652", "\u0654"
_TOKEN = re.compile(rf"[\w{_SIGNS}\u200c]+|[^\w\s]")
_SIGN = re.compile(f"[{_SIGNS}]")
_LETTERS = str.maketrans({"ۀ": "ه" + _HAMZA, "ة": "ه", "ـ": "", "\u200d": "", '"': " "})
_NEVER = ("به", "که", "چه", "نه", "ده", "شده", "کرده", "بوده")  # in ه, and without ezafe or nearly so
_SIGNS_PER_LETTER = 0.25  # below that a sentence was left unvowelled: 94 of 5,998


def read_sentences(path: Path) -> Iterator[Sentence]:
    for line in path.read_text(encoding="utf-8").splitlines():
        text = unicodedata.normalize("NFC", line).replace("«", " ").replace("»", " ").translate(_LETTERS)
        tokens = [token for token in _TOKEN.findall(fold(text, "fa")) if bare(token)]
        letters = sum(len(bare(token)) for token in tokens)
        if letters and sum(map(len, tokens)) - letters >= _SIGNS_PER_LETTER * letters:
            yield [bare(token) for token in tokens], _labels(tokens)


def bare(token: str) -> str:
    return _SIGN.sub("", token).strip("\u200c")


def _labels(tokens: list[str]) -> list[int]:
    marked = {_group(token) for token in tokens if _signs(token) & {_KASRA, _HAMZA}}
    return [_label(token, _group(token) in marked) for token in tokens]


def _label(token: str, marked: bool) -> int:
    word, signs = bare(token), _signs(token)
    if not word[-1].isalpha() or word in _NEVER or _SUKUN in signs:
        return 0
    if signs & {_KASRA, _HAMZA} or (word.endswith("های") and len(word) > 3):
        return 1
    group = _group(token)
    if group in ("ی", "ه"):
        return 0 if marked else UNKNOWN
    return 0 if word[-1] in "او" else UNKNOWN


def _group(token: str) -> str:
    """ی and ه by themselves; «ای» and «وی», which are marked by other habits, are of neither."""
    word = bare(token)
    return word[-1] if word[-1] in "یه" and not word.endswith(("ای", "وی")) else ""


def _signs(token: str) -> set[str]:
    """The signs on the last letter."""
    token = token.strip("\u200c")
    return set(token[len(token.rstrip("".join(chr(c) for c in range(0x64B, 0x671)))) :])
