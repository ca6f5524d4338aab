"""The judges by their names, and which of them can be had on this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myxtts.errors import MissingExtra, NoEars, SpeechError, without_tensorflow
from myxtts.evaluation.clip import REAL, SPOKEN, SYNTHETIC, Audio, Clip, Judge, Scores
from myxtts.evaluation.front_end import remembering
from myxtts.evaluation.intelligibility import Intelligibility
from myxtts.evaluation.recogniser import Recogniser, recogniser_for
from myxtts.evaluation.sharpness import sharpness
from myxtts.features.audio import to_float
from myxtts.features.mel import SAMPLE_RATE

Ears = Callable[[str], Recogniser]  # for a language
_NOBODY = (
    "missing, as the data has one speaker: give --others DIR with recordings of other people, best in the same "
    "language and recorded in the same way"
)

Gallery = Mapping[str, Sequence[NDArray[Any]]]  # speaker -> recordings of that speaker that no clip is made of


class EachSound:
    """A judge that needs no more than a sound."""

    def __init__(self, name: str, hear: Callable[[Audio, int], dict[str, float]]):
        self.name, self._hear = name, remembering(hear)

    def __call__(self, clip: Clip) -> Scores:
        scores = {kind: self._hear(audio, SAMPLE_RATE) for kind, audio in clip.sounds.items()}
        names = next(iter(scores.values()))
        return {name: {kind: values[name] for kind, values in scores.items()} for name in names}


class Sharp:
    name = "sharpness"

    def __call__(self, clip: Clip) -> Scores:
        scores = {kind: sharpness(mel, clip.mels[REAL]) for kind, mel in clip.mels.items() if kind != REAL}
        return {f"sharpness_{part}": {kind: getattr(each, part) for kind, each in scores.items()}
                for part in ("bins", "time")}  # fmt: skip


class Speed:
    name = "speed"

    def __call__(self, clip: Clip) -> Scores:
        if clip.speaking_seconds is None:
            return {}
        return {"rtf": {SYNTHETIC: clip.speaking_seconds * SAMPLE_RATE / max(len(clip.sounds[SYNTHETIC]), 1)}}


class Similarity:
    """To other recordings of the same speaker, and to those of other speakers: real to real is what can be reached."""

    name = "similarity"

    def __init__(self, encode: Callable[[Audio, int], np.ndarray], gallery: Gallery):
        self.encode = encode = remembering(encode)
        self.heard: list[tuple[str, dict[str, float]]] = []  # of what was spoken: like whom, and how near to each
        self.gallery, self._single = gallery, set[str]()
        self.known = {
            speaker: np.stack([encode(to_float(audio), SAMPLE_RATE) for audio in audios])
            for speaker, audios in gallery.items()
        }

    def __call__(self, clip: Clip) -> Scores:
        if clip.speaker not in self.known:
            return {}
        single = self._is_single(clip)
        scores: Scores = {}
        for kind, audio in clip.sounds.items():
            near = self.nearness(audio)
            if kind == SYNTHETIC:
                self.heard.append((clip.speaker, dict(near)))
            own = near.pop(clip.speaker)
            others = list(near.values())
            for name, value in _compared(None if single and kind not in SPOKEN else own, others).items():
                scores.setdefault(name, {})[kind] = value
        return scores

    def _is_single(self, clip: Clip) -> bool:
        """Whether the recording is all that there is to compare with: its similarity to itself says nothing."""
        known = self.gallery[clip.speaker]
        if len(known) > 1 or REAL not in clip.sounds or not np.array_equal(to_float(known[0]), clip.sounds[REAL]):
            return False
        self._single.add(clip.speaker)
        return True

    def notes(self) -> dict[str, str]:
        """What the numbers leave out, by measure."""
        told, voices = {}, len({speaker for speaker, _ in self.heard})
        if self._single:
            found = f"{len(self._single)} of {voices} voices have one clip, which says nothing beside itself"
            told["similarity"] = f"{found}: they count in what is spoken alone; give each a second clip"
        if voices and len(self.known) == 1:
            told["similarity_others"] = _NOBODY
        return told

    def nearness(self, audio: Audio) -> dict[str, float]:
        """How similar a sound is to each speaker: the mean over that speaker's recordings."""
        own = self.encode(audio, SAMPLE_RATE)
        return {speaker: float((clips @ own).mean()) for speaker, clips in self.known.items()}


def _compared(own: float | None, others: Sequence[float]) -> dict[str, float]:
    told = {} if own is None else {"similarity": own}
    if others:
        mean = told["similarity_others"] = float(np.mean(others))
        if own is not None:
            told |= {"above_others": float(own > mean), "nearest": float(own > max(others))}
    return told


def _distillmos(_: Gallery, __: Ears) -> Judge:
    from myxtts.evaluation.distillmos import DistillMos

    hear = DistillMos()
    return EachSound("distillmos", lambda audio, rate: {"distillmos": hear(audio, rate)})


def _dnsmos(_: Gallery, __: Ears) -> Judge:
    from myxtts.evaluation.dnsmos import DnsMos

    return EachSound("dnsmos", DnsMos(most_cuts=1))


def _similarity(gallery: Gallery, _: Ears) -> Judge:
    from myxtts.evaluation.speaker import SpeakerEncoder

    return Similarity(SpeakerEncoder(), gallery)


def _distortion(_: Gallery, __: Ears) -> Judge:
    from myxtts.evaluation.distortion import Distortion

    return Distortion()


JUDGES: dict[str, Callable[[Gallery, Ears], Judge]] = {
    "distillmos": _distillmos,
    "dnsmos": _dnsmos,
    "intelligibility": lambda _, ears: Intelligibility(ears),
    "similarity": _similarity,
    "distortion": _distortion,
    "sharpness": lambda *_: Sharp(),
    "speed": lambda *_: Speed(),
}


def find_judges(
    names: Iterable[str] | None,
    gallery: Gallery,
    languages: Iterable[str],
    whisper_folder: Path | None = None,
    among: Iterable[str] | None = None,
) -> tuple[list[Judge], dict[str, str]]:
    """Those that are named, all of which must be there; or all (`among` these) that are installed, and how to get the
    others."""
    unknown = [name for name in names or () if name not in JUDGES]
    if unknown:
        raise SpeechError(f"'{unknown[0]}' is not a judge: choose from {', '.join(JUDGES)}")
    ears = _ears(whisper_folder)
    judges: list[Judge] = []
    missing: dict[str, str] = {}
    for name in names or among or JUDGES:
        try:
            judge = JUDGES[name](gallery, ears)
            if isinstance(judge, Intelligibility):
                _open_ears(judge, languages, ears, bool(names))
            judges.append(judge)
        except (MissingExtra, NoEars, ModuleNotFoundError) as error:
            told = without_tensorflow(error) if isinstance(error, ModuleNotFoundError) else error
            if names or told is None:
                raise
            missing[name] = str(told)
    return judges, missing


def _open_ears(judge: Intelligibility, languages: Iterable[str], ears: Ears, needs_all: bool) -> None:
    """Now, for each of the languages. The judge notes which cannot be heard, unless none can, or all must be."""
    deaf: dict[str, MissingExtra | NoEars] = {}
    for language in (languages := list(languages)):
        try:
            ears(language)
        except (MissingExtra, NoEars) as error:
            deaf[language] = error
    if deaf and (needs_all or len(deaf) == len(languages)):
        raise next(iter(deaf.values()))
    judge.deaf_to = {language: str(error) for language, error in deaf.items()}


def _ears(whisper_folder: Path | None) -> Ears:
    """Each language's ears, opened once."""
    open_: dict[str, Recogniser] = {}

    def ears(language: str) -> Recogniser:
        short = language.split("-")[0]
        if short not in open_:
            open_[short] = remembering(recogniser_for(language, whisper_folder))
        return open_[short]

    return ears
