"""What is written in kana becomes what Kokoro reads: a symbol for each consonant, vowel and length."""

from __future__ import annotations

import re

_VOWELS = dict(zip("あいうえお", "aiɯeo", strict=True))
_ROWS = {
    "かきくけこ": "k", "がぎぐげご": "ɡ", "さしすせそ": "s", "ざじずぜぞ": "ʣ", "たちつてと": "t", "だぢづでど": "d",
    "なにぬねの": "n", "はひふへほ": "h", "ばびぶべぼ": "b", "ぱぴぷぺぽ": "p", "まみむめも": "m", "らりるれろ": "ɾ",
}  # fmt: skip
_OWN = {
    "し": "ɕi", "す": "sɨ", "じ": "ʥi", "ず": "zɨ", "ち": "ʨi", "つ": "ʦɨ", "ぢ": "ʥi", "づ": "zɨ", "に": "ɲi",
    "ひ": "çi", "ふ": "ɸɯ", "や": "ja", "ゆ": "jɯ", "よ": "jo", "わ": "βa", "を": "o",
}  # fmt: skip
_SOFT = "kɡbpmɾ"  # followed by ʲ where an i or a small ya, yu, yo comes
_SMALL = {"ゃ": "a", "ゅ": "ɨ", "ょ": "o", "ぇ": "e", "ぁ": "a", "ぃ": "i", "ぉ": "o"}
_NASALS = {"m": "mpb", "ŋ": "kɡ", "ɲ": "ɲʨʥ", "n": "ntdɾzʣ"}  # how ん is said before these
_MARKS = str.maketrans({"、": ", ", "。": ". ", "！": "! ", "？": "? "})
_LONG = [("aa", "aː"), ("ii", "iː"), ("ɯɯ", "ɯː"), ("ɨɯ", "ɨː"), ("ee", "eː"), ("ei", "eː"), ("oo", "oː"), ("oɯ", "oː")]


def symbols_of(text: str) -> str:
    """The symbols to speak a text in kana by; words are divided by spaces."""
    text = "".join(chr(ord(sign) - 0x60) if "ァ" <= sign <= "ヶ" else sign for sign in text)
    words = " ".join(map(_word, text.translate(_MARKS).replace("を", " を ").split()))
    return re.sub(r" (?=[,.!?])", "", words)


def _word(kana: str) -> str:
    symbols = ""
    for sign in kana:
        symbols = symbols[:-1] + _SMALL[sign] if sign in _SMALL else symbols + _KANA.get(sign, sign)
    for vowels, one in _LONG:
        symbols = symbols.replace(vowels, one)
    for nasal, before in _NASALS.items():
        symbols = re.sub(f"ん(?=[{before}])", nasal, symbols)
    return symbols.replace("ん", "ɴ")


def _kana() -> dict[str, str]:
    table = {"ー": "ː", "っ": "ʔ", **_VOWELS}
    for row, consonant in _ROWS.items():
        for sign, vowel in zip(row, _VOWELS.values(), strict=True):
            table[sign] = consonant + ("ʲ" if vowel == "i" and consonant in _SOFT else "") + vowel
    return table | _OWN


_KANA = _kana()
