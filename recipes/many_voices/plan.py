"""Who says what, in which order: any beginning of the plan is balanced over the voices.

Round after round, each seen voice says one sentence, then each voice of the round's cohort of sampled ones does. A
cohort stays for four rounds, so that each of its voices has four clips, and then makes room for the next. So voices
become more rather than longer: that is what cloning learns from.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence

from recipes.many_voices.corpus import Clip
from recipes.many_voices.sentences import held_out, sentences
from recipes.many_voices.voices import own_language, speaker_of

COHORT, ROUNDS_PER_COHORT = 40, 4
OTHER_LANGUAGE = 0.2  # of the clips: a voice must not mean a language
# What a sampled voice speaks, and a seen one when it does not speak its own language.
SHARES = {
    "en-us": 0.32, "en-gb": 0.08, "es": 0.12, "fr-fr": 0.12, "it": 0.11, "pt-br": 0.09, "hi": 0.08, "ja": 0.04,
    "cmn": 0.04,
}  # fmt: skip
HELD_OUT_CLIPS, SEEN_CLIPS = 6, 4


def training_clips(seen: Sequence[str], sampled: Sequence[str], seed: int) -> Iterator[Clip]:
    """The clips of Kokoro without an end."""
    texts = {language: sentences(language, seed) for language in SHARES}
    for number in itertools.count():
        for voice in [*seen, *_cohort(sampled, number)]:
            language = _language(voice, number, seed)
            yield Clip(f"{voice}-{number:03}", next(texts[language]), speaker_of(voice), language, "kokoro")


def held_out_clips(voices: Sequence[str]) -> Iterator[Clip]:
    """Six sentences for each held-out voice, in English, but half of those of an Italian one in Italian."""
    english, italian = iter(held_out("en")), iter(held_out("it"))
    for voice in voices:
        for number in range(HELD_OUT_CLIPS):
            own = own_language(voice)
            language = own if own.startswith("en") or (own == "it" and number % 2) else "en-us"
            text = next(english if language.startswith("en") else italian)
            yield Clip(f"{voice}-{number}", text, speaker_of(voice), language, "kokoro")


def seen_clips(voices: Sequence[str]) -> Iterator[Clip]:
    """Held-out English sentences, over again when all were said; a British voice speaks its own English."""
    texts = itertools.cycle(held_out("en"))
    for voice in voices:
        own = own_language(voice)
        for number in range(SEEN_CLIPS):
            language = own if own.startswith("en") else "en-us"
            yield Clip(f"{voice}-{number}", next(texts), speaker_of(voice), language, "kokoro")


def _cohort(sampled: Sequence[str], number: int) -> Sequence[str]:
    cohorts = [sampled[first : first + COHORT] for first in range(0, len(sampled), COHORT)]
    return cohorts[number // ROUNDS_PER_COHORT % len(cohorts)] if cohorts else []


def _language(voice: str, number: int, seed: int) -> str:
    chance = random.Random(f"{voice}/{number}/{seed}")
    if not voice.startswith("mix") and chance.random() >= OTHER_LANGUAGE:
        return own_language(voice)
    (language,) = chance.choices(list(SHARES), list(SHARES.values()))
    return language
