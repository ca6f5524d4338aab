"""What is written in Chinese becomes what Kokoro reads: sounds and tones, by the readings of the package pypinyin."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path

from myxtts.errors import CorpusError
from recipes.many_voices.packages import Package, fetch

PACKAGE = Package("pip", "pypinyin", "0.55.0")  # MIT; its tables are read, nothing is run
_LONGEST_WORD = 8
_INITIALS = {
    "zh": "ꭧ", "ch": "ꭧʰ", "sh": "ʂ", "b": "p", "p": "pʰ", "m": "m", "f": "f", "d": "t", "t": "tʰ", "n": "n", "l": "l",
    "g": "k", "k": "kʰ", "h": "x", "j": "ʨ", "q": "ʨʰ", "x": "ɕ", "r": "ɻ", "z": "ʦ", "c": "ʦʰ", "s": "s", "": "",
}  # fmt: skip
# The tone comes after the vowel, where the dot is.
_FINALS = {
    "a": "a.", "ai": "ai.", "an": "a.n", "ang": "a.ŋ", "ao": "au.", "e": "ɤ.", "ei": "ei.", "en": "ə.n", "eng": "ə.ŋ",
    "er": "ɚ.", "i": "i.", "ia": "ja.", "ian": "jɛ.n", "iang": "ja.ŋ", "iao": "jau.", "ie": "je.", "in": "i.n",
    "ing": "i.ŋ", "io": "jɔ.", "iong": "jʊ.ŋ", "iou": "jou.", "o": "wo.", "ong": "ʊ.ŋ", "ou": "ou.", "u": "u.",
    "ua": "wa.", "uai": "wai.", "uan": "wa.n", "uang": "wa.ŋ", "uei": "wei.", "uen": "wə.n", "ueng": "wə.ŋ",
    "uo": "wo.", "ü": "y.", "üan": "ɥɛ.n", "üe": "ɥe.", "ün": "y.n",
}  # fmt: skip
_BUZZED = {"zh": "ɨ.", "ch": "ɨ.", "sh": "ɨ.", "r": "ɨ.", "z": "ɨ.", "c": "ɨ.", "s": "ɨ."}  # their i
_SHORT = {"iu": "iou", "ui": "uei", "un": "uen"}  # after a consonant pinyin leaves the middle vowel out
_TONES = {"\u0304": "→", "\u0301": "↗", "\u030c": "↓", "\u0300": "↘"}
_MARKS = {"，": ",", "。": ".", "！": "!", "？": "?", "；": ";", "：": ":"}


class Readings:
    """How words and characters are read."""

    def __init__(self, packages: Path):
        folder = fetch(PACKAGE, packages) / "pypinyin"
        words = json.loads((folder / "phrases_dict.json").read_text(encoding="utf-8"))
        self._words = {word: [reading[0] for reading in readings] for word, readings in words.items()}
        characters = json.loads((folder / "pinyin_dict.json").read_text(encoding="utf-8"))
        self._words |= {chr(int(code)): [readings.split(",")[0]] for code, readings in characters.items()}

    def symbols_of(self, text: str) -> str:
        """The symbols to speak a text by, with a space between words."""
        words = [_MARKS.get(word) or "".join(map(symbols_of_syllable, self._words[word])) for word in self._split(text)]
        return re.sub(r" (?=[,.!?;:])", "", " ".join(words))

    def _split(self, text: str) -> Iterator[str]:
        """The longest words that are known, from the left."""
        at = 0
        while at < len(text):
            ends = range(min(at + _LONGEST_WORD, len(text)), at, -1)
            word = next((text[at:end] for end in ends if text[at:end] in self._words or text[at:end] in _MARKS), None)
            if word is None:
                raise CorpusError(f"{text[at]!r} of {text!r} has no Chinese reading: found a sign of another script?")
            yield word
            at += len(word)


def symbols_of_syllable(pinyin: str) -> str:
    """`hǎo` is `xau↓`."""
    letters = unicodedata.normalize("NFD", pinyin)
    tone = next((_TONES[sign] for sign in letters if sign in _TONES), "")
    plain = unicodedata.normalize("NFC", "".join(sign for sign in letters if sign not in _TONES))
    initial, final = _parts(plain)
    final = _BUZZED[initial] if final == "i" and initial in _BUZZED else _FINALS[final]
    return _INITIALS[initial] + final.replace(".", tone)


def _parts(plain: str) -> tuple[str, str]:
    """Consonant and the rest, as they are said rather than written."""
    if plain.startswith("yu"):
        return "", "ü" + plain[2:] if plain != "yong" else "iong"
    if plain.startswith("y"):
        return "", {"i": "i", "in": "in", "ing": "ing"}.get(plain[1:], "i" + plain[1:])
    if plain.startswith("w"):
        return "", {"u": "u", "ei": "uei", "en": "uen"}.get(plain[1:], "u" + plain[1:])
    initial = next((sign for sign in _INITIALS if sign and plain.startswith(sign)), "")
    final = plain[len(initial) :]
    if initial in ("j", "q", "x") and final.startswith("u"):
        final = "ü" + final[1:]
    return initial, _SHORT.get(final, final) if initial else final
