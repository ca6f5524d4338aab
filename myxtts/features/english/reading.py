"""English words in a row: which reading each has among the others, and how the small ones sound."""

from __future__ import annotations

import functools
import re
import threading

from myxtts.features.english import gruut
from myxtts.features.english.notation import starts_with_vowel
from myxtts.features.english.words import Words

LANGUAGES = {"en-us": "English (America)", "en-gb": "English (Great Britain)"}

# Letters, an apostrophe inside or before ('tis), dots between single letters (U.S.).
_LETTER = r"[^\W\d_]"
_WORD = re.compile(rf"(?:{_LETTER}\.){{2,}}|'?{_LETTER}+(?:'{_LETTER}+)*'?")
_LOCK = threading.Lock()
# Before a consonant, before a vowel, before nothing; as eSpeak has them.
_WEAK = {"the": ("ðə", "ðɪ", "ðə"), "a": ("ɐ", "ɐ", "eɪ"), "an": ("ɐn", "ɐn", "æn"), "to": ("tə", "tʊ", "tuː")}
_UNSTRESSED = frozenset(["I", "I'm", "I'd", "I'll", "I've"])


def speak(language: str, text: str) -> str:
    """The phonemes of a clause; `language` is one of `LANGUAGES`, or another English, which is read as British."""
    with _LOCK:
        return _speak(_words(language != "en-us"), text)


def _speak(words: Words, text: str) -> str:
    chunks = [_WORD.findall(chunk) for chunk in text.split()]
    said = [word for chunk in chunks for word in chunk]
    kinds = _kinds(words, said)
    shouted = len(said) > 2 and text.upper() == text
    sounds: list[str] = []
    for at in range(len(said) - 1, -1, -1):  # from the end: a word may depend on the sound that follows
        follows = sounds[-1] if sounds else ""
        sounds.append(_say(words, said[at].lower() if shouted else said[at], kinds[at], at == 0, follows))
    each = iter(reversed(sounds))
    joined = ["".join(next(each) for _ in chunk) for chunk in chunks]
    return " ".join(filter(None, joined))


def _kinds(words: Words, said: list[str]) -> list[str]:
    """Parts of speech, if any word needs them."""
    if not any(map(words.is_ambiguous, said)):
        return [""] * len(said)
    return gruut.kinds(said)


def _say(words: Words, word: str, kind: str, begins: bool, follows: str) -> str:
    if "." in word:
        return words.spell_out(word)
    weak = _WEAK.get(word.lower() if begins and follows else word)
    if weak:
        return weak[2 if not follows else starts_with_vowel(follows)]
    if not follows and kind:
        kind = words.at_end(word, kind)
    entry = words.find(word, kind, begins)
    return entry.replace("ˈ", "") if word in _UNSTRESSED else entry


@functools.cache
def _words(british: bool) -> Words:
    return Words(british)
