"""Which kind of word a Persian word is, as far as its form tells: the little grammar that the ezafe tagger is given.

One letter: V a finite verb, H a participle, I an infinitive, P C D R O N A the closed classes below, Z a word with a
pronoun at its end (which takes no ezafe), '#' a number, '.' a mark, '<' outside of the text, x everything else.
"""

from __future__ import annotations

import functools
import re
from importlib import resources

_JOINER = "\u200c"  # between the parts of a word

_CLOSED = {
    "P": "از به با در بر تا بی جز الا",
    "C": "و یا که اگر چون زیرا ولی اما لیکن چنانچه هرچند گرچه بلکه پس نیز هم",
    "D": "این آن هر هیچ چند چندین همین همان کدام چنین چنان",
    "R": "را رو",
    "O": "من تو او ما شما آنها آن‌ها ایشان وی اینها این‌ها خود خویش آنان اینان یکدیگر همدیگر خودش خودم خودشان",
    "N": "یک دو سه چهار پنج شش هفت هشت نه ده بیست سی چهل پنجاه شصت هفتاد هشتاد نود صد هزار میلیون میلیارد "
    "دوازده پانزده",
    "A": "خیلی بسیار هنوز فقط همیشه هرگز دیگر اکنون حالا امروز دیروز فردا امسال دوباره باز البته کاملا بیشتر کمتر سپس "
    "آنجا اینجا چرا آیا چگونه کجا وقتی هنگامی",
    "V": "است نیست هست هستم هستی هستیم هستید هستند نیستم نیستی نیستیم نیستید نیستند باید نباید شاید خواهم خواهی خواهد "
    "خواهیم خواهید خواهند نخواهم نخواهد نخواهند نخواهیم باد مباد",
}
_PRONOUN_AT_END = re.compile(f"های?(?:ش|م|ت|شان|مان|تان)$|{_JOINER}(?:اش|ام|ات|شان|مان|تان)$")
_PAST_ENDINGS = ("", "م", "ی", "یم", "ید", "ند")
_PRESENT_ENDINGS = ("م", "ی", "د", "یم", "ید", "ند")
_PERFECT_ENDINGS = tuple(_JOINER + ending for ending in ("ام", "ای", "است", "ایم", "اید", "اند"))
_IMPERFECT = ("می" + _JOINER, "نمی" + _JOINER)
_KEEP_WAW = ("شو", "رو", "دو", "گرو", "شنو", "غنو", "درو")  # their و is a consonant: شوم, not شویم


@functools.lru_cache(maxsize=8192)
def word_class(word: str) -> str:
    known = _known().get(word)
    if known:
        return known
    if not word[0].isalpha():
        return word[0] if word[0] in "<>" else "#" if word[0].isdigit() else "."
    if word.startswith(_IMPERFECT):
        return "V"
    return "Z" if _PRONOUN_AT_END.search(word) else "x"


@functools.cache
def _known() -> dict[str, str]:
    """14,800 forms of 230 verbs, and the closed classes, which win where a word is both."""
    lines = resources.files("myxtts.features.persian").joinpath("verbs.txt").read_text(encoding="utf-8").splitlines()
    verbs = [line.split() for line in lines]
    classes = {form: "V" for _, present in verbs for form in _present_forms(present)}
    for past, _ in verbs:
        classes.update({past + "ه": "H", f"ن{past}ه": "H", past + "ن": "I", f"ن{past}ن": "I"})
    classes.update({form: "V" for past, _ in verbs for form in _past_forms(past)})
    classes.update({word: letter for letter, words in _CLOSED.items() for word in words.split()})
    return classes


def _past_forms(stem: str) -> list[str]:
    prefixed = [stem, _prefixed("ن", stem), *(prefix + stem for prefix in _IMPERFECT)]
    forms = [verb + ending for verb in prefixed for ending in _PAST_ENDINGS]
    return forms + [f"{prefix}{stem}ه{ending}" for prefix in ("", "ن") for ending in _PERFECT_ENDINGS]


def _present_forms(stem: str) -> list[str]:
    glide = "ی" if stem[-1] in "او" and stem not in _KEEP_WAW else ""
    prefixed = [_prefixed("ب", stem), _prefixed("ن", stem), *(prefix + stem for prefix in _IMPERFECT)]
    forms = [verb + glide + ending for verb in prefixed for ending in _PRESENT_ENDINGS]
    return forms + [stem + glide + ending for ending in ("د", "ید", "ند")] + ["ب" + stem]


def _prefixed(prefix: str, stem: str) -> str:
    """ن + آمد is نیامد, ب + افتد is بیفتد."""
    return {"آ": f"{prefix}یا{stem[1:]}", "ا": f"{prefix}ی{stem[1:]}"}.get(stem[0], prefix + stem)
