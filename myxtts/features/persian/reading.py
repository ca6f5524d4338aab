"""Persian phonemes as they are spoken: of eSpeak's words some are replaced, all get their glides, some their ezafe."""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Mapping, Sequence
from importlib import resources

from myxtts.features.normalise.counting import listed
from myxtts.features.persian import gruut
from myxtts.features.persian.ezafe import EzafeTagger

Piece = tuple[str, str]  # (language, words) or ("", a mark or a space)

_LANGUAGE = "fa"
_JOINER, _KASRA, _SUKUN, _HAMZA = "\u200c", "\u0650", "\u0652", "\u0654"
_SIGNS = re.compile("[\u064b-\u0652\u0654\u0670]")
_MAY_BE_MARKED = re.compile(f"[ۀ{_KASRA}{_HAMZA}]|ه{_JOINER}ی")  # most texts are not, which saves looking at each word
# What joins a word without changing it.
_ENDINGS = {
    "ها": "hɑ", "های": "hɑje", "هایی": "hɑjˈi", "هایش": "hɑjaʃ", "هایشان": "hɑjeʃɑn", "هایم": "hɑjam",
    "هایمان": "hɑjemɑn", "ای": "ʔi", "تر": "tar", "ترین": "tarˈin", "اش": "ʔaʃ", "ام": "ʔam", "شان": "ʃɑn",
    "مان": "mɑn", "اند": "ʔand", "ست": "st", "است": "ʔast",
}  # fmt: skip
_GLIDES = ((re.compile("(iː?)(?=ˈ?ˌ?ɑ)"), r"\1j"), (re.compile("([ɑu]ː?)(?=ˈ?ˌ?i)"), r"\1j"))
# The words of numbers, as `normalise` writes them; the last one of an ordinal ends in م.
_COUNTED = frozenset(
    listed(
        "یک دو سه سو چهار پنج شش هفت هشت نه ده یازده دوازده سیزده چهارده پانزده شانزده هفده هجده نوزده بیست سی "
        "سی\u200cا چهل پنجاه شصت هفتاد هشتاد نود صد یکصد دویست سیصد چهارصد پانصد ششصد هفتصد هشتصد نهصد هزار "
        "میلیون میلیارد نیم"
    )
)


def tagger_name() -> str:
    """Which taggers decide on the ezafe, for the fingerprint of tokens."""
    version = gruut.version()
    return f"own + {gruut.PACKAGE} {version}" if version else "own"


def prepare(plan: list[Piece]) -> list[Piece]:
    """The pieces as eSpeak is to see them: an ezafe that the writer has marked would change what it makes of a word."""
    return [
        (language, _without_ezafe(words)) if language == _LANGUAGE else (language, words) for language, words in plan
    ]


def spell(plan: list[Piece], spoken: Mapping[Piece, str], given: Collection[Piece] = ()) -> list[str]:
    """The phonemes of each piece, marks as they are; `spoken` has what eSpeak makes of the prepared pieces.

    Pieces in `given` are said as the user wants it, but for the ezafe.
    """
    words = [piece[1].split() if piece[0] else [piece[1]] * (piece[1] != " ") for piece in plan]
    tags = iter(_tag([word for each in words for word in each]))
    out = []
    for piece, seen, mine in zip(plan, prepare(plan), words, strict=True):
        with_ezafe = [next(tags) for _ in mine]
        if piece in given:
            out.append(_add_ezafe(piece[1], spoken[piece]) if with_ezafe[-1] else spoken[piece])
        elif piece[0] == _LANGUAGE:
            out.append(_spell_words(seen[1].split(), spoken[seen].split(), with_ezafe))
        else:
            out.append(spoken[seen] if piece[0] else piece[1])
    return out


def _spell_words(words: list[str], phonemes: list[str], with_ezafe: list[bool]) -> str:
    if len(words) != len(phonemes):  # a number in digits: which of its words are whose is not known
        return " ".join(phonemes)
    read = [_known_word(word) or _add_glides(ipa) for word, ipa in zip(words, phonemes, strict=True)]
    for at in range(1, len(words) - 1):
        if words[at] == "و" and words[at - 1] in _COUNTED and words[at + 1].rstrip("م") in _COUNTED:
            read[at] = "o"  # 'hezɑr o tʃɑhɑrsad', never 'va'
    each = zip(words, read, with_ezafe, strict=True)
    return " ".join(_add_ezafe(word, ipa) if ezafe else ipa for word, ipa, ezafe in each)


# ---- one word --------------------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=16384)
def _known_word(word: str) -> str | None:
    """The word, or its beginning and a known ending, from the list of the package. A vowelled word is as it is."""
    ipa = _words().get(word)
    if ipa is None and _JOINER in word:
        stem, _, ending = word.rpartition(_JOINER)
        if stem in _words() and ending in _ENDINGS:
            ipa = _words()[stem] + _ENDINGS[ending]
    return ipa


@functools.cache
def _words() -> dict[str, str]:
    text = resources.files("myxtts.features.persian").joinpath("words.tsv").read_text(encoding="utf-8")
    rows = (line.partition("\t") for line in text.splitlines() if not line.startswith("#"))
    return {word: ipa for word, _, ipa in rows}


@functools.lru_cache(maxsize=16384)
def _add_glides(ipa: str) -> str:
    """Between two vowels that eSpeak leaves side by side: zi-jɑd, ɢazɑ-ji."""
    if "ɑ" in ipa or "u" in ipa:
        for pattern, with_glide in _GLIDES:
            ipa = pattern.sub(with_glide, ipa)
    return ipa


def _add_ezafe(word: str, ipa: str) -> str:
    """-e after a consonant, -je after a vowel, -ve after the ow that eSpeak writes o; nothing if it is there."""
    bare = ipa.rstrip("ː")
    if bare.endswith("e") and word[-1] != "ه":
        return bare
    if bare.endswith("o") and word[-1] == "و":
        return bare + "ve"
    return bare + "je" if bare[-1:] in ("a", "e", "o", "ɑ", "u", "i") else ipa + "e"


# ---- the sentence ----------------------------------------------------------------------------------------------------


def _without_ezafe(words: str) -> str:
    if not _MAY_BE_MARKED.search(words):
        return words
    return " ".join(_strip_ezafe(word) for word in words.split(" "))


@functools.lru_cache(maxsize=16384)
def _strip_ezafe(word: str) -> str:
    if word.endswith(("ۀ", "ه" + _HAMZA, f"ه{_JOINER}ی", "هٔ" + _KASRA)):
        return word.rstrip(_KASRA + _HAMZA).removesuffix(_JOINER + "ی").replace("ۀ", "ه")
    return word.removesuffix(_KASRA)


@functools.lru_cache(maxsize=16384)
def _strip_signs(word: str) -> str:
    return _SIGNS.sub("", word) or word


def _tag(words: Sequence[str]) -> list[bool]:
    """Whether each word carries an ezafe: as marked, else as the tagger says."""
    if not words:
        return []
    stripped = [_strip_ezafe(word) for word in words]
    bare = [_strip_signs(word) for word in stripped]
    own, other = _taggers()
    tags = zip(words, stripped, own.tag(bare, other.scores if other else None), strict=True)
    return [word != without or (tag and not word.endswith(_SUKUN)) for word, without, tag in tags]


@functools.cache
def _taggers() -> tuple[EzafeTagger, gruut.GruutTagger | None]:
    return EzafeTagger.load(), gruut.GruutTagger.load() if gruut.version() else None
