"""Texts become phonemes: one output per input, the same whatever was spoken before.

What eSpeak 1.52 does, found by fuzzing, and what this file does about it:
- It aborts the process, or lets one text change the next, on symbols, letters and vowel signs it does not expect
  (braille in Arabic, a lone accent in Danish): only letters of scripts it has voices for, digits and `_SYMBOLS`
  reach it, in calls of at most `_CALL_CHARS` characters. 90,000 random texts in 137 languages then did neither.
- It drops punctuation: texts are cut at punctuation here, and the marks are put back between the phonemes.
- It spells words of a script that the language does not use ("Chinese letter"): they go to a voice that reads them.
- It expects a doubling sign or a dot before the vowel sign, where NFC puts them behind it, and reads out their names.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterable

from myxtts.features import arabic
from myxtts.features.given import clauses, merge
from myxtts.features.letters import is_silent
from myxtts.features.lexicon import Lexicon
from myxtts.features.persian import reading as persian
from myxtts.features.voices import is_read_from_lists, languages, speak_all, version, version_of_lists

__all__ = ["MARKS", "STRESS", "languages", "phonemise", "readers", "unreadable", "unspoken", "version"]

MARKS = ";:,.!?¡¿—…()"
STRESS = "ˈˌ"

_CALL_CHARS = 200

_MANDARIN = "cmn"
# Syllables that eSpeak 1.52 spells in English letters; seven of their characters are among the 1,500 most frequent.
_CHINESE = Lexicon(
    (_MANDARIN, char, f"/{ipa}/")
    for ipa, chars in {
        "ɕˈionɡ5": "兄凶胸匈汹兇洶", "ɕˈionɡɜ": "雄熊", "tɕhˈionɡ5": "芎", "tɕhˈionɡɜ": "穷琼邛茕穹蛩筇跫銎窮瓊",
        "tɕˈionɡ2": "炯窘迥", "tɕˈionɡ5": "冂扃",
    }.items()
    for char in chars
)  # fmt: skip

Piece = tuple[str, str]  # (language, words) or ("", a mark or a space)
_SPACE = ("", " ")


def phonemise(texts: list[str], language: str, lexicon: Lexicon | None = None) -> list[str]:
    """The IPA of each text with its punctuation, '' where there is nothing to say; `language` as in `languages()`."""
    given: dict[Piece, str] = {}
    plans = [_plan(text, language, lexicon, given) for text in texts]
    if language == "fa":
        shown = [persian.prepare(plan) for plan in plans]
        spoken = speak_all({piece for plan in shown for piece in plan if piece[0]} - given.keys()) | given
        return [_join(plan, persian.spell(plan, spoken, given)) for plan in plans]
    pieces = {piece for plan in plans for piece in plan if piece[0]}
    if given:
        # Only what the fence would let through goes to eSpeak, here as everywhere.
        readable = {piece for piece in given if _pieces(piece[1], language) == [piece]}
        wholes = {whole for plan in plans for whole in clauses(plan, readable).values()}
        pieces = pieces - (given.keys() - readable) | {whole for whole in wholes if len(whole[1]) <= _CALL_CHARS}
    spoken = speak_all(pieces)
    return [_join(plan, merge(plan, spoken, given)) for plan in plans]


def _plan(text: str, language: str, lexicon: Lexicon | None, given: dict[Piece, str]) -> list[Piece]:
    """The pieces of a text; a word of which the lexicon has the phonemes is a piece of its own, and goes to `given`."""
    parts = lexicon.cut(text, language) if lexicon else [(text, "")]
    if language == _MANDARIN:
        parts = [cut for part, ipa in parts for cut in ([(part, ipa)] if ipa else _CHINESE.cut(part, language))]
    shown = [part for part, _ in parts]
    if language == "ar":
        shown = [arabic.for_espeak(part) for part in arabic.vowel(shown)]
    plan: list[Piece] = []
    for (part, ipa), seen in zip(parts, shown, strict=True):
        if ipa:
            given[language, part] = ipa
        pieces = [(language, part)] if ipa else _pieces(seen, language)
        if language == _MANDARIN and plan and plan[-1][0] and pieces and pieces[0][0]:
            plan.append(_SPACE)  # as eSpeak writes syllables
        plan += pieces
    return plan


def _join(plan: list[Piece], spelled: list[str]) -> str:
    """Words and marks in one string; '' unless some word has a sound."""
    if not any(ipa for (language, _), ipa in zip(plan, spelled, strict=True) if language):
        return ""
    return " ".join("".join(spelled).split())


def readers(english_from_lists: bool = False) -> dict[str, str]:
    """Language -> who else decides on its phonemes, as far as that depends on what is installed."""
    tashkeel, lists = arabic.version(), version_of_lists()
    names = {"fa": persian.tagger_name()} | ({"ar": f"libtashkeel of {arabic.PACKAGE} {tashkeel}"} if tashkeel else {})
    return names | ({"en": lists} if english_from_lists and lists else {})


def unreadable(text: str, language: str) -> str:
    """The letters of a text that no voice can read in this language, each once, in order."""
    if text.isascii():
        return ""
    letters = dict.fromkeys(char for char in text if char.isalpha())
    if _is_alone(language):
        return "".join(char for char in letters if not _LATIN_LETTER.match(char))
    return "".join(char for char in letters if not _is_readable(char, language))


def _is_readable(char: str, language: str) -> bool:
    if _HAN.match(char):
        voice = language if language in _SCRIPTS["Han"][1].split() else _MANDARIN
        return language not in _WITHOUT_HAN and not _is_called_a_letter(char, voice)
    return char in _SYMBOLS or _LETTERS.match(char) is not None


@functools.lru_cache(maxsize=65536)
def _is_called_a_letter(han: str, voice: str) -> bool:
    """Whether the voice says 'letter' for a Chinese character, the same for each of the thousands it does not know."""
    spoken = speak_all({(voice, han), (voice, _UNKNOWN_HAN)})
    return spoken[voice, han].startswith(spoken[voice, _UNKNOWN_HAN])


def unspoken(text: str, language: str) -> str:
    """The symbols and signs of a text of which nothing is heard, each once, in order."""
    shown = text.translate(_READABLE)
    lost = {char for char in set(text) if not is_silent(char) and not _READABLE[ord(char)].strip()}
    if not shown.isascii():
        lost |= set("".join(_ORPHAN.findall(shown))) - {"\u200c", "\u200d"}
    # ASCII words of three letters have a sound: 23,016 random ones did. A Chinese character is a word.
    words = _HAN.sub(r" \g<0> ", text).split()
    lost |= {char for word in words if len(word) <= 3 or not word.isascii() for char in _mute(word, language)}
    doubtful = [char for char in set(text) if char not in lost and (char in _DOUBTFUL or char.isdecimal())]
    lost |= _unheard(doubtful, text, language, " ")
    return "".join(char for char in dict.fromkeys(text) if char in lost)


@functools.lru_cache(maxsize=65536)
def _mute(word: str, language: str) -> frozenset[str]:
    """All of a word that has no sound; of others the signs (vowels, tones) that the voice does not know."""
    if not _heard([word], language)[0]:
        return frozenset(char for char in word if not is_silent(char))
    signs = [char for char in dict.fromkeys(word) if unicodedata.category(char)[0] == "M"]
    return frozenset(_unheard(signs, word, language, ""))


def _unheard(symbols: list[str], text: str, language: str, instead: str) -> set[str]:
    """Those without which the text sounds the same."""
    if not symbols:
        return set()
    shorter = [" ".join(text.replace(symbol, instead).split()) for symbol in symbols]
    whole, *without = _heard([text, *shorter], language)
    return {symbol for symbol, sounds in zip(symbols, without, strict=True) if sounds == whole}


def _heard(texts: list[str], language: str) -> list[str]:
    """The sounds that eSpeak makes of each text, nothing else of it."""
    plans = [_pieces(text, language) for text in texts]
    spoken = speak_all({piece for plan in plans for piece in plan if piece[0]})
    return [_sounds("".join(spoken[piece] for piece in plan if piece[0])) for plan in plans]


def _sounds(ipa: str) -> str:
    return "".join(char for char in ipa if char.isalnum() and char not in STRESS)


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
    "Han": ("\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff", "cmn cmn-latn-pinyin yue"),
    "Shavian": ("\U00010450-\U0001047f", "en-shaw"),
}
_LATIN = "A-Za-z\u00aa\u00ba\u00c0-\u024f\u0259\u1e00-\u1eff"
_BLOCKS = "".join(points for points, _ in _SCRIPTS.values())
_LETTERS, _LATIN_LETTER = re.compile(f"[{_LATIN}{_BLOCKS}]"), re.compile(f"[{_LATIN}]")
_SIGNS = "\u200c\u200d" + "".join(chr(c) for c in range(0x370, 0x3100) if unicodedata.category(chr(c))[0] == "M")
_HAN = re.compile(f"[{_SCRIPTS['Han'][0]}]")
_WITHOUT_HAN = ("ja", "ko", "hak")  # eSpeak has no readings of theirs, and the Mandarin ones would be wrong there
_UNKNOWN_HAN = "\u3402"  # no voice of eSpeak 1.52 knows it


def _is_alone(language: str) -> bool:
    """Whether this is English from its lists and there is no voice for any other script."""
    return is_read_from_lists(language) and version() is None


@functools.cache
def _foreign(language: str) -> re.Pattern[str]:
    """Words of scripts the language does not use; a single Greek letter ('the angle α') is left to eSpeak's voice."""
    words = ["(?!)"]
    for name, (points, readers) in _SCRIPTS.items():
        if language not in readers.split() and not _is_alone(language):
            single = "" if name == "Greek" and not is_read_from_lists(language) else "?"
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
_DOUBTFUL = frozenset("%&$€£¥₹₽@#+=°/²³½¼¾٪")  # some voices read them, some do not, some only beside a number
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
_DOUBLED = re.compile(
    "([\u064b-\u0650\u0670]+)(\u0651)|([\u05b0-\u05bb]+)([\u05bc\u05c1\u05c2]+)"
)  # shadda, dagesh, shin dot
_QUOTE = re.compile(r'(?<=\w)"(?=\w)')
_QUOTED = re.compile(r"(?<!\w)'(?=\w)([^']*(?:(?<=\w)'(?=\w)[^']*)*)'(?!\w)")  # 'so', but not the apostrophe in don't
_DASH = re.compile(r"(?<!\S)-+(?!\S)|-{2,}")
_STRAY_HYPHEN = re.compile(r"(?<!\w)-(?!\d)|(?<=[^\w ])-|-(?!\w)")
_HYPHEN = re.compile(r"-(?!\d)|(?<! )(?<!^)-")
_WITHOUT_HYPHENS = ("da", "vi")  # they crash on a hyphen between something silent and a letter ("óh-a")
# A dot before a Chinese character ends something: eSpeak says 'space' for the character in 'B.十'.
_MARK = re.compile(rf"[;!?¡¿—…()]|(?<!\d)[,:]|[,:](?!\d)|\.(?!\w)|\.(?=[{_SCRIPTS['Han'][0]}])")
_CHUNK = re.compile(rf".{{1,{_CALL_CHARS}}}(?=\s|$)|.{{1,{_CALL_CHARS}}}")
_TITLE = re.compile(
    r"[^\W\d_](\.[^\W\d_])+|Mrs?|Ms|Dr|Prof|St|Rev|Hon|Gen|Col|Capt|Lt|Sgt|Gov|Sen|Mt|Sra?|Mme|Mlle|Hr|Fr|Dott|Sig"
)
_SHORTENED = re.compile(r"\d+|vs|etc|approx|dept|Jr|bzw|ca|usw|Nr")  # may end a sentence, but not before a small letter


def _pieces(text: str, language: str) -> list[Piece]:
    text = _DASH.sub("—", _unquoted(text.translate(_READABLE)))
    if not text.isascii():
        text = _DOUBLED.sub(r"\2\1\4\3", _ORPHAN.sub("", text))
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
