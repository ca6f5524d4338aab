"""A text becomes lines to speak: token ids of one sentence each, in a language that the model was trained in."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from myxtts.errors import RowError, SpeechError, TextError
from myxtts.features import phonemes, voices
from myxtts.features.alphabets import language_of, letters_of_language, letters_of_text, name_of
from myxtts.features.languages import tag_of
from myxtts.features.letters import clean
from myxtts.features.lexicon import Lexicon
from myxtts.features.text import SPECIALS, TextFrontend, resolve_language
from myxtts.features.token_table import TokenTable
from myxtts.inference.longform import Piece, split_text
from myxtts.models.description import ModelDescription

_log = logging.getLogger(__name__)

_MOSTLY = 0.8  # of the symbols


class Line(NamedTuple):
    text: str
    tokens: NDArray[np.int32]
    pause_seconds: float
    skipped: str  # symbols and letters that the model or its phonemiser does not know, each once


class Script:
    """The text side of a model: what its corpus was read with, and its frozen token table."""

    def __init__(self, description: ModelDescription, lexicon: Lexicon | None = None):
        """`lexicon` is added to the one that the model was trained with."""
        own = Lexicon.of(description.tokens.get("lexicon"))
        self._frontend = TextFrontend.from_settings(description.tokens, own + lexicon if lexicon else own)
        self._table = TokenTable(description.token_table)
        # The table has more symbols than any one corpus: of the others the model has only random numbers.
        self._known = frozenset(description.learnt or description.token_table)
        self.languages = list(description.languages)
        self._main = description.main_language

    def warm_up(self) -> None:
        """Load now what reads the main language: eSpeak and its package take 0.4 s."""
        self._frontend.read(["1"], self._main)

    def language(self, name: str | None) -> int:
        """The position of a language among the model's; without a name the one it was trained on most."""
        if name is None:
            name = self._main
        if name in self.languages:
            return self.languages.index(name)
        if (known := self._nearest(name)) is None:
            raise SpeechError(
                f"this model speaks {', '.join(self.languages)}, not {name or repr(name)}: choose one of those"
            )
        return known

    def language_of(self, text: str) -> int:
        """Where nobody names one: the main language, or the first that is written in the text's letters."""
        name = language_of(text, self.languages, self._main)
        if name != self._main:
            _log.info("the text is in %s letters: spoken as %s", name_of(str(letters_of_text(text))), name)
        return self.language(name)

    def _nearest(self, name: str) -> int | None:
        """The same language by another name, or that of another region, which is said."""
        try:
            wanted = self._resolve(name)
        except SpeechError:
            if voices.version() is None:  # eSpeak would know
                raise
            return None
        resolved = [self._resolved(language) for language in self.languages]
        tag = wanted
        while tag:
            if tag in resolved:
                return resolved.index(tag)
            tag = tag.rpartition("-")[0]
        family = [n for n, language in enumerate(resolved) if language.split("-")[0] == wanted.split("-")[0]]
        if family:
            _log.info("this model speaks %s, not %s: spoken as that", self.languages[family[0]], wanted)
        return family[0] if family else None

    def _resolved(self, language: str) -> str:
        """One of the model's own, which may need eSpeak where another is asked for that does not."""
        try:
            return self._resolve(language)
        except SpeechError:
            return tag_of(language)

    def _resolve(self, name: str) -> str:
        if self._frontend.kind == "characters":
            return name.strip().lower().replace("_", "-")
        try:
            return resolve_language(name)
        except TextError as error:
            raise SpeechError(f"this model speaks {', '.join(self.languages)}: {error}") from None

    def lines(self, text: str, language: int) -> list[Line]:
        """The sentences of a text. What cannot be spoken is left out with a warning; nothing left is an error."""
        if not clean(text):
            raise SpeechError("found an empty text, expected something to say")
        name = self.languages[language]
        pieces = split_text(text, self._resolve(name))
        readable = [self._readable(piece.text, name) for piece in pieces]
        readings = self._frontend.read([words for words, _ in readable], name)
        lines = [
            self._line(piece, letters + reading.left_out, reading.symbols)
            for piece, (_, letters), reading in zip(pieces, readable, readings, strict=True)
        ]
        self._doubt_letters(text, name)
        skipped = "".join(dict.fromkeys("".join(line.skipped for line in lines)))
        lines = [line for line in lines if len(line.tokens)]
        if not lines:
            raise SpeechError(_nothing(text, name, skipped, [reading.symbols for reading in readings]))
        if skipped:
            _log.warning("left out what this model does not know: %s", " ".join(skipped))
        return lines

    def lines_of_symbols(self, sentences: Sequence[str]) -> list[Line]:
        """Sentences that are written in symbols of eSpeak. None where the model does not know most of these, or reads
        letters, which stand for other sounds in each language."""
        if self._frontend.kind == "characters":
            return []
        spelled = [self._frontend.finish(each, each) for each in sentences]
        symbols = [symbol for each in spelled if not isinstance(each, RowError) for symbol in each]
        if sum(symbol in self._known for symbol in symbols) < _MOSTLY * len(symbols):
            return []
        return [self._line(Piece(text, 0.0), "", each) for text, each in zip(sentences, spelled, strict=True)]

    def _doubt_letters(self, text: str, language: str) -> None:
        if self._frontend.kind == "characters":  # it was trained on just these letters, or leaves them out
            return
        letters, usual = letters_of_text(text), letters_of_language(language)
        if letters is not None and usual not in (None, letters):
            _log.warning("the text is in %s letters and is read as %s: choose its language, if it is one of %s",
                         name_of(letters), language, ", ".join(self.languages))  # fmt: skip

    def _readable(self, text: str, language: str) -> tuple[str, str]:
        """The text without the letters that would make the whole sentence unreadable, and these."""
        text = clean(text)
        letters = self._frontend.unreadable(text, language)
        return text.translate(dict.fromkeys(map(ord, letters), " ")), letters

    def _line(self, piece: Piece, left_out: str, symbols: list[str] | RowError) -> Line:
        sayable = [] if isinstance(symbols, RowError) else symbols
        known = [symbol for symbol in sayable if symbol in self._known]
        skipped = left_out + "".join(symbol for symbol in sayable if symbol not in self._known)
        tokens = self._table.encode(known if any(map(_is_sound, known)) else [], grow=False)
        return Line(piece.text, tokens, piece.pause_seconds, "".join(dict.fromkeys(skipped)))


def _is_sound(symbol: str) -> bool:
    return symbol not in SPECIALS and symbol not in phonemes.STRESS and symbol[0].isalnum()


def _nothing(text: str, language: str, skipped: str, spelled: list[list[str] | RowError]) -> str:
    reasons = [str(result) for result in spelled if isinstance(result, RowError)]
    if skipped:
        return (
            f"nothing is left to say of {text[:40]!r} in {language}: this model does not know {' '.join(skipped[:20])}"
        )
    return reasons[0] if reasons else f"the text {text[:40]!r} has no letter or number in it: nothing to say"
