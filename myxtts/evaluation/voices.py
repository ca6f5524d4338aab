"""A folder of voices that were not trained on: which recordings are whose, and how well each is followed.

DIR/anna/1.wav, DIR/anna/2.wav, DIR/ben/...     a folder for each voice; or
DIR/anna_1.wav, DIR/anna_2.wav, DIR/ben_1.wav   names up to the first _ or -; or
voices.csv, DIR/voices.csv                      a manifest with speakers, as 'myxtts pack' reads it
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from myxtts.corpus.read import open_corpus
from myxtts.corpus.utterance import Utterance
from myxtts.errors import RowError, SpeechError, TextError
from myxtts.evaluation.clip import Audio, Sentence
from myxtts.evaluation.judges import Similarity
from myxtts.features import espeak
from myxtts.features.audio import AudioSettings, load_clip, to_float
from myxtts.features.languages import family_of, resolve_language, tag_of
from myxtts.inference.reference import MOST_SECONDS, why_unusable

log = logging.getLogger(__name__)

_SOUNDS = frozenset({".wav", ".flac", ".mp3", ".ogg", ".opus", ".m4a"})
_MANIFESTS = frozenset({".csv", ".tsv", ".jsonl"})
_CODE = re.compile("[a-z]{2,3}(-.*)?")
_GALLERY_CLIPS = 4
_SETTINGS = AudioSettings(min_seconds=0.0, max_seconds=MOST_SECONDS)


class Person(NamedTuple):
    """The recording that is imitated, and others of the same voice; the same one again where it is the only one."""

    name: str
    reference: Path
    audio: Audio
    others: list[Audio]
    language: str = ""  # as a manifest names it


def find_people(place: Path, least: int = 2) -> list[Person]:
    """At least two: with one there is nobody to be told apart from."""
    files, languages = _files(place)
    files = {name: paths for name, paths in files.items() if paths}
    if len(files) < least:
        found = f"one voice, {next(iter(files))}," if files else "no voice"
        raise SpeechError(
            f"found {found} in {place}, expected at least {least}: a folder for each voice, files named "
            "VOICE_1.wav, VOICE_2.wav ..., or a manifest with speakers"
        )
    return [_person(name, paths, languages.get(paths[0], "")) for name, paths in sorted(files.items())]


def _files(place: Path) -> tuple[dict[str, list[Path]], dict[Path, str]]:
    """The recordings of each voice, and the language of each that a manifest names."""
    if not place.exists():
        raise SpeechError(f"{place} is not a folder of voices")
    manifests = [place] if place.is_file() else [path for path in _shown(place) if path.suffix in _MANIFESTS]
    if manifests:
        rows = _usable(manifests[0])
        named = _languages(manifests[0], {row.language for row in rows})
        languages = {Path(row.audio): named[row.language] for row in rows}
        return _group((row.speaker, Path(row.audio)) for row in rows), languages
    folders = {folder.name: _sounds(folder) for folder in _shown(place) if folder.is_dir()}
    if any(folders.values()):
        return folders, {}
    return _group((re.split("[_-]", path.stem)[0], path) for path in _sounds(place)), {}


def _languages(manifest: Path, names: Iterable[str]) -> dict[str, str]:
    """Each as it is, but for those that are none: a voice of such a language is not one of another language."""
    unknown = [name for name in sorted(names) if name and espeak.is_installed() and not _is_language(name)]
    for name in unknown:
        log.warning("%s names the language '%s', which eSpeak does not know: it counts as not named", manifest, name)
    return {name: "" if name in unknown else name for name in names}


def _is_language(name: str) -> bool:
    """Those that eSpeak knows, and whatever else looks like a code: models of characters speak any language."""
    try:
        return bool(_CODE.fullmatch(tag_of(name)) or resolve_language(name))
    except TextError:
        return False


def _usable(manifest: Path) -> list[Utterance]:
    """The rows that can be read; how many cannot is said."""
    found = list(open_corpus(manifest, language="").rows())
    rejected = [row for row in found if not isinstance(row, Utterance)]
    if rejected:
        log.warning("%d of %d rows of %s are left out: %s", len(rejected), len(found), manifest, rejected[0].message)
    return [row for row in found if isinstance(row, Utterance)]


def _group(named: Iterable[tuple[str, Path]]) -> dict[str, list[Path]]:
    groups: dict[str, list[Path]] = {}
    for name, path in named:
        groups.setdefault(name, []).append(path)
    return groups


def _sounds(folder: Path) -> list[Path]:
    return [path for path in _shown(folder) if path.suffix.lower() in _SOUNDS]


def _shown(folder: Path) -> list[Path]:
    """Without hidden files, such as macOS leaves beside each file on a stick."""
    return sorted(path for path in folder.iterdir() if not path.name.startswith("."))


def _person(name: str, paths: Sequence[Path], language: str) -> Person:
    clips = [_clip(name, path) for path in paths[: 1 + _GALLERY_CLIPS]]
    return Person(name, paths[0], clips[0], clips[1:] or clips, language)


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


class Across(NamedTuple):
    """Of the voices of other languages, the shares that are nearer to their own recordings than to the speakers of the
    language that they speak here: than to each of them, and than to all of them on average."""

    language: str
    voices: int
    speakers: int
    above_every_speaker: float
    above_their_mean: float

    def __str__(self) -> str:
        shares = f"{self.above_every_speaker:.2f} than to each of its {self.speakers} speakers, "
        shares += f"{self.above_their_mean:.2f} than to their mean"
        return f"{self.voices} voices of other languages speak {self.language}; share nearer to themselves: {shares}"


def across_languages(
    names: Sequence[str], values: NDArray[np.float64], languages: Mapping[str, str], language: str
) -> Across | None:
    """By the matrix of who sounds like whom. None where the languages of the voices are unknown, or one alone."""
    spoken = _short(language)
    natives = [at for at, name in enumerate(names) if _short(languages.get(name, "")) == spoken]
    guests = [at for at, name in enumerate(names) if _short(languages.get(name, "")) not in ("", spoken)]
    if not natives or not guests:
        return None
    own, others = values[guests, guests], values[np.ix_(guests, natives)]
    shares = (float((own > bar).mean()) for bar in (others.max(axis=1), others.mean(axis=1)))
    return Across(language, len(guests), len(natives), *shares)


def _short(language: str) -> str:
    return family_of(language) if language else ""
