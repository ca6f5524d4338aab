"""Names of languages: as people write them, and eSpeak's codes, which everything else uses."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Sequence

from myxtts.errors import MissingExtra, TextError, install_command
from myxtts.features import voices

ALIASES = {
    "en": "en-us", "english": "en-us", "en-uk": "en-gb", "eng": "en-us",
    "zh": "cmn", "zho": "cmn", "chi": "cmn", "chinese": "cmn", "mandarin": "cmn", "cantonese": "yue", "zh-hk": "yue",
    "zh-yue": "yue", "fr": "fr-fr", "french": "fr-fr", "fra": "fr-fr", "fre": "fr-fr", "farsi": "fa", "fas": "fa",
    "per": "fa", "pes": "fa", "ara": "ar", "arb": "ar", "deu": "de", "ger": "de", "spa": "es", "es-mx": "es-419",
    "ita": "it", "por": "pt", "rus": "ru", "ukr": "uk", "tur": "tr", "hin": "hi", "jpn": "ja", "kor": "ko", "nld": "nl",
    "dut": "nl", "pol": "pl", "vie": "vi", "urd": "ur", "heb": "he", "iw": "he", "in": "id", "no": "nb",
    "nn": "nb", "norwegian": "nb", "burmese": "my", "irish": "ga", "cherokee": "chr-us-qaaa-x-west",
    "chr": "chr-us-qaaa-x-west",
}  # fmt: skip


def tag_of(language: str) -> str:
    return language.strip().lower().replace("_", "-")


@functools.lru_cache(maxsize=256)
def resolve_language(name: str) -> str:
    """eSpeak's code for a language: 'en', 'EN_us' and 'English' are en-us, 'fa-IR' is fa, 'zh-CN' is cmn."""
    wanted = tag_of(name)
    known = voices.languages()
    by_name = {title.lower().partition(" (")[0]: code for code, title in sorted(known.items(), reverse=True)}
    by_name |= {title.lower(): code for code, title in known.items()}
    tag = wanted
    while tag:
        code = ALIASES.get(tag, by_name.get(tag, tag))
        if code in known:
            return code
        tag = tag.rpartition("-")[0]
    if voices.version() is None:
        raise TextError(
            f"'{name}' needs eSpeak, without it English is read only ({', '.join(known)}): run "
            f"{install_command('phonemes')}, or use text_tokens: characters"
        )
    close = difflib.get_close_matches(wanted, [*known, *by_name, *ALIASES], n=3, cutoff=0.5) or ["en-us", "fa", "cmn"]
    raise TextError(
        f"'{name}' is not one of eSpeak's {len(known)} languages, the nearest are {', '.join(close)}: "
        "use one of its codes, or text_tokens: characters"
    )


def relative(language: str, known: Sequence[str]) -> str | None:
    """The language itself, or one that differs from it by its region alone: es for es-419."""
    if language in known:
        return language
    return next((name for name in known if family_of(name) == family_of(language)), None)


def family_of(name: str) -> str:
    """'fa' for 'fa-IR' and 'Persian', 'en' for 'en-us'; the first part where eSpeak does not know it, or is missing."""
    try:
        return resolve_language(name).split("-")[0]
    except (TextError, MissingExtra):  # nor does anybody who has not installed it
        return tag_of(name).split("-")[0]
