"""Human speech to judge by: volunteers of Debian's programs for children (GPL: the base never learns from it).

`make_letters`: the letters and syllables of KLettres, a speaker for each language.
`make_words`: words and short sentences, which describe Tux Paint's stamps and KTuberling's pictures, likewise.

Left out of the words: Catalan of both and KTuberling's French, where several take turns (Resemblyzer: 0.76 to 0.78
between the least alike clips; those here 0.82 and more), KTuberling's Russian, who is Tux Paint's Belarusian (0.95; no
two here are above 0.81), its Norwegian (Opus) and its languages of 15 words and fewer, and Tux Paint's Malayalam (6).

A word is too short for a reference, so several of one speaker are joined to clips of some seconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import soundfile

from myxtts.features.audio import resample, trim_silence
from myxtts.features.mel import SAMPLE_RATE
from recipes.many_voices.corpus import Clip, Folder, Source
from recipes.many_voices.packages import Package, fetch

LETTERS = Package("apt", "klettres-data", "4:22.12.3-1")
STAMPS = Package("apt", "tuxpaint-stamps-default", "2022.06.04-1")
PICTURES = Package("apt", "ktuberling-data", "4:22.12.3-1")
STAMP_LANGUAGES = ("be", "bg", "da", "el", "es", "fr", "lt", "nl", "ro", "ru")
PICTURE_LANGUAGES = ("da", "de", "el", "en", "gl", "lt", "sl", "uk", "wa")
LONGEST_SOUNDS = 60  # of words: what comes nearest to sentences
CLIPS, CLIP_SECONDS, GAP_SECONDS, SILENCE_DB = 6, 6.0, 0.15, 40.0


def make_letters(folder: Folder, packages: Path) -> None:
    folder.enter(_source("klettres", LETTERS, "the speakers of KLettres, Anne-Marie Mahfouf"))
    for home in sorted(fetch(LETTERS, packages).glob("usr/share/klettres/*/")):
        language = home.name.replace("_", "-").lower()
        _add(folder, "klettres", "letters", language, sorted(home.rglob("*.ogg")))
    folder.save()


def make_words(folder: Folder, packages: Path) -> None:
    stamps, pictures = fetch(STAMPS, packages), fetch(PICTURES, packages)
    folder.enter(_source("tuxpaint", STAMPS, "the speakers of Tux Paint's stamps"))
    for language in STAMP_LANGUAGES:
        _add(folder, "tuxpaint", "tuxpaint", language, _longest(stamps.rglob(f"*_desc_{language}.ogg")))
    folder.enter(_source("ktuberling", PICTURES, "the speakers of KTuberling"))
    for language in PICTURE_LANGUAGES:
        sounds = pictures.glob(f"usr/share/ktuberling/sounds/{language}/*")
        _add(folder, "ktuberling", "ktuberling", language, _longest(sounds))
    folder.save()


def _source(name: str, package: Package, speakers: str) -> Source:
    return Source(name, "human", "GPL-2+", speakers, (str(package),))


def _longest(paths: Iterator[Path]) -> list[Path]:
    sounds = [path for path in paths if path.suffix in (".ogg", ".wav")]
    return sorted(sorted(sorted(sounds), key=lambda path: -soundfile.info(path).duration)[:LONGEST_SOUNDS])


def _add(folder: Folder, source: str, speaker: str, language: str, paths: list[Path]) -> None:
    for number, (names, samples) in enumerate(_clips(paths)):
        clip = Clip(f"{speaker}-{language}-{number}", names, f"{speaker} {language}", language, source)
        if not folder.has(clip):
            folder.add(clip, samples, SAMPLE_RATE)


def _clips(paths: list[Path]) -> Iterator[tuple[str, np.ndarray]]:
    """Names and samples of at most CLIPS clips, in a fixed, mixed order; a speaker of less than two has none."""
    order = np.random.default_rng(0).permutation(len(paths))
    clips, names, pieces = [], [], []
    for path in (paths[place] for place in order):
        names.append(path.stem)
        pieces += [_sound(path), np.zeros(int(GAP_SECONDS * SAMPLE_RATE), np.float32)]
        if sum(map(len, pieces)) >= CLIP_SECONDS * SAMPLE_RATE:
            clips.append((", ".join(names) + ".", np.concatenate(pieces)))
            names, pieces = [], []
    yield from clips[:CLIPS] if len(clips) > 1 else ()


def _sound(path: Path) -> np.ndarray:
    samples, rate = soundfile.read(path, dtype="float32", always_2d=True)
    return trim_silence(resample(samples.mean(axis=1), rate), SILENCE_DB)
