"""What is written becomes what is said: numbers, dates, money, units, abbreviations and addresses in words.

Promises: the same text always gives the same words; a text without such things comes back as it is; whatever is not
understood is left as it stands, never dropped. Knows nothing of phonemes: words in, words out.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable

from myxtts.features.normalise import other
from myxtts.features.normalise.counting import listed
from myxtts.features.normalise.reader import Reader

LANGUAGES = {code: code for code in listed("ar de en es fa fr it pt ru zh")} | {"cmn": "zh"}


def normalise(text: str, language: str) -> str:
    """The text in words. `text` as `clean` leaves it, `language` as an eSpeak code or a plain one ('fa', 'en-us')."""
    return _reader(language)(text)


def is_shortened(word: str, language: str) -> bool:
    """Whether a sentence goes on after the dot at the end of `word`: 'Dr.', 'Mio.'"""
    reader = _reader(language)
    return isinstance(reader, Reader) and reader.is_shortened(word)


@functools.lru_cache(maxsize=256)
def _reader(language: str) -> Callable[[str], str]:
    base = language.split("-")[0]
    if base in LANGUAGES:
        reader: Callable[[str], str] = importlib.import_module(f"{__name__}.{LANGUAGES[base]}").make(language)
        return reader
    return other.make(base) or str
