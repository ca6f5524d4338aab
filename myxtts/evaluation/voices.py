"""A folder of voices that were not trained on: which recordings are whose, and how well each is followed.

DIR/anna/1.wav, DIR/anna/2.wav, DIR/ben/...     a folder for each voice; or
DIR/anna_1.wav, DIR/anna_2.wav, DIR/ben_1.wav   names up to the first _ or -; or
voices.csv, DIR/voices.csv                      a manifest with speakers, as 'myxtts pack' reads it
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from myxtts.corpus.read import open_corpus
from myxtts.corpus.utterance import Utterance
from myxtts.errors import RowError, SpeechError
from myxtts.evaluation.clip import Audio, Sentence
from myxtts.evaluation.judges import Similarity
from myxtts.features.audio import AudioSettings, load_clip, to_float
from myxtts.inference.reference import MOST_SECONDS, why_unusable

_SOUNDS = frozenset({".wav", ".flac", ".mp3", ".ogg", ".opus", ".m4a"})
_MANIFESTS = frozenset({".csv", ".tsv", ".jsonl"})
_GALLERY_CLIPS = 4
_SETTINGS = AudioSettings(min_seconds=0.0, max_seconds=MOST_SECONDS)


class Person(NamedTuple):
    """The recording that is imitated, and others of the same voice; the same one again where it is the only one."""

    name: str
    reference: Path
    audio: Audio
    others: list[Audio]


def find_people(place: Path) -> list[Person]:
    """At least two: with one there is nobody to be told apart from."""
    files = {name: paths for name, paths in _files(place).items() if paths}
    if len(files) < 2:
        raise SpeechError(
            f"found {len(files)} voices in {place}, expected at least 2: a folder for each voice, files named "
            "VOICE_1.wav, VOICE_2.wav ..., or a manifest with speakers"
        )
    return [_person(name, paths) for name, paths in sorted(files.items())]


def _files(place: Path) -> dict[str, list[Path]]:
    if not place.exists():
        raise SpeechError(f"{place} is not a folder of voices")
    manifests = [place] if place.is_file() else [path for path in sorted(place.iterdir()) if path.suffix in _MANIFESTS]
    if manifests:
        rows = open_corpus(manifests[0]).rows()
        return _group((row.speaker, Path(row.audio)) for row in rows if isinstance(row, Utterance))
    folders = {folder.name: _sounds(folder) for folder in sorted(place.iterdir()) if folder.is_dir()}
    return folders if any(folders.values()) else _group((re.split("[_-]", p.stem)[0], p) for p in _sounds(place))


def _group(named: Iterator[tuple[str, Path]]) -> dict[str, list[Path]]:
    groups: dict[str, list[Path]] = {}
    for name, path in named:
        groups.setdefault(name, []).append(path)
    return groups


def _sounds(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.suffix.lower() in _SOUNDS)


def _person(name: str, paths: Sequence[Path]) -> Person:
    clips = [_clip(name, path) for path in paths[: 1 + _GALLERY_CLIPS]]
    return Person(name, paths[0], clips[0], clips[1:] or clips)


def _clip(name: str, path: Path) -> Audio:
    try:
        return to_float(load_clip(path, _SETTINGS))
    except RowError as error:
        raise SpeechError(f"{path}, a recording of the voice '{name}', {why_unusable(error)}") from None


def sentences_for(people: Sequence[Person], texts: Sequence[str], each: int, language: str) -> list[Sentence]:
    """`each` texts for every voice, other ones for the next as long as there are any."""
    pairs = [(person, texts[(at * each + n) % len(texts)]) for at, person in enumerate(people) for n in range(each)]
    return [Sentence(text, person.audio, speaker=person.name, language=language) for person, text in pairs]


def matrix_of(judge: Similarity, names: Sequence[str]) -> NDArray[np.float64]:
    """[spoken like, compared with]: the similarities that the judge has heard, each voice's sentences averaged."""
    rows = {name: [near for speaker, near in judge.heard if speaker == name] for name in names}
    return np.array([[np.mean([near[other] for near in rows[name]]) for other in names] for name in names])
