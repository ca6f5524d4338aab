"""The door of this room. Each judge hears the voice, the recording and its copy; and a voice of before, if asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from myxtts.errors import SpeechError
from myxtts.evaluation.clip import BEFORE, COPY, KINDS, REAL, SYNTHETIC, Clip, Judge, Scores, Sentence, Sound, make_clip
from myxtts.evaluation.intelligibility import Intelligibility
from myxtts.evaluation.judges import Similarity
from myxtts.evaluation.measures import MEASURES
from myxtts.evaluation.words import spoken_words
from myxtts.features.mel import SAMPLE_RATE
from myxtts.inference.vocoder import DEFAULT_VOCODER, Vocoder, find_vocoder

_TITLES = {BEFORE: "before", SYNTHETIC: "spoken", COPY: "copy", REAL: "real"}


@dataclass
class Row:
    """One sentence: the seconds of each kind, what was heard of it, and its scores."""

    text: str
    speaker: str
    language: str
    seconds: dict[str, float]
    heard: dict[str, str]
    scores: Scores


@dataclass
class Evaluation:
    """Scores over all sentences (measure -> kind -> value), and every sentence with its own."""

    rows: list[Row]
    clips: list[Clip] = field(default_factory=list)  # the first few, to be heard
    missing: dict[str, str] = field(default_factory=dict)  # judge -> how to get it
    notes: dict[str, str] = field(default_factory=dict)  # measure -> what it leaves out, and the cure

    @property
    def scores(self) -> Scores:
        named = [key for key in MEASURES if any(key in row.scores for row in self.rows)]
        return {key: dict(self._kinds(key)) for key in named}

    def _kinds(self, key: str) -> Iterator[tuple[str, float]]:
        for kind in KINDS:
            rows = [row for row in self.rows if kind in row.scores.get(key, {})]
            if rows:
                weights = [_weight(key, row) for row in rows]
                yield kind, MEASURES[key].pool([row.scores[key][kind] for row in rows], weights)

    def to_dict(self) -> dict[str, Any]:
        rows = [asdict(row) for row in self.rows]
        told = {"sentences": len(rows), "scores": self.scores, "missing": self.missing, "notes": self.notes}
        return {**told, "rows": rows}

    def __str__(self) -> str:
        titles = {kind: title for kind, title in _TITLES.items() if kind in self.rows[0].seconds}
        lines = [f"{f'{len(self.rows)} sentences':<38}" + "".join(f"{title:>9}" for title in titles.values())]
        for key, kinds in self.scores.items():
            cells = (f"{kinds[kind]:9.{MEASURES[key].digits}f}" if kind in kinds else f"{'':9}" for kind in titles)
            lines.append(f"{MEASURES[key].title:<38}{''.join(cells)}".rstrip())
        lines += [f"{MEASURES[key].title}: {note}" for key, note in self.notes.items()]
        lines += [f"not installed: {judge} ({how})" for judge, how in self.missing.items()]
        return "\n".join(lines)


def evaluate(
    speak: Callable[[Sentence], Sound],
    sentences: Iterable[Sentence],
    judges: Sequence[Judge],
    vocoder: str | Path | Vocoder = DEFAULT_VOCODER,
    progress: Callable[[Row], None] | None = None,
    keep_clips: int = 0,
    same_text: bool = True,
    before: Callable[[Sentence], Sound] | None = None,
) -> Evaluation:
    """Let a voice speak each text, and each judge hear the voice, the recording and its copy.

    `speak` is for example `lambda sentence: synthesizer.say(sentence.text, voice=clips)`. With `same_text` false the
    recordings are of the same voice, but say something else. `before` speaks the same sentences by another model.
    """
    evaluation, copier = Evaluation([]), find_vocoder(vocoder)
    for sentence in sentences:
        clip = make_clip(speak(sentence), sentence, copier, same_text, before and before(sentence))
        evaluation.rows.append(judge_clip(clip, judges))
        evaluation.clips += [clip] if len(evaluation.clips) < keep_clips else []
        if progress:
            progress(evaluation.rows[-1])
    if not evaluation.rows:
        raise SpeechError("there is no sentence to evaluate: give at least one with its real recording")
    evaluation.notes = {
        key: note
        for judge in judges
        if isinstance(judge, (Similarity, Intelligibility))
        for key, note in judge.notes().items()
    }
    return evaluation


def judge_clip(clip: Clip, judges: Sequence[Judge]) -> Row:
    scores: Scores = {}
    for judge in judges:
        scores |= judge(clip)
    seconds = {kind: len(audio) / SAMPLE_RATE for kind, audio in clip.sounds.items()}
    return Row(clip.text, clip.speaker, clip.language, seconds, clip.heard, scores)


def _weight(key: str, row: Row) -> float:
    """An error rate is over all words or characters together; everything else counts once for each sentence."""
    if key not in ("wer", "cer"):
        return 1.0
    words = spoken_words(row.text, row.language)
    return float(len(words) if key == "wer" else len(" ".join(words)))
