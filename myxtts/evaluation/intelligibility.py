"""Can it be understood? Word and character error rates of what a recogniser writes down."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from myxtts.errors import SpeechError
from myxtts.evaluation.clip import SPOKEN, Clip, Scores
from myxtts.evaluation.recogniser import Recogniser
from myxtts.evaluation.words import spoken_words, without_spaces
from myxtts.features.mel import SAMPLE_RATE


class Intelligibility:
    """`ears` gives the recogniser for a language."""

    name = "intelligibility"

    def __init__(self, ears: Callable[[str], Recogniser]):
        self._ears = ears
        self.deaf_to: dict[str, str] = {}  # language of which nothing is said -> why

    def notes(self) -> dict[str, str]:
        return {"wer": "; ".join(dict.fromkeys(self.deaf_to.values()))} if self.deaf_to else {}

    def __call__(self, clip: Clip) -> Scores:
        if clip.language in self.deaf_to or not spoken_words(clip.text, clip.language):
            return {}
        recogniser = self._ears(clip.language)
        for kind, audio in clip.sounds.items():
            if clip.same_text or kind in SPOKEN:
                clip.heard[kind] = recogniser(audio, SAMPLE_RATE)
        rates = {"cer": character_error_rate} | ({} if without_spaces(clip.language) else {"wer": word_error_rate})
        return {
            name: {kind: rate([clip.text], [heard], clip.language) for kind, heard in clip.heard.items()}
            for name, rate in rates.items()
        }


def word_error_rate(texts: Sequence[str], heard: Sequence[str], language: str = "en") -> float:
    """Edits / words over all texts together. Above 1 when more was heard than said."""
    return _error_rate([spoken_words(text, language) for text in texts], [spoken_words(h, language) for h in heard])


def character_error_rate(texts: Sequence[str], heard: Sequence[str], language: str = "en") -> float:
    """Edits / characters over all texts together, single spaces between the words, none where none are written."""
    space = "" if without_spaces(language) else " "
    return _error_rate(*([space.join(spoken_words(text, language)) for text in group] for group in (texts, heard)))


def _error_rate(said: Sequence[Sequence[str]], heard: Sequence[Sequence[str]]) -> float:
    edits = sum(edit_distance(a, b) for a, b in zip(said, heard, strict=True))
    length = sum(map(len, said))
    if length == 0:
        raise SpeechError("the texts have no words to compare: give texts with at least one letter or number")
    return edits / length


def edit_distance(said: Sequence[str], heard: Sequence[str]) -> int:
    """The fewest insertions, deletions and substitutions that turn one into the other (Levenshtein)."""
    row = list(range(len(heard) + 1))
    for n, wanted in enumerate(said, 1):
        diagonal, row[0] = row[0], n
        for m, word in enumerate(heard, 1):
            diagonal, row[m] = row[m], min(row[m] + 1, row[m - 1] + 1, diagonal + (wanted != word))
    return row[-1]
