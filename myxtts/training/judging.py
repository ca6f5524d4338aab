"""Lets the judges hear the averaged weights during training, on sentences that were held back, as `evaluate` does."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection
from typing import Any

import numpy as np
import tensorflow as tf

from myxtts.data.pipeline import Feed
from myxtts.errors import ConfigError, MyXTTSError, SpeechError, TrainingError
from myxtts.evaluation.clip import SYNTHETIC, Scores, Sentence, Sound
from myxtts.evaluation.evaluate import evaluate
from myxtts.evaluation.judges import JUDGES, find_judges
from myxtts.evaluation.measures import MEASURES
from myxtts.evaluation.subjects import Subject, cache_subject
from myxtts.inference.reference import Reference, load_reference
from myxtts.inference.synthesizer import Synthesizer
from myxtts.inference.vocoder import DEFAULT_VOCODER, find_vocoder
from myxtts.models.description import ModelDescription, find_checkpoint
from myxtts.training.complaints import SENTENCES, complaints_of
from myxtts.training.optimiser import Adam
from myxtts.training.validate import METRIC

# What keeps judges from hearing: their packages are strangers'.
CANNOT_HEAR = (MyXTTSError, OSError, RuntimeError, ValueError, TypeError, AttributeError, LookupError, ArithmeticError,
               ImportError, MemoryError, tf.errors.OpError)  # fmt: skip
_OTHERS = 4 * SENTENCES  # of speakers whom only --val-data has: this many clips, or half of it, show and compare them


class Judging:
    """Keeps the sentences and the judges, who remember what they have heard: only what is spoken is new to them."""

    def __init__(
        self,
        model: Any,
        source: Any,
        validation: Any,
        voice: dict[str, np.ndarray] | None,
        say: Callable[[str], None],
        among: Collection[str] = tuple(JUDGES),
    ):
        feeds = held_back(source, validation)
        if feeds is None:
            raise TrainingError("training.evaluation_steps needs packed data that holds sentences back: set it to 0")
        train, held_out = feeds
        reference = None if voice is None else Reference(voice["reference"].astype(np.float32), voice["lengths"])
        cache, rows = held_out.caches[0], np.asarray(held_out.tables[0].members)
        known = set(cache.speakers) <= set(train.caches[0].speakers)
        spoken = rows if known else rows[: max(len(rows) // 2, len(rows) - _OTHERS)]
        others = np.asarray(train.tables[0].members) if known else np.setdiff1d(rows, spoken)
        self._details = cache, np.sort(spoken), others, SENTENCES, train.caches[0] if known else cache
        self._model, self._synthesizer = model, Synthesizer(model, reference)
        first = self._subject(self._synthesizer)
        self._sentences = first.sentences
        if not first.sentences:
            raise SpeechError("no sentence is held back of a speaker who has another clip to be shown by")
        self.judges, self.missing = find_judges(None, first.gallery, first.languages, among=among)
        self._vocoder, self._say = find_vocoder(DEFAULT_VOCODER), say
        self.start: Scores = {}  # of the model that was started from, if one was
        self.is_worse = False  # than that, when it was last heard

    def run(self, optimiser: Adam) -> Scores:
        """Of the averaged weights; where fine-tuning has made them worse than what it started from, that is said."""
        with optimiser.averaged():
            scores = self._hear(self._synthesizer)
        complaints = complaints_of(scores, self.start, self._sentences)
        self.is_worse = bool(complaints)
        for complaint in complaints:
            self._say(f"{complaint}, which makes the voice worse: check the recordings and their texts, or train for "
                      "fewer steps")  # fmt: skip
        return scores

    def hear_start(self, start: str) -> Scores:
        """Before the first step the weights are those of the start: it speaks as it would by itself."""
        return self._hear(_as_by_itself(self._model, start), as_itself=False)

    def _subject(self, speaker: Synthesizer, as_itself: bool = True) -> Subject:
        return cache_subject(speaker, *self._details, as_itself=as_itself)

    def _hear(self, speaker: Synthesizer, as_itself: bool = True) -> Scores:
        subject = self._subject(speaker, as_itself)  # anew: the voice is heard by weights that have changed

        def speak(sentence: Sentence) -> Sound:
            return subject.speak(sentence, self._vocoder)

        return evaluate(speak, subject.sentences, self.judges, self._vocoder).scores


def _as_by_itself(model: Any, start: str) -> Synthesizer:
    """With the start's own voice, and following others as far as the start does."""
    folder = find_checkpoint(start)
    known = ModelDescription.load(folder)
    speaker = Synthesizer(model, load_reference(folder, known.reference_frames))
    followed = {"voice_reach": known.voice_reach, "speakers": known.speakers}
    speaker.description = dataclasses.replace(model.description, **followed)
    return speaker


def held_back(source: Any, validation: Any) -> tuple[Feed, Feed] | None:
    """What is trained on and what is held back, if both are packed data."""
    train, held_out = (getattr(each, "feed", None) for each in (source, validation))
    return (train, held_out) if isinstance(train, Feed) and isinstance(held_out, Feed) else None


def check_best_by(name: str, evaluation_steps: int | None) -> None:
    """A name that nothing measures, or that is never measured, would leave a run without its best."""
    if name == METRIC:
        return
    known = [METRIC, *(key for key, measure in MEASURES.items() if measure.better != "one")]
    if name not in known:
        raise ConfigError(f"training.best_by is '{name}', expected one of: {', '.join(known)}")
    if not evaluation_steps:
        raise ConfigError(f"training.best_by={name} is heard by judges: set training.evaluation_steps too")


def check_is_heard(name: str, judging: Judging) -> None:
    """The best cannot be chosen by a judge who is not there."""
    if name == METRIC or MEASURES[name].judge in [judge.name for judge in judging.judges]:
        return
    how = judging.missing.get(MEASURES[name].judge, "")
    raise ConfigError(f"training.best_by={name} is heard by a judge who is missing: {how}")


def as_metric(name: str, scores: Scores) -> float | None:
    """A judge's number as a checkpoint keeps it: lower is better."""
    value = scores.get(name, {}).get(SYNTHETIC)
    return None if value is None else MEASURES[name].lower_better(value)


def of_metric(name: str, metric: float) -> float:
    """A judge's number, or that of validation, of what a checkpoint keeps."""
    return metric if name == METRIC else MEASURES[name].lower_better(metric)
