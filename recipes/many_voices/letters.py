"""Human speech to judge by: the letters and syllables of KLettres, a speaker for each language (GPL: not learnt from).

A letter is too short for a reference, so several of one speaker are joined to clips of some seconds.
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

PACKAGE = Package("apt", "klettres-data", "4:22.12.3-1")
SOURCE = Source("klettres", "human", "GPL-2+", "the speakers of KLettres, Anne-Marie Mahfouf", (str(PACKAGE),))
CLIPS, CLIP_SECONDS, GAP_SECONDS, SILENCE_DB = 6, 6.0, 0.15, 40.0


def make(folder: Folder, packages: Path) -> None:
    folder.enter(SOURCE)
    for home in sorted(fetch(PACKAGE, packages).glob("usr/share/klettres/*/")):
        for number, (names, samples) in enumerate(_clips(sorted(home.rglob("*.ogg")))):
            language = home.name.replace("_", "-").lower()
            clip = Clip(f"letters-{language}-{number}", names, f"letters {language}", language, SOURCE.name)
            if not folder.has(clip):
                folder.add(clip, samples, SAMPLE_RATE)
    folder.save()


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
