"""A long recording whose every second is known: clips in their order, with pauses, noise between them, and music."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
from numpy.typing import NDArray

from myxtts.corpus.read import open_corpus
from myxtts.corpus.utterance import Utterance
from myxtts.features.audio import read_audio, to_float, trim_silence

PAUSES = 0.3, 1.5  # seconds
NOISE_SHARE = 0.05
MUSIC_EVERY = 600.0  # seconds: a chapter
MUSIC_SECONDS = 8.0
HISS_DB = -62.0
TRIM_DB = 45.0  # below the loudest: so that the pauses between clips are those that are drawn


@dataclass(frozen=True)
class Known:
    """What is where: `kind` is speech, noise or music."""

    start: float
    end: float
    kind: str
    text: str = ""


def clips_of(corpus: Path, speaker: str | None = None) -> Iterator[Utterance]:
    for row in open_corpus(corpus).rows():
        if isinstance(row, Utterance) and speaker in (None, row.speaker):
            yield row


def build(clips: list[Utterance], path: Path, seconds: float, seed: int = 0) -> list[Known]:
    """Write the recording piece by piece; what is known of it."""
    draw, noises = random.Random(seed), np.random.default_rng(seed)
    rate = read_audio(clips[0].audio)[1]
    known: list[Known] = []
    with soundfile.SoundFile(path, "w", rate, 1, "PCM_16") as file:

        def put(sound: NDArray[Any], kind: str = "", text: str = "") -> None:
            start = file.tell() / rate
            hiss = noises.standard_normal(len(sound)) * 10 ** (HISS_DB / 20)
            file.write((sound + hiss).astype(np.float32))
            if kind:
                known.append(Known(start, file.tell() / rate, kind, text))

        chapter, noise = 0.0, 0.0
        for clip in clips:
            now = file.tell() / rate
            if now >= seconds:
                break
            if now >= chapter:
                put(music(rate, MUSIC_SECONDS, noises), "music")
                chapter = now + MUSIC_EVERY
                put(_pause(rate, draw))
            if noise < NOISE_SHARE * now:
                length = draw.uniform(2.0, 6.0)
                noise += length
                put(_noise(rate, length, noises), "noise")
                put(_pause(rate, draw))
            put(trim_silence(to_float(read_audio(clip.audio)[0]), TRIM_DB), "speech", clip.text)
            put(_pause(rate, draw))
    return known


def music(rate: int, seconds: float, noises: np.random.Generator) -> NDArray[np.float64]:
    """Chords of plucked strings over a bass and a drum, four chords of two seconds."""
    sound = np.zeros(int(rate * seconds))
    for beat in np.arange(0.0, seconds, 0.25):
        root = 110.0 * 2 ** ((0, 5, 7, 3)[int(beat // 2) % 4] / 12)
        for hertz in (root, *(2 * root * step for step in (1, 1.26, 1.5, 2)[: 1 + int(beat * 4) % 4])):
            _add(sound, rate, beat, _pluck(rate, hertz))
        if beat % 0.5 == 0:
            burst = noises.standard_normal(rate // 20) * np.exp(-np.arange(rate // 20) / (rate * 0.01))
            _add(sound, rate, beat, 0.6 * burst)
    return 0.25 * sound / np.abs(sound).max()


def _pluck(rate: int, hertz: float) -> NDArray[np.float64]:
    time = np.arange(int(rate * 1.2)) / rate
    return sum(np.sin(2 * np.pi * hertz * n * time) * np.exp(-time * (1.5 + n)) / n for n in range(1, 7))


def _add(sound: NDArray[np.float64], rate: int, seconds: float, what: NDArray[np.float64]) -> None:
    at = int(seconds * rate)
    part = what[: len(sound) - at]
    sound[at : at + len(part)] += part


def _noise(rate: int, seconds: float, noises: np.random.Generator) -> NDArray[np.float64]:
    """As loud as the speech: white, or brown like a street."""
    white = noises.standard_normal(int(rate * seconds))
    if noises.random() < 0.5:
        white = np.cumsum(white) - np.linspace(0, white.sum(), len(white))
        white -= np.convolve(white, np.ones(401) / 401, "same")
    return 0.08 * white / white.std()


def _pause(rate: int, draw: random.Random) -> NDArray[np.float64]:
    return np.zeros(int(rate * draw.uniform(*PAUSES)))
