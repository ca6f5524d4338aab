"""What a voice has lost of the model that it started from, as far as a few sentences can tell."""

from __future__ import annotations

import math
from collections.abc import Sequence

from myxtts.evaluation.clip import REAL, SYNTHETIC, Scores, Sentence
from myxtts.evaluation.measures import MEASURES
from myxtts.evaluation.words import spoken_words

SENTENCES = 16  # about 2 CPU-seconds of judges each when the recordings are new to them, a third of it afterwards
# By how much a voice may fall below its start before it is said. Characters count where no words are between spaces.
WORSE = {"similarity": 0.02, "wer": 0.05, "cer": 0.03}
GUARDS = tuple(dict.fromkeys(MEASURES[name].judge for name in WORSE))  # the judges that it is said by
_RATES = ("wer", "cer")
# A recogniser that gets more of the recordings' own characters wrong does not know the language: Whisper base has 0.49
# for Persian, 0.87 for Hindi, and 0.15 at most for the languages that it knows (recipes/many_voices/understood.py).
_MOST_MISHEARD = 0.25
_SURE = 2.0  # standard errors. A voice of 5 minutes was refused for 2, 3 and 4 of 24 words, where its start had all
_LETTERS_OF_A_WORD = 4.0  # which are misheard together


def complaints_of(scores: Scores, start: Scores, sentences: Sequence[Sentence]) -> list[str]:
    """Of what both have, as far as the judges know the language."""
    misheard = scores.get("cer", {}).get(REAL, 0.0) > _MOST_MISHEARD
    names = [name for name in WORSE if not (name in _RATES and misheard) and not (name == "cer" and "wer" in scores)]
    heard = {name: (scores.get(name, {}).get(SYNTHETIC), start.get(name, {}).get(SYNTHETIC)) for name in names}
    return [
        f"{MEASURES[name].title} is {now:.2f} and was {before:.2f} before this training ({len(sentences)} sentences)"
        for name, (now, before) in heard.items()
        if now is not None and before is not None
        and MEASURES[name].lower_better(now - before) > _allowed(name, now, before, sentences)
    ]  # fmt: skip


def _allowed(name: str, now: float, before: float, sentences: Sequence[Sentence]) -> float:
    """By how much it may be worse: more where few sentences or words leave more to chance."""
    if name not in _RATES:
        return WORSE[name] * math.sqrt(SENTENCES / len(sentences))
    words = [spoken_words(each.text, each.language) for each in sentences]
    count = sum(map(len, words)) if name == "wer" else sum(len(" ".join(each)) for each in words) / _LETTERS_OF_A_WORD
    rate = min((now + before) / 2, 0.5)
    return WORSE[name] + _SURE * math.sqrt(2 * rate * (1 - rate) / max(count, 1))
