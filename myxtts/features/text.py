"""Text becomes symbols: the same text always gives the same symbols, and a text with nothing to say gives a reason.

The order of things: `clean` (any language), `normalise` (numbers, dates, abbreviations in words), `fold` (this
language's letters and punctuation), the user's lexicon, phonemes or characters, the special symbols. `TokenTable` turns
symbols into ids.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from myxtts.errors import RowError, TextError
from myxtts.features import phonemes, voices
from myxtts.features.languages import resolve_language, tag_of
from myxtts.features.letters import clean, fold, left_out
from myxtts.features.lexicon import Lexicon
from myxtts.features.normalise import normalise
from myxtts.features.recent import RecentTexts
from myxtts.features.token_table import BLANK, BOS, EOS, PAD, SPECIALS, UNK, TokenTable

__all__ = [
    "BLANK", "BOS", "EOS", "PAD", "SPECIALS", "UNK", "TextFrontend", "TokenTable", "resolve_language",
]  # fmt: skip

_REVISION = 7  # raise it with every change of this room that changes symbols: caches then know that they are old


# ---- symbols --------------------------------------------------------------------------------------------------------

_NO_STRESS = str.maketrans("", "", phonemes.STRESS)
_TURKIC = ("tr", "az", "tt", "crh")
_DOTLESS = str.maketrans({"I": "ı"})
_HANGUL = re.compile("[가-힣]+")  # 11,172 syllables are made of 67 jamo


@dataclass(frozen=True)
class Reading:
    """A text on its way to symbols."""

    text: str
    normalised: str  # numbers, dates, abbreviations in words
    words: str  # the same in this language's letters, with Latin punctuation, as the lexicon spells them
    spelled: str | RowError  # phonemes or characters
    symbols: list[str] | RowError
    left_out: str  # what of the text nobody will hear, each once


# What a frontend and the fingerprint of a cache call it, and what the config does.
OPTIONS = {
    "kind": "text_tokens", "normalise": "normalise_text", "stress": "text_stress", "bos": "text_bos", "eos": "text_eos",
    "blank": "text_blank", "lexicon": "lexicon", "english": "english_phonemes",
}  # fmt: skip


class TextFrontend:
    """Texts in, symbols out. A symbol is one character of IPA or of the text, or one of `SPECIALS`.

    The last 10,000 texts are kept, so that a prompt that comes again costs nothing.
    """

    def __init__(
        self,
        kind: str = "phonemes",
        stress: bool = True,
        bos: bool = True,
        eos: bool = True,
        blank: bool = False,
        normalise: bool = True,
        lexicon: Lexicon | None = None,
        english: str = voices.AUTO,
    ):
        if kind not in ("phonemes", "characters"):
            raise TextError(f"found the token kind '{kind}', expected phonemes or characters")
        self.kind, self.stress, self.bos, self.eos, self.blank = kind, stress, bos, eos, blank
        self.normalise, self.lexicon = normalise, lexicon or Lexicon()
        self._english, self._recent = english, RecentTexts()

    @functools.cached_property
    def english(self) -> str:
        """Who reads English: see `voices`."""
        return voices.english_reader(self._english)

    @classmethod
    def from_config(cls, data: Any) -> TextFrontend:
        return cls.from_settings({name: getattr(data, key) for name, key in OPTIONS.items()})

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any], lexicon: Lexicon | None = None) -> TextFrontend:
        """The frontend that `settings` came from, those of a cache or a model; or the same with another lexicon."""
        if lexicon is None:
            lexicon = Lexicon.of(settings.get("lexicon"))
        return cls(**{name: settings[name] for name in OPTIONS if name in settings} | {"lexicon": lexicon})

    def settings(self) -> dict[str, Any]:
        """All that decides which symbols come out, as JSON: the tokens fingerprint of a cache is made of it."""
        of_phonemes = ("stress", "english")
        settings = {name: getattr(self, name) for name in OPTIONS if name not in of_phonemes} | {"revision": _REVISION}
        settings["lexicon"] = self.lexicon.to_json()
        if self.kind == "phonemes":
            settings |= {name: getattr(self, name) for name in of_phonemes}
            readers = phonemes.readers(self.english == voices.LISTS)
            settings |= {"espeak": phonemes.version(), "readers": readers}
        return settings

    def symbols(self, texts: list[str], language: str) -> list[list[str] | RowError]:
        """For each text its symbols, or the reason why it has none. An unknown language is a TextError."""
        language = self._language(language)
        return self._recent.look_up(texts, language, lambda new: self._make(new, language))

    def _make(self, texts: list[str], language: str) -> list[list[str] | RowError]:
        words = [self._words(self._normalised(text, language), language) for text in texts]
        return self._finish_all(texts, self._spell(words, language))

    def read(self, texts: list[str], language: str) -> list[Reading]:
        """What becomes of each text, step by step. Costs two to three times as much as `symbols`."""
        language = self._language(language)
        normalised = [self._normalised(text, language) for text in texts]
        words = [self._words(text, language) for text in normalised]
        spelled = self._spell(words, language)
        symbols = self._finish_all(texts, spelled)
        left = [self._left_out(*steps, language) for steps in zip(texts, normalised, words, strict=True)]
        return [Reading(*steps) for steps in zip(texts, normalised, words, spelled, symbols, left, strict=True)]

    def unreadable(self, text: str, language: str) -> str:
        """The letters for which the whole text would be refused, each once. `text` as `clean` leaves it."""
        if self.kind == "characters" or text.isascii():
            return ""
        language = self._language(language)
        return _unreadable_in(self._words(text, language), language, self.lexicon)

    def _language(self, name: str) -> str:
        if self.kind == "characters":
            return tag_of(name)
        code = resolve_language(name)
        from_lists = code.split("-")[0] == "en" and code != "en-shaw" and self.english == voices.LISTS
        return code + voices.WITHOUT_ESPEAK if from_lists else code

    def _normalised(self, text: str, language: str) -> str:
        text = clean(text)
        if not self.normalise:
            return text
        return self.lexicon.spare(text, language, lambda part: normalise(part, language))

    def _words(self, normalised: str, language: str) -> str:
        return self.lexicon.respell(fold(normalised, language), language)

    def _spell(self, words: list[str], language: str) -> list[str | RowError]:
        if self.kind == "phonemes":
            return _phonemes(words, language, self.lexicon)
        return [_characters(text, language) for text in words]

    def _left_out(self, text: str, normalised: str, words: str, language: str) -> str:
        left = left_out(text, normalised)
        if self.kind == "phonemes":
            left += phonemes.unspoken(words, language)
        return "".join(dict.fromkeys(left))

    def _finish_all(self, texts: list[str], spelled: list[str | RowError]) -> list[list[str] | RowError]:
        return [self.finish(text, symbols) for text, symbols in zip(texts, spelled, strict=True)]

    def finish(self, text: str, spelled: str | RowError) -> list[str] | RowError:
        """The symbols of a text that is spelled, with the signs around and between them."""
        if isinstance(spelled, RowError):
            return spelled
        if not spelled:
            return _nothing(text)
        symbols = list(spelled if self.stress else spelled.translate(_NO_STRESS))
        symbols = [BOS] * self.bos + symbols + [EOS] * self.eos
        if self.blank:
            spaced = [BLANK] * (2 * len(symbols) - 1)
            spaced[::2] = symbols
            return spaced
        return symbols


def _nothing(text: str) -> RowError:
    if not clean(text):
        return RowError("empty_text", "the text is empty: write down what is said, or remove the row")
    return RowError("unpronounceable", f"the text {text[:40]!r} has no letter or number in it: nothing to say")


def _phonemes(texts: list[str], language: str, lexicon: Lexicon) -> list[str | RowError]:
    strange = [_unreadable_in(text, language, lexicon) for text in texts]
    readable = ["" if letters else text for text, letters in zip(texts, strange, strict=True)]
    ipa = phonemes.phonemise(readable, language, lexicon)
    return [_unreadable(letters, language) if letters else said for letters, said in zip(strange, ipa, strict=True)]


def _unreadable_in(text: str, language: str, lexicon: Lexicon) -> str:
    if text.isascii():
        return ""
    return phonemes.unreadable("".join(part for part, ipa in lexicon.cut(text, language) if not ipa), language)


def _unreadable(letters: str, language: str) -> RowError:
    reader, code = "eSpeak", language
    if voices.is_read_from_lists(language):
        reader, code = "the English lexicon", language.removesuffix(voices.WITHOUT_ESPEAK)
    message = f"{reader} cannot read '{letters[:20]}' in {code}: respell it or use text_tokens: characters"
    return RowError("unpronounceable", message)


def _characters(text: str, language: str) -> str:
    if not any(map(str.isalnum, text)):
        return ""
    if language.split("-")[0] in _TURKIC:
        text = text.translate(_DOTLESS)
    text = unicodedata.normalize("NFC", text.replace("İ", "i").lower())
    return _HANGUL.sub(lambda match: unicodedata.normalize("NFD", match[0]), text)
