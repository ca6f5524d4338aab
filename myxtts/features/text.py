"""Text becomes symbols: the same text always gives the same symbols, and a text with nothing to say gives a reason.

The order of things: `normalise` (any language), `_fold` (this language's letters and punctuation), then phonemes or
characters, then the special symbols. `TokenTable` turns symbols into ids.
"""

from __future__ import annotations

import difflib
import functools
import re
import unicodedata
from typing import Any

from myxtts.errors import RowError, TextError
from myxtts.features import phonemes
from myxtts.features.token_table import BLANK, BOS, EOS, PAD, SPECIALS, UNK, TokenTable

__all__ = [
    "BLANK", "BOS", "EOS", "PAD", "SPECIALS", "UNK", "TextFrontend", "TokenTable", "normalise", "resolve_language",
]  # fmt: skip

_REVISION = 1  # raise it with every change of this room that changes symbols: caches then know that they are old


# ---- any language ---------------------------------------------------------------------------------------------------

_FORMS = {
    **dict.fromkeys("‘’‚‛′‹›`´", "'"),
    **dict.fromkeys("“”„‟«»″〝〞〟＂", '"'),
    **dict.fromkeys("‐‑‒−﹣－", "-"),
    **dict.fromkeys("–—―⸺⸻﹘〜～", "—"),
    "…": "…", "⋯": "…", "‥": "…", "ـ": "",  # the Arabic tatweel only stretches a word
}  # fmt: skip

# Compatibility forms are only another look of the same letters: Latin, Armenian, Hebrew and Arabic ligatures and
# positional forms, full and half width, Roman numerals, mathematical alphabets. NFKC of everything else would change
# what is said (m² would become m2), and nothing here touches Arabic or Persian yeh and kaf.
_COMPATIBLE = re.compile("[\u2160-\u217f\ufb00-\ufdff\ufe70-\ufefc\uff01-\uffee\U0001d400-\U0001d7ff]")
_JOINERS = "\u200c\u200d"


class _Clean(dict[int, str]):
    """What each character becomes; filled as characters are met."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        kind = unicodedata.category(char)
        if char.isspace():
            self[code] = " "
        elif char in _FORMS:
            self[code] = _FORMS[char]
        elif _COMPATIBLE.match(char):
            self[code] = "".join(_FORMS.get(part, part) for part in unicodedata.normalize("NFKC", char))
        elif kind in ("Cc", "Cf", "Cs", "Co") and char not in _JOINERS:
            self[code] = ""
        else:
            self[code] = char
        return self[code]


_CLEAN = _Clean()
_DOTS = re.compile(r"\.(?: ?\.){2,}|…(?: ?[.…])+")
_JOINER_RUN = re.compile(f"[{_JOINERS}]+")


def normalise(text: str) -> str:
    """One form of the same text: NFC, single spaces, plain quotes, one dash, one ellipsis, nothing invisible.

    A zero-width (non-)joiner stays between letters that join, where it changes what is read (Persian, Indic scripts).
    """
    text = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).translate(_CLEAN))
    if not text.isascii():
        text = _JOINER_RUN.sub(_joiner, text)
    return " ".join(_DOTS.sub("…", text).split())


def _joiner(match: re.Match[str]) -> str:
    before, after = match.string[: match.start()][-1:], match.string[match.end() :][:1]
    return match[0][0] if _joins(before) and _joins(after) else ""


def _joins(char: str) -> bool:
    return "\u0600" <= char <= "\u1fff" and unicodedata.category(char)[0] in "LM"


# ---- one language ---------------------------------------------------------------------------------------------------

_PUNCTUATION = {
    **dict.fromkeys("۔٫。．｡।॥։׃።፨។៕။།", "."),
    **dict.fromkeys("،٬⹁，、､՝፣၊", ","),
    **dict.fromkeys("؛⁏；፤", ";"),
    **dict.fromkeys("：፥፦", ":"),
    **dict.fromkeys("؟？՞፧⸮", "?"),
    **dict.fromkeys("！՜", "!"),
    **dict.fromkeys("「」『』《》〈〉", '"'),
    **dict.fromkeys("【〔", "("),
    **dict.fromkeys("】〕", ")"),
    "‽": "?!", "‼": "!", "⁇": "?", "⁈": "?!", "⁉": "!?", "・": " ", "־": "-", "՛": "",
}  # fmt: skip
_COMMON = str.maketrans(_PUNCTUATION)
_OF_LANGUAGE = {
    "el": str.maketrans({";": "?", "·": ";"}),
    "fa": str.maketrans({"ي": "ی", "ى": "ی", "ك": "ک"}),  # typed on an Arabic keyboard
    "ur": str.maketrans({"ي": "ی", "ك": "ک", "ه": "ہ"}),
}
_OF_LANGUAGE["grc"] = _OF_LANGUAGE["el"]
_IN_WORD = re.compile(r"([՞՜])(\w+)")  # Armenian puts its question mark on a vowel
_PICTURES = re.compile("[\u20d0-\u20ff\u2190-\u2bff\ufe00-\ufe0f\U0001f000-\U0001faff\U000e0000-\U000e01ff]+")
_REPEATED = re.compile(r"([.!?,;:—…])\1+")


def _fold(text: str, language: str) -> str:
    """This language's spelling of the letters, Latin punctuation for every script, no pictures."""
    letters = _OF_LANGUAGE.get(language.split("-")[0])
    if letters:
        text = text.translate(letters)
    if not text.isascii():
        text = _IN_WORD.sub(r"\2\1", _PICTURES.sub(" ", text)).translate(_COMMON)
    return _REPEATED.sub(r"\1", " ".join(text.split()))


# ---- languages ------------------------------------------------------------------------------------------------------

_ALIASES = {
    "en": "en-us", "english": "en-us", "en-uk": "en-gb", "eng": "en-us",
    "zh": "cmn", "zho": "cmn", "chi": "cmn", "chinese": "cmn", "mandarin": "cmn", "cantonese": "yue", "zh-hk": "yue",
    "zh-yue": "yue", "fr": "fr-fr", "french": "fr-fr", "fra": "fr-fr", "fre": "fr-fr", "farsi": "fa", "fas": "fa",
    "per": "fa", "pes": "fa", "ara": "ar", "arb": "ar", "deu": "de", "ger": "de", "spa": "es", "es-mx": "es-419",
    "ita": "it", "por": "pt", "rus": "ru", "ukr": "uk", "tur": "tr", "hin": "hi", "jpn": "ja", "kor": "ko", "nld": "nl",
    "dut": "nl", "pol": "pl", "vie": "vi", "urd": "ur", "heb": "he", "iw": "he", "in": "id", "no": "nb",
    "nn": "nb", "norwegian": "nb", "burmese": "my", "irish": "ga", "cherokee": "chr-us-qaaa-x-west",
    "chr": "chr-us-qaaa-x-west",
}  # fmt: skip


def _tag(language: str) -> str:
    return language.strip().lower().replace("_", "-")


@functools.lru_cache(maxsize=256)
def resolve_language(name: str) -> str:
    """eSpeak's code for a language: 'en', 'EN_us' and 'English' are en-us, 'fa-IR' is fa, 'zh-CN' is cmn."""
    wanted = _tag(name)
    known = phonemes.languages()
    by_name = {title.lower().partition(" (")[0]: code for code, title in sorted(known.items(), reverse=True)}
    by_name |= {title.lower(): code for code, title in known.items()}
    tag = wanted
    while tag:
        code = _ALIASES.get(tag, by_name.get(tag, tag))
        if code in known:
            return code
        tag = tag.rpartition("-")[0]
    close = difflib.get_close_matches(wanted, [*known, *by_name, *_ALIASES], n=3, cutoff=0.5) or ["en-us", "fa", "cmn"]
    raise TextError(
        f"'{name}' is not one of eSpeak's {len(known)} languages, the nearest are {', '.join(close)}: "
        "use one of its codes, or text_tokens: characters"
    )


# ---- symbols --------------------------------------------------------------------------------------------------------

_NO_STRESS = str.maketrans("", "", phonemes.STRESS)
_TURKIC = ("tr", "az", "tt", "crh")
_DOTLESS = str.maketrans({"I": "ı"})
_HANGUL = re.compile("[가-힣]+")  # 11,172 syllables are made of 67 jamo


class TextFrontend:
    """Texts in, symbols out. A symbol is one character of IPA or of the text, or one of `SPECIALS`."""

    def __init__(
        self, kind: str = "phonemes", stress: bool = True, bos: bool = True, eos: bool = True, blank: bool = False
    ):
        if kind not in ("phonemes", "characters"):
            raise TextError(f"found the token kind '{kind}', expected phonemes or characters")
        self.kind, self.stress, self.bos, self.eos, self.blank = kind, stress, bos, eos, blank

    def settings(self) -> dict[str, Any]:
        """All that decides which symbols come out, as JSON: the tokens fingerprint of a cache is made of it."""
        settings = {"kind": self.kind, "bos": self.bos, "eos": self.eos, "blank": self.blank, "revision": _REVISION}
        if self.kind == "phonemes":
            settings |= {"stress": self.stress, "espeak": phonemes.version()}
        return settings

    def symbols(self, texts: list[str], language: str) -> list[list[str] | RowError]:
        """For each text its symbols, or the reason why it has none. An unknown language is a TextError."""
        spoken = self.kind == "phonemes"
        language = resolve_language(language) if spoken else _tag(language)
        plain = [_fold(normalise(text), language) for text in texts]
        spelled = _phonemes(plain, language) if spoken else [_characters(text, language) for text in plain]
        return [self._finish(text, found) for text, found in zip(texts, spelled, strict=True)]

    def _finish(self, text: str, found: str | RowError) -> list[str] | RowError:
        if isinstance(found, RowError):
            return found
        if not found:
            return _nothing(text)
        symbols = list(found if self.stress else found.translate(_NO_STRESS))
        symbols = [BOS] * self.bos + symbols + [EOS] * self.eos
        if self.blank:
            spaced = [BLANK] * (2 * len(symbols) - 1)
            spaced[::2] = symbols
            return spaced
        return symbols


def _nothing(text: str) -> RowError:
    if not normalise(text):
        return RowError("empty_text", "the text is empty: write down what is said, or remove the row")
    return RowError("unpronounceable", f"the text {text[:40]!r} has no letter or number in it: nothing to say")


def _phonemes(texts: list[str], language: str) -> list[str | RowError]:
    strange = [phonemes.unreadable(text, language) for text in texts]
    ipa = phonemes.phonemise(["" if letters else text for text, letters in zip(texts, strange, strict=True)], language)
    return [_unreadable(letters, language) if letters else found for letters, found in zip(strange, ipa, strict=True)]


def _unreadable(letters: str, language: str) -> RowError:
    message = f"eSpeak cannot read '{letters[:20]}' in {language}: respell it or use text_tokens: characters"
    return RowError("unpronounceable", message)


def _characters(text: str, language: str) -> str:
    if not any(map(str.isalnum, text)):
        return ""
    if language.split("-")[0] in _TURKIC:
        text = text.translate(_DOTLESS)
    text = unicodedata.normalize("NFC", text.replace("İ", "i").lower())
    return _HANGUL.sub(lambda match: unicodedata.normalize("NFD", match[0]), text)
