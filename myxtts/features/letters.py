"""The characters of a text: one form for what is written in several, and the marks of every script in one.

`clean` holds for any language, `fold` for one. Neither knows words: `normalise/` does. What they leave out is mere
punctuation, or cannot be seen, or is named by `left_out`.
"""

from __future__ import annotations

import functools
import re
import unicodedata

# ---- any language ---------------------------------------------------------------------------------------------------

_FORMS = {
    **dict.fromkeys("‘’‚‛′‹›`´", "'"),
    **dict.fromkeys("“”„‟«»″〝〞〟＂", '"'),
    **dict.fromkeys("‐‑‒−﹣－", "-"),
    **dict.fromkeys("–—―⸺⸻﹘〜～", "—"),
    "…": "…", "⋯": "…", "‥": "…", "ـ": "",  # the Arabic tatweel only stretches a word
}  # fmt: skip

# Compatibility forms are only another look of the same letters: Latin, Armenian, Hebrew and Arabic ligatures and
# positional forms, full and half width, Roman numerals, mathematical alphabets, raised letters, lowered figures, units
# in a square. NFKC of everything else would change what is said (m² would become m2), and nothing here touches Arabic
# or Persian yeh and kaf.
_COMPATIBLE = re.compile(
    "[\u02b0-\u02b8\u1d2c-\u1d6a\u2080-\u2089\u2121\u2160-\u217f\u249c-\u24e9\u3371-\u33df\ufb00-\ufdff"
    "\ufe70-\ufefc\uff01-\uffee\U0001d400-\U0001d7ff]"
)
_ENCLOSED = re.compile("[\u2460-\u249b\u24ea-\u24ff\u2776-\u2793\u3251-\u325f\u32b1-\u32bf]")  # ① ⑵ ⒊ ❹
_SHAPES = "\ufe0e\ufe0f\u20e3"  # of a text, of a picture, of a key: they say nothing
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
        elif _ENCLOSED.match(char):
            self[code] = f" {int(unicodedata.numeric(char))} "
        elif char in _SHAPES or kind in ("Cc", "Cf", "Cs", "Co") and char not in _JOINERS:
            self[code] = ""
        else:
            self[code] = char
        return self[code]


_CLEAN = _Clean()
_DOTS = re.compile(r"\.(?: ?\.){2,}|…(?: ?[.…])+")
_JOINER_RUN = re.compile(f"[{_JOINERS}]+")


def clean(text: str) -> str:
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


# ---- what may disappear ---------------------------------------------------------------------------------------------

_SPOKEN_MARKS = frozenset("#%&*@/\\_§¶†‡•‰‱٪؉؊")  # of the kind of punctuation, but with a name that is said
_INVISIBLE = re.compile("[\u034f\u180b-\u180f\ufe00-\ufe0f\U000e0000-\U000e01ff]")  # they choose a shape


@functools.lru_cache(maxsize=4096)
def is_silent(char: str) -> bool:
    """Whether a character may disappear without a word: a space, a quote, a bracket, a stop, something invisible."""
    kind = unicodedata.category(char)
    if kind in ("Cc", "Cf", "Cs") or _INVISIBLE.match(char):
        return True
    return kind[0] in "ZP" and char not in _SPOKEN_MARKS


def left_out(text: str, normalised: str) -> str:
    """What `clean` left out of a text and `fold` will leave out of it although it means something: glyphs, pictures."""
    if text.isascii():
        return ""
    glyphs = [char for char in text if unicodedata.category(char) == "Co"]
    pictures = [char for run in _PICTURES.findall(normalised) for char in run if not is_silent(char)]
    return "".join(glyphs + pictures)


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


def fold(text: str, language: str) -> str:
    """This language's spelling of the letters, Latin punctuation for every script, no pictures."""
    letters = _OF_LANGUAGE.get(language.split("-")[0])
    if letters:
        text = text.translate(letters)
    if not text.isascii():
        text = _IN_WORD.sub(r"\2\1", _PICTURES.sub(" ", text)).translate(_COMMON)
    return _REPEATED.sub(r"\1", " ".join(text.split()))
