"""What eSpeak writes becomes what Kokoro reads: its 114 symbols, one for a diphthong or an affricate."""

from __future__ import annotations

from myxtts.features.phonemes import phonemise

# In the order in which they are tried. Kokoro writes A, I, O, Q, W, Y for diphthongs and T for the American flap.
_AFFRICATES = {"tʃ": "ʧ", "dʒ": "ʤ", "ts": "ʦ", "dz": "ʣ"}
_DIPHTHONGS = {"eɪ": "A", "aɪ": "I", "aʊ": "W"}
_ENGLISH = {
    **{"tʃ": "ʧ", "dʒ": "ʤ"}, **_DIPHTHONGS, "oʊ": "O", "əʊ": "Q", "ɔɪ": "Y", "ɚ": "əɹ", "ɐ": "ə", "n̩": "ᵊn", "l̩": "ᵊl",
    "ʔ": "t", "r": "ɹ", "x": "k", "ɬ": "l", "\u0303": "", "\u0329": "",
}  # fmt: skip
_SYMBOLS: dict[str, dict[str, str]] = {
    "en-us": {"ɜːɹ": "ɜɹ", "ɜː": "ɜɹ", **_ENGLISH, "ɾ": "T", "ː": ""},
    "en-gb": _ENGLISH,
    "es": {"tʃ": "ʧ", **_DIPHTHONGS},
    "fr-fr": {"\u0306": ""},
    "it": _AFFRICATES,
    "pt-br": {"tʃ": "ʧ", "dʒ": "ʤ", **_DIPHTHONGS},
    "hi": {"r\u0323": "ɽ", "ɾ\u0323": "ɽ", "\u0323": ""},
}
LANGUAGES = tuple(_SYMBOLS)
_EVERYWHERE = {"¡": "", "¿": "", "g": "ɡ", "\u0306": ""}


def symbols_of(text: str, language: str) -> str:
    """The symbols to speak a text by."""
    (symbols,) = phonemise([text.replace("।", ".")], language)
    for sign, symbol in (_SYMBOLS[language] | _EVERYWHERE).items():
        symbols = symbols.replace(sign, symbol)
    return symbols
