"""Can it be understood? Word and character error rates of a voice, always beside the real recordings and their copy.

The copy is the real audio's mel through the same vocoder: what is lost between real and copy is the vocoder's, what is
lost between copy and synthetic is the model's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from myxtts.errors import SpeechError
from myxtts.evaluation.recogniser import Recogniser
from myxtts.evaluation.words import spoken_words
from myxtts.features.audio import resample, to_float
from myxtts.features.mel import SAMPLE_RATE, log_mel
from myxtts.inference.vocoder import DEFAULT_VOCODER, Vocoder, find_vocoder

KINDS = ("synthetic", "real", "copy")


class Sentence(NamedTuple):
    """A text and its real recording, int16 or float [samples]."""

    text: str
    audio: NDArray[Any]
    sample_rate: int = SAMPLE_RATE


class Sound(Protocol):
    """What a speaker gives back; `Speech` is one."""

    @property
    def audio(self) -> NDArray[np.float32]: ...

    @property
    def sample_rate(self) -> int: ...


@dataclass
class Heard:
    """One sentence: its text, what was heard of each kind, and the seconds of each kind."""

    text: str
    heard: dict[str, str] = field(default_factory=dict)
    word_errors: dict[str, float] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)


@dataclass
class Intelligibility:
    """Error rates over all sentences by kind (`KINDS`), and every sentence with what was heard."""

    wer: dict[str, float]
    cer: dict[str, float]
    rows: list[Heard]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"sentences": len(self.rows)}

    def __str__(self) -> str:
        lines = [f"{len(self.rows)} sentences      WER     CER"]
        return "\n".join(lines + [f"{kind:<14}{self.wer[kind]:8.3f}{self.cer[kind]:8.3f}" for kind in KINDS])


def evaluate(
    speak: Callable[[str], Sound],
    sentences: Iterable[Sentence],
    recogniser: Recogniser,
    vocoder: str | Path | Vocoder = DEFAULT_VOCODER,
    language: str = "en",
    progress: Callable[[Heard], None] | None = None,
) -> Intelligibility:
    """Let a voice speak each text and a recogniser write down what it hears, of the voice, the recording and its copy.

    `speak` is for example `lambda text: synthesizer.say(text, voice=clips)`.
    """
    rows, copier = [], find_vocoder(vocoder)
    for sentence in sentences:
        rows.append(_hear(speak(sentence.text), sentence, recogniser, copier, language))
        if progress:
            progress(rows[-1])
    if not rows:
        raise SpeechError("there is no sentence to evaluate: give at least one with its real recording")
    texts = [row.text for row in rows]
    heard = {kind: [row.heard[kind] for row in rows] for kind in KINDS}
    return Intelligibility(
        wer={kind: word_error_rate(texts, heard[kind], language) for kind in KINDS},
        cer={kind: character_error_rate(texts, heard[kind], language) for kind in KINDS},
        rows=rows,
    )


def _hear(spoken: Sound, sentence: Sentence, recogniser: Recogniser, vocoder: Vocoder, language: str) -> Heard:
    real = to_float(sentence.audio)
    if sentence.sample_rate != SAMPLE_RATE:
        real = resample(real, sentence.sample_rate)
    copy = vocoder(log_mel(real))
    sounds = {"synthetic": (spoken.audio, spoken.sample_rate), "real": (real, SAMPLE_RATE), "copy": (copy, SAMPLE_RATE)}
    row = Heard(sentence.text)
    for kind, (audio, rate) in sounds.items():
        row.heard[kind] = recogniser(audio, rate)
        row.word_errors[kind] = word_error_rate([row.text], [row.heard[kind]], language)
        row.seconds[kind] = len(audio) / rate
    return row


def word_error_rate(texts: Sequence[str], heard: Sequence[str], language: str = "en") -> float:
    """Edits / words over all texts together. Above 1 when more was heard than said."""
    return _error_rate([spoken_words(text, language) for text in texts], [spoken_words(h, language) for h in heard])


def character_error_rate(texts: Sequence[str], heard: Sequence[str], language: str = "en") -> float:
    """Edits / characters over all texts together, single spaces between the words."""
    return _error_rate(*([" ".join(spoken_words(text, language)) for text in group] for group in (texts, heard)))


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
        for m, found in enumerate(heard, 1):
            diagonal, row[m] = row[m], min(row[m] + 1, row[m - 1] + 1, diagonal + (wanted != found))
    return row[-1]
