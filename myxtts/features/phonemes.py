"""Phonemes by eSpeak NG: one output per input, the same whatever was spoken before. Nothing else knows eSpeak.

What eSpeak 1.52 does, found by fuzzing, and what this file does about it:
- It aborts the process, or lets one text change the next, on symbols, letters and vowel signs it does not expect
  (braille in Arabic, a lone accent in Danish): only letters of scripts it has voices for, digits and `_SYMBOLS`
  reach it, in calls of at most `_CALL_CHARS` characters. 90,000 random texts in 137 languages then did neither.
- It drops punctuation: texts are cut at punctuation here, and the marks are put back between the phonemes.
- It spells words of a script that the language does not use ("Chinese letter"): they go to a voice that reads them.
- It writes some phonemes with ASCII signs ('s.' in Mandarin, '?' in Danish): `_OWN_SIGNS` are theirs instead.
"""

from __future__ import annotations

import ctypes
import functools
import re
import threading
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from myxtts.errors import MissingExtra, TextError

MARKS = ";:,.!?¡¿—…()"
STRESS = "ˈˌ"

_CALL_CHARS = 200
_PATH_BYTES = 140  # eSpeak keeps the path of its data in 160 bytes and ends the process when it does not fit
_UTF8, _IPA_OUTPUT = 1, 2  # neither SSML (0x10) nor [[phoneme]] input (0x100)

_LOCK = threading.Lock()  # eSpeak lives in global variables; ctypes releases the GIL, so other threads work meanwhile

Piece = tuple[str, str]  # (language, words) or ("", a mark or a space)
_SPACE = ("", " ")


def phonemise(texts: list[str], language: str) -> list[str]:
    """The IPA of each text with its punctuation, '' where there is nothing to say; `language` as in `languages()`."""
    plans = [_pieces(text, language) for text in texts]
    spoken = _speak_all({piece for plan in plans for piece in plan if piece[0]})
    return [_join(plan, spoken) for plan in plans]


def languages() -> dict[str, str]:
    """eSpeak's language codes, lower-cased, and their English names."""
    with _LOCK:
        return {code: name for code, (_, name) in _espeak().voices.items()}


def version() -> str:
    with _LOCK:
        return _espeak().version


def unreadable(text: str, language: str) -> str:
    """The letters of a text that no voice can read in this language, each once, in order."""
    if text.isascii():
        return ""
    letters = dict.fromkeys(char for char in text if char.isalpha())
    return "".join(
        char for char in letters if not _LETTERS.match(char) or (language in _WITHOUT_HAN and _HAN.match(char))
    )


# ---- words of another script ----------------------------------------------------------------------------------------

# script: its code points, the languages that read it (the first one also for everybody else)
_SCRIPTS: dict[str, tuple[str, str]] = {
    "Greek": ("\u0370-\u03ff\u1f00-\u1fff", "el grc"),
    "Cyrillic": ("\u0400-\u052f", "ru ru-cl ru-lv uk be bg mk sr bs hr kk ky tt ba cv nog uz tk az"),
    "Armenian": ("\u0531-\u058f", "hy hyw"),
    "Hebrew": ("\u0591-\u05f4", "he"),
    "Arabic": ("\u0600-\u06ff\u0750-\u077f\u08a0-\u08ff", "ar fa fa-latn ur sd ug ku"),
    "Devanagari": ("\u0900-\u097f", "hi mr ne kok"),
    "Bengali": ("\u0980-\u09ff", "bn as bpy"),
    "Gurmukhi": ("\u0a00-\u0a7f", "pa"),
    "Gujarati": ("\u0a80-\u0aff", "gu"),
    "Oriya": ("\u0b00-\u0b7f", "or"),
    "Tamil": ("\u0b80-\u0bff", "ta"),
    "Telugu": ("\u0c00-\u0c7f", "te"),
    "Kannada": ("\u0c80-\u0cff", "kn"),
    "Malayalam": ("\u0d00-\u0d7f", "ml"),
    "Sinhala": ("\u0d80-\u0dff", "si"),
    "Thai": ("\u0e01-\u0e5b", "th"),
    "Myanmar": ("\u1000-\u109f", "my shn"),
    "Georgian": ("\u10a0-\u10ff\u1c90-\u1cbf", "ka"),
    "Ethiopic": ("\u1200-\u139f", "am ti"),
    "Cherokee": ("\u13a0-\u13ff\uab70-\uabbf", "chr-us-qaaa-x-west"),
    "Hangul": ("\u3131-\u3163\uac00-\ud7a3", "ko"),
    "Kana": ("\u3041-\u30ff\u31f0-\u31ff", "ja"),
    "Han": ("\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff", "cmn cmn-latn-pinyin yue hak"),
    "Shavian": ("\U00010450-\U0001047f", "en-shaw"),
}
_LATIN = "A-Za-z\u00aa\u00ba\u00c0-\u024f\u0259\u1e00-\u1eff"
_BLOCKS = "".join(points for points, _ in _SCRIPTS.values())
_LETTERS = re.compile(f"[{_LATIN}{_BLOCKS}]")
_SIGNS = "\u200c\u200d" + "".join(chr(c) for c in range(0x370, 0x3100) if unicodedata.category(chr(c))[0] == "M")
_HAN = re.compile(f"[{_SCRIPTS['Han'][0]}]")
_WITHOUT_HAN = ("ja", "ko")  # eSpeak has no kanji readings, and the Mandarin ones would be wrong there


@functools.cache
def _foreign(language: str) -> re.Pattern[str]:
    """Words of scripts the language does not use; a single Greek letter ('the angle α') is left to the language."""
    words = []
    for name, (points, readers) in _SCRIPTS.items():
        if language not in readers.split():
            single = "" if name == "Greek" else "?"
            words.append(f"(?P<{name}>[{points}](?:[{points} '\u200c\u200d-]*[{points}]){single})")
    return re.compile("|".join(words))


def _runs(words: str, language: str) -> Iterable[Piece]:
    if not words:
        return
    start = 0
    if not words.isascii():
        for match in _foreign(language).finditer(words):
            if match.start() > start:
                yield language, words[start : match.start()]
            yield _SCRIPTS[match.lastgroup or ""][1].split()[0], match[0]
            start = match.end()
    if start < len(words):
        yield language, words[start:]


# ---- cutting a text into words and marks ----------------------------------------------------------------------------

_SYMBOLS = frozenset("%&$€£¥₹₽@#+=°/'\"-.,:²³½¼¾·ʼʻ٪\u0301\u200c\u200d") | frozenset(MARKS)
_BRACKETS = {"[": "(", "{": "(", "]": ")", "}": ")"}


class _Readable(dict[int, str]):
    """What of a character eSpeak may see; filled as characters are met."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        kind = unicodedata.category(char)
        if kind == "Nd":
            self[code] = str(unicodedata.digit(char))
        elif char in _SYMBOLS or (kind[0] in "LM" and _LETTERS.match(char)):
            self[code] = char
        else:
            self[code] = "" if kind == "Mn" else _BRACKETS.get(char, " ")
        return self[code]


_READABLE = _Readable()
# Vowel signs and joiners that follow no letter, and the acute, which is a stress mark in Cyrillic only.
_ORPHAN = re.compile(rf"(?<![{_BLOCKS}])[{_SIGNS}]+|[\u200c\u200d]+(?![{_BLOCKS}])|(?<![\u0400-\u052f])\u0301+")
_QUOTE = re.compile(r'(?<=\w)"(?=\w)')
_QUOTED = re.compile(r"(?<!\w)'(?=\w)([^']*(?:(?<=\w)'(?=\w)[^']*)*)'(?!\w)")  # 'so', but not the apostrophe in don't
_DASH = re.compile(r"(?<!\S)-+(?!\S)|-{2,}")
_STRAY_HYPHEN = re.compile(r"(?<!\w)-(?!\d)|(?<=[^\w ])-|-(?!\w)")
_HYPHEN = re.compile(r"-(?!\d)|(?<! )(?<!^)-")
_WITHOUT_HYPHENS = ("da", "vi")  # they crash on a hyphen between something silent and a letter ("óh-a")
_MARK = re.compile(r"[;!?¡¿—…()]|(?<!\d)[,:]|[,:](?!\d)|\.(?!\w)")
_CHUNK = re.compile(rf".{{1,{_CALL_CHARS}}}(?=\s|$)|.{{1,{_CALL_CHARS}}}")
_TITLE = re.compile(
    r"[^\W\d_](\.[^\W\d_])+|Mrs?|Ms|Dr|Prof|St|Rev|Hon|Gen|Col|Capt|Lt|Sgt|Gov|Sen|Mt|Sra?|Mme|Mlle|Hr|Fr|Dott|Sig"
)
_SHORTENED = re.compile(r"\d+|vs|etc|approx|dept|Jr|bzw|ca|usw|Nr")  # may end a sentence, but not before a small letter


def _pieces(text: str, language: str) -> list[Piece]:
    text = _DASH.sub("—", _unquoted(text.translate(_READABLE)))
    if not text.isascii():
        text = _ORPHAN.sub("", text)
    if "-" in text:
        text = (_HYPHEN if language.split("-")[0] in _WITHOUT_HYPHENS else _STRAY_HYPHEN).sub(" ", text)
    pieces: list[Piece] = []
    start = 0
    for match in _MARK.finditer(text):
        if match[0] == "." and _abbreviates(text, match.start()):
            continue
        _add_words(pieces, text[start : match.start()], language)
        if not pieces or pieces[-1] != ("", match[0]):  # "!!!" is one mark
            pieces.append(("", match[0]))
        start = match.end()
    _add_words(pieces, text[start:], language)
    return pieces


def _unquoted(text: str) -> str:
    """Quotes are left out: cut there, 'the "apple"' would be two clauses, with a stressed 'the' before no vowel."""
    if '"' in text:
        text = _QUOTE.sub(" ", text).replace('"', "")
    return _QUOTED.sub(r"\1", text) if "'" in text else text


def _abbreviates(text: str, at: int) -> bool:
    """Whether the dot belongs to the word before it ('Dr. No', 'e.g. this', '3. mai') and ends no sentence."""
    after = text[at + 1 : at + 3]
    if len(after) < 2 or after[0] != " " or not after[1].isalnum():
        return False
    word = text[max(text.rfind(mark, 0, at) for mark in " (") + 1 : at]
    initial = len(word) == 1 and word.isupper() and word != "I"
    if initial or _TITLE.fullmatch(word):
        return True
    return after[1].islower() and _SHORTENED.fullmatch(word) is not None


def _add_words(pieces: list[Piece], words: str, language: str) -> None:
    """Append words, with one space wherever the text has one or the voice changes."""
    if words[:1] == " ":
        pieces.append(_SPACE)
    for run_language, run in _runs(words.strip(), language):
        for chunk in _CHUNK.findall(run):
            if chunk := chunk.strip().lstrip(_SIGNS):
                pieces += ((run_language, chunk), _SPACE)
    if words.strip() and words[-1] != " " and pieces and pieces[-1] == _SPACE:
        pieces.pop()


# ---- eSpeak ---------------------------------------------------------------------------------------------------------

_FLAG = re.compile(r"\([^)]*\)")  # '(en)': eSpeak changed its language; a text's own parentheses never reach it
_OWN_SIGNS: dict[str | int, str | None] = {
    ".": "\u0323", ":": "ː", "?": "ʔ", "`": "ʼ", '"': "\u0308", "#": "\u0325", "+": "˩", "-": "\u0306",
    "[": "\u032a", "^": "ʲ", "~": "\u0303", "@": "ə", "g": "ɡ", "ε": "ɛ", "Φ": "ɸ", "A": "ɑ", "E": "ɛ", "I": "ɪ",
    "N": "ŋ", "O": "ɔ", "S": "ʃ", "T": "θ", "D": "ð", "U": "ʊ", "V": "ʌ", "X": "χ", "Z": "ʒ",
}  # fmt: skip
_IPA = str.maketrans(_OWN_SIGNS | dict.fromkeys([*"_!$%&'()*,/;<=>\\]{|}", *range(32)]))


def _speak_all(pieces: set[Piece]) -> dict[Piece, str]:
    """The IPA of each (language, words). Sorted, so that a batch changes the voice once per language."""
    with _LOCK:
        espeak = _espeak()
        return {piece: _tidy(espeak.speak(*piece)) for piece in sorted(pieces)}


def _tidy(ipa: str) -> str:
    ipa = _FLAG.sub("", ipa).translate(_IPA)
    ipa = unicodedata.normalize("NFD", ipa).replace("c\u0327", "ç")  # one nasal tilde, but ç is a letter of the IPA
    return " ".join(ipa.split())


def _join(plan: list[Piece], spoken: dict[Piece, str]) -> str:
    """Words and marks in one string; '' unless some word has a sound."""
    out = [spoken[piece] if piece[0] else piece[1] for piece in plan]
    if not any(spoken[piece] for piece in plan if piece[0]):
        return ""
    return " ".join("".join(out).split())


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
            self._api = EspeakAPI(espeakng_loader.get_library_path(), data)
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
