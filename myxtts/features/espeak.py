"""The eSpeak NG library behind a lock: words in, tidy IPA out. Nothing else knows eSpeak.

- It lives in global variables, and moves on in a text by itself: a private copy, one caller at a time, one voice after
  the other.
- It writes some phonemes with ASCII signs ('s.' in Mandarin, '?' in Danish): `_OWN_SIGNS` are theirs instead; and
  the Persian ق and غ as 'q1', the Turkic and Kurdish dark l as 'l1': digits stay tones only.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import re
import shutil
import threading
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from myxtts.errors import MissingExtra, TextError

_PATH_BYTES = 140  # eSpeak keeps the path of its data in 160 bytes and ends the process when it does not fit
_UTF8, _IPA_OUTPUT = 1, 2  # neither SSML (0x10) nor [[phoneme]] input (0x100)

_LOCK = threading.Lock()  # eSpeak lives in global variables; ctypes releases the GIL, so other threads work meanwhile


@functools.cache
def is_installed() -> bool:
    return all(importlib.util.find_spec(name) is not None for name in ("espeakng_loader", "phonemizer"))


def languages() -> dict[str, str]:
    """eSpeak's language codes, lower-cased, and their English names."""
    with _LOCK:
        return {code: name for code, (_, name) in _espeak().voices.items()}


def version() -> str:
    with _LOCK:
        return _espeak().version


def speak_all(pieces: set[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """The IPA of each (language, words). Sorted, so that a batch changes the voice once per language."""
    with _LOCK:
        espeak = _espeak()
        return {piece: _tidy(espeak.speak(*piece)) for piece in sorted(pieces)}


_FLAG = re.compile(r"\([^)]*\)")  # '(en)': eSpeak changed its language; a text's own parentheses never reach it
_OWN_SIGNS: dict[str | int, str | None] = {
    ".": "\u0323", ":": "ː", "?": "ʔ", "`": "ʼ", '"': "\u0308", "#": "\u0325", "+": "˩", "-": "\u0306",
    "[": "\u032a", "^": "ʲ", "~": "\u0303", "@": "ə", "g": "ɡ", "ε": "ɛ", "Φ": "ɸ", "A": "ɑ", "E": "ɛ", "I": "ɪ",
    "N": "ŋ", "O": "ɔ", "S": "ʃ", "T": "θ", "D": "ð", "U": "ʊ", "V": "ʌ", "X": "χ", "Z": "ʒ",
}  # fmt: skip
_IPA = str.maketrans(_OWN_SIGNS | dict.fromkeys([*"_!$%&'()*,/;<=>\\]{|}", *range(32)]))


def _tidy(ipa: str) -> str:
    ipa = _FLAG.sub("", ipa).replace("q1", "ɢ").replace("l1", "ɫ").translate(_IPA)
    ipa = unicodedata.normalize("NFD", ipa).replace("c\u0327", "ç")  # one nasal tilde, but ç is a letter of the IPA
    return " ".join(ipa.split())


class _Espeak:
    """A private copy of the library, so that nobody else in the process changes its voice."""

    def __init__(self) -> None:
        try:
            import espeakng_loader
            from phonemizer.backend.espeak.api import EspeakAPI
        except ImportError:
            raise MissingExtra("phonemizer-fork", "phonemes", "phonemising text") from None
        data = Path(espeakng_loader.get_data_path())
        if len(str(data).encode()) > _PATH_BYTES:
            raise TextError(
                f"eSpeak's data is at {data}, a path of more than {_PATH_BYTES} bytes, which eSpeak cannot open: "
                "install the package espeakng-loader in a folder with a shorter name"
            )
        try:
            self._api = _loaded(EspeakAPI, espeakng_loader.get_library_path(), data)
        except (OSError, RuntimeError) as error:  # it is copied to the temporary folder and loaded from there
            raise TextError(f"eSpeak does not start: {error}; the folder of TMPDIR must allow programs") from None
        self._voice = ""
        self.version: str = self._api.info()[0].decode()
        self.voices = _voices(self._api, data)

    def speak(self, language: str, words: str) -> str:
        if self._voice != language:
            self._api.set_voice_by_name(self.voices[language][0].encode())
            self._voice = language
        text = ctypes.c_char_p(words.encode())
        pointer = ctypes.pointer(text)
        clauses = []
        while text:  # eSpeak moves the pointer past one clause per call, to NULL at the end
            clauses.append(self._api.text_to_phonemes(pointer, _UTF8, _IPA_OUTPUT) or b"")
        return b" ".join(clauses).decode(errors="ignore")


def _loaded(kind: Any, library: str, data: Path) -> Any:
    """phonemizer's door to a copy of the library. The copy is deleted as soon as it is loaded and not when the process
    ends: one that is killed would leave 1 MB in the temporary folder each time."""

    class Api(kind):
        @staticmethod
        def _delete(_: Any, folder: str) -> None:
            shutil.rmtree(folder, ignore_errors=True)

    api = Api(library, data)
    shutil.rmtree(api._tempdir, ignore_errors=True)
    return api


@functools.cache
def _espeak() -> _Espeak:
    return _Espeak()


def _voices(api: Any, data: Path) -> dict[str, tuple[str, str]]:
    """Language code -> (eSpeak's identifier, name); of two voices for one language the shorter identifier."""
    voices: dict[str, tuple[str, str]] = {}
    for identifier, language, name in sorted(_listed(api), key=lambda voice: (len(voice[0]), voice)):
        if (data / f"{_dictionary(data / 'lang' / identifier, language)}_dict").is_file():
            voices.setdefault(language.lower(), (identifier, name.strip()))
    return dict(sorted(voices.items()))


def _listed(api: Any) -> Iterable[tuple[str, str, str]]:
    pointers = api.list_voices(None)
    index = 0
    while pointers[index]:
        voice = pointers[index].contents
        yield voice.identifier.decode(), voice.languages[1:].decode(), voice.name.decode()  # byte 0 is a priority
        index += 1


def _dictionary(voice: Path, language: str) -> str:
    """The dictionary a voice file asks for. Version 1.52 lists three voices (fo, kaa, xex) that have none."""
    named = re.search(r"^dictionary\s+(\S+)", voice.read_text(encoding="utf-8"), re.MULTILINE)
    return named[1] if named else language.split("-")[0]
