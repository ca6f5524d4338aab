"""How the user wants words to be said: a list of words or phrases, each with its phonemes or another spelling.

A line of the file has three columns with tabs between them: language, word or phrase, what is said. Phonemes stand
between slashes (`/kerm/`), anything else is another spelling (`Shivawn` for Siobhan). The language is a code (`en`
holds for en-us and en-gb too) or `*` for all. A word in small letters is found in capitals as well, one with a
capital only as it is written. Empty lines and those that begin with # are left out. A file in YAML has the same as
`language: {word: said}`. Of two lines for one word the later one holds.
"""

from __future__ import annotations

import functools
import re
import reprlib
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import yaml

from myxtts.errors import TextError
from myxtts.features.languages import ALIASES
from myxtts.features.letters import clean, fold
from myxtts.features.voices import WITHOUT_ESPEAK
from myxtts.files import read_regular

Entry = tuple[str, str, str]  # language, word or phrase, what is said

ANY_LANGUAGE = "*"
_MOST_BYTES = 1 << 28  # a million words are 40 MB
_SAID = (str, int, float)  # in YAML; `no` and `yes` are read as truth values, and spoken as such
_PHONEMES = re.compile(r"/(.+)/")
_SIGNS = "\u0300-\u036f\u064b-\u0652\u0654\u0670"  # a word that goes on with one of these is another word
# Of scripts without spaces a word is found anywhere.
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\U00020000-\U0003ffff]")


class Lexicon:
    """Entries in the order of their file. Equal if they are the same."""

    def __init__(self, entries: Iterable[Iterable[str]] = ()):
        self.entries: list[Entry] = [_checked(tuple(entry), f"entry {n}") for n, entry in enumerate(entries, 1)]
        self._for = functools.lru_cache(maxsize=64)(self._make)

    @classmethod
    def load(cls, path: str | Path) -> Lexicon:
        try:
            text = read_regular(path, _MOST_BYTES).decode("utf-8-sig")
        except OSError as error:
            raise TextError(f"cannot read the lexicon {path}: {error.strerror}") from None
        except UnicodeDecodeError as error:
            raise TextError(f"the lexicon {path} is not UTF-8: {error}") from None
        try:
            return cls(_from_yaml(text) if Path(path).suffix.lower() in (".yaml", ".yml") else _from_lines(text))
        except TextError as error:
            raise TextError(f"the lexicon {path}: {error}") from None

    @classmethod
    def of(cls, source: str | Iterable[Iterable[str]] | None) -> Lexicon:
        """The lexicon of a file, of entries, or an empty one."""
        return cls.load(source) if isinstance(source, str) else cls(source or ())

    def to_json(self) -> list[list[str]]:
        return [list(entry) for entry in self.entries]

    def __add__(self, other: Lexicon) -> Lexicon:
        """The entries of both; where they differ, the other's hold."""
        return Lexicon([*self.entries, *other.entries])

    def __len__(self) -> int:
        return len(self.entries)

    def spare(self, text: str, language: str, change: Callable[[str], str]) -> str:
        """The text after `change`, which leaves alone the words of the lexicon that it would change: AT&T, 5G, Dr."""
        return self._for(language).spare(text, change) if self.entries else change(text)

    def respell(self, text: str, language: str) -> str:
        """The text with the other spellings in their places. `text` as `fold` leaves it."""
        return self._for(language).respell(text)

    def cut(self, text: str, language: str) -> list[tuple[str, str]]:
        """The text in parts, each with its phonemes, or with '' if the lexicon has none for it."""
        return self._for(language).cut(text)

    def _make(self, language: str) -> _Words:
        chosen: dict[str, str] = {}
        language = language.removesuffix(WITHOUT_ESPEAK)
        for wanted, word, said in self.entries:
            if wanted in (ANY_LANGUAGE, language, language.split("-")[0]) or ALIASES.get(wanted) == language:
                chosen[fold(clean(word), language)] = said
        return _Words(chosen, language)


class _Words:
    """What is looked for in one language."""

    def __init__(self, said: Mapping[str, str], language: str):
        self._said = {word: text for word, text in said.items() if not _PHONEMES.fullmatch(text)}
        self._said = {word: fold(clean(text), language) for word, text in self._said.items()}
        self._phonemes = {word: _tidy(match[1]) for word, text in said.items() if (match := _PHONEMES.fullmatch(text))}
        self._spared: tuple[re.Pattern[str] | None] | None = None  # not yet known
        self._find_said, self._find_phonemes = _pattern(self._said), _pattern(self._phonemes)

    def spare(self, text: str, change: Callable[[str], str]) -> str:
        if self._spared is None:
            words = [word for word in (*self._said, *self._phonemes) if change(word) != word]
            self._spared = (_pattern(words),)
        if self._spared[0] is None:
            return change(text)
        parts, start = [], 0
        for match in self._spared[0].finditer(text):
            parts += [_changed(text[start : match.start()], change), match[0]]
            start = match.end()
        return " ".join("".join([*parts, _changed(text[start:], change)]).split())

    def respell(self, text: str) -> str:
        if self._find_said is None:
            return text
        return self._find_said.sub(lambda match: _look_up(self._said, match[0]), text)

    def cut(self, text: str) -> list[tuple[str, str]]:
        if self._find_phonemes is None:
            return [(text, "")]
        parts, start = [], 0
        for match in self._find_phonemes.finditer(text):
            parts += [(text[start : match.start()], ""), (match[0], _look_up(self._phonemes, match[0]))]
            start = match.end()
        return [part for part in (*parts, (text[start:], "")) if part[0]]


def _changed(part: str, change: Callable[[str], str]) -> str:
    """With the spaces at its ends, which `change` takes away."""
    return f"{' ' * part.startswith(' ')}{change(part)}{' ' * part.endswith(' ')}"


def _look_up(words: Mapping[str, str], word: str) -> str:
    return words[word] if word in words else words[word.lower()]


def _pattern(words: Iterable[str]) -> re.Pattern[str] | None:
    """Whichever of the words comes first, the longest of them; small letters match capitals."""
    longest = sorted(words, key=lambda word: (-len(word), word))
    return re.compile("|".join(map(_bounded, longest))) if longest else None


def _bounded(word: str) -> str:
    before = "" if _UNSPACED.match(word[0]) else rf"(?<![\w{_SIGNS}])"
    after = "" if _UNSPACED.match(word[-1]) else rf"(?![\w{_SIGNS}])"
    spelled = re.escape(word)
    return before + (f"(?i:{spelled})" if word == word.lower() else spelled) + after


def _tidy(ipa: str) -> str:
    ipa = unicodedata.normalize("NFD", ipa.replace("g", "ɡ").replace("'", "ˈ")).replace("c\u0327", "ç")
    return " ".join(ipa.split())


# ---- the file --------------------------------------------------------------------------------------------------------


def _checked(entry: tuple[str, ...], where: str) -> Entry:
    if len(entry) != 3 or not all(isinstance(part, str) and part.strip() for part in entry):
        raise TextError(
            f"{where} is {reprlib.repr(entry)}, expected language, word and what is said, with tabs between them"
        )
    language, word, said = (part.strip() for part in entry)
    if not fold(clean(word), language):
        raise TextError(f"{where} is for {word!r}, which is left out of every text: give a word or a phrase")
    return language.lower().replace("_", "-"), word, said


def _from_lines(text: str) -> list[Entry]:
    lines = [(n, line) for n, line in enumerate(text.splitlines(), 1) if line.strip() and not line.startswith("#")]
    return [_checked(tuple(line.split("\t")), f"line {n}") for n, line in lines]


def _from_yaml(text: str) -> list[Entry]:
    try:
        content = yaml.safe_load(text) or {}
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise TextError(f"not YAML ({error})") from None
    if not isinstance(content, dict) or not all(isinstance(words, dict) for words in content.values()):
        raise TextError("expected a mapping of languages, each with a mapping of words")
    return [
        _checked((str(language), str(word), str(said) if isinstance(said, _SAID) else ""), f"'{word}'")
        for language, words in content.items()
        for word, said in words.items()
    ]
