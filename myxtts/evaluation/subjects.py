"""What is judged: the held-out sentences of a cache in their speakers' voices, or voices that were never trained on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myxtts.cache.reader import Cache
from myxtts.config.config import DataConfig
from myxtts.corpus.demo_sentences import load_grammar
from myxtts.corpus.demo_sentences import sentences as demo_sentences
from myxtts.errors import SpeechError
from myxtts.evaluation.clip import Judge, Sentence, Sound
from myxtts.evaluation.judges import Gallery, Similarity
from myxtts.evaluation.sentences import Known, known_speakers, sentences_of
from myxtts.evaluation.voices import find_people, matrix_of, sentences_for
from myxtts.features.languages import relative
from myxtts.features.mel import log_mel
from myxtts.inference.reference import make_reference, voice_frames
from myxtts.inference.speaker import Speaker
from myxtts.models.voice import Voice

_UNNAMED = DataConfig().speaker
_SEED = 2026  # of the demo's sentences, none of which is in the demo corpus of seed 0


@dataclass
class Subject:
    """Sentences and who speaks them; `gallery` holds other recordings of the same speakers."""

    sentences: list[Sentence]
    speak: Callable[[Sentence, Any], Sound]
    gallery: Gallery
    same_text: bool = True
    languages_of: Mapping[str, str] = field(default_factory=dict)  # voice -> its own language, where that is known

    @property
    def languages(self) -> list[str]:
        return sorted({sentence.language for sentence in self.sentences})


def cache_subject(
    synthesizer: Speaker,
    cache: Cache,
    rows: NDArray[np.int64],
    others: NDArray[np.int64],
    most: int,
    clips: Cache | None = None,
    as_itself: bool = True,
) -> Subject:
    """Each speaker is shown by clips among the `others`; one that the model was trained on alone is its own voice.

    The `others` are rows of the same cache, or of `clips`. Not `as_itself`: a model that was trained on other data, so
    that its speaker may be somebody else where nobody named the speaker of either, is shown clips then."""
    sentences = sentences_of(cache, rows.tolist())[:most]
    known = known_speakers(cache if clips is None else clips, others, [sentence.speaker for sentence in sentences])
    voices = _voices(synthesizer, cache, known, as_itself)
    sentences = [sentence for sentence in sentences if sentence.speaker in voices]
    languages = {each: _spoken_language(synthesizer, each) for each in {sentence.language for sentence in sentences}}

    def speak(sentence: Sentence, vocoder: Any) -> Sound:
        language = languages[sentence.language]
        return synthesizer.say(sentence.text, voices[sentence.speaker], language=language, vocoder=vocoder)

    return Subject(sentences, speak, known.gallery)


def _spoken_language(synthesizer: Speaker, language: str) -> str:
    """A model that has learnt es speaks es-419 as that, as one that starts from it does."""
    languages = synthesizer.description.languages
    spoken = relative(language, languages)
    if spoken is None:
        raise SpeechError(f"this model speaks {', '.join(languages)}, and the sentences are in {language}")
    return spoken


def _voices(synthesizer: Speaker, cache: Cache, known: Known, as_itself: bool) -> dict[str, Voice]:
    """A model's own voice is not that of a speaker it has never heard, such as the base's for a corpus of yours."""
    description = synthesizer.description
    is_itself = cache.speakers == description.speakers and (as_itself or cache.speakers != [_UNNAMED])
    if len(cache.speakers) == 1 and (is_itself or not known.references):
        return {cache.speakers[0]: synthesizer.hear()}
    return {
        name: synthesizer.hear(
            make_reference([voice_frames(log_mel(clip)) for clip in clips], description.reference_frames)
        )
        for name, clips in known.references.items()
    }


def voices_subject(
    synthesizer: Speaker,
    place: Path,
    each: int,
    language: str | None,
    held_out: tuple[Cache, NDArray[np.int64]] | None = None,
) -> Subject:
    """Each voice of a folder is shown by its first clip and compared with its others."""
    people = find_people(place)
    language = language or synthesizer.description.main_language
    spoken = _spoken_language(synthesizer, language)
    voices = {person.name: synthesizer.hear(person.reference) for person in people}
    texts = _held_out_texts(*held_out, language) if held_out else _texts(language, each * len(people))
    sentences = sentences_for(people, texts, each, language)

    def speak(sentence: Sentence, vocoder: Any) -> Sound:
        return synthesizer.say(sentence.text, voices[sentence.speaker], language=spoken, vocoder=vocoder)

    gallery, languages = {each.name: each.others for each in people}, {each.name: each.language for each in people}
    return Subject(sentences, speak, gallery, same_text=False, languages_of=languages)


def beside_others(subject: Subject, place: Path) -> Subject:
    """Compared with the voices of a folder, too."""
    strangers = {person.name: person.others for person in find_people(place, least=1)}
    for name in strangers.keys() & subject.gallery.keys():
        raise SpeechError(f"{place} has a voice '{name}', as the data has: leave it out if it is the same person, "
                          "or rename it")  # fmt: skip
    return replace(subject, gallery={**subject.gallery, **strangers})


def _held_out_texts(cache: Cache, rows: NDArray[np.int64], language: str) -> list[str]:
    texts = [sentence.text for sentence in sentences_of(cache, rows.tolist()) if sentence.language == language]
    if not texts:
        raise SpeechError(f"{cache.folder} holds back no sentence in '{language}': choose another --language")
    return texts


def _texts(language: str, count: int) -> list[str]:
    if not load_grammar(language):
        raise SpeechError(f"there are no sentences in '{language}' here: give --data CACHE, whose texts are spoken")
    return [sentence.spoken for sentence in islice(demo_sentences(language, _SEED), count)]


def matrix_heard(judges: Sequence[Judge]) -> tuple[list[str], NDArray[np.float64]] | None:
    """Who sounded like whom, if a judge has heard that."""
    for judge in judges:
        if isinstance(judge, Similarity) and judge.heard:
            names = [name for name in judge.known if any(name == speaker for speaker, _ in judge.heard)]
            return names, matrix_of(judge, names)
    return None
