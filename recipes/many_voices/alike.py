"""Which of Kokoro's voices are alike, by Resemblyzer: how near clips of one voice and of two are, who is too near."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myxtts.errors import MyXTTSError
from recipes.many_voices.kept import Kept, by_speaker, sound_of
from recipes.many_voices.speaking import TELL_EVERY
from recipes.many_voices.voices import is_sampled

Encoder = Callable[[NDArray[np.float32], int], NDArray[np.float32]]  # a clip's voice, of length 1
CLIPS_OF_A_VOICE = 4  # as many as a sampled voice has (`plan.py`); each takes 0.6 CPU seconds
TOO_NEAR = 0.9  # of two voices, each the mean of its clips
_log = logging.getLogger("many_voices")


def hear_voices(folder: Path, rows: Iterable[dict[str, Any]], heard: Kept, encoder: Callable[[], Encoder]) -> str:
    """Hear some clips of each voice, as far as they were not heard; why nobody can, or nothing."""
    some = (sorted(clips, key=lambda row: row["id"])[:CLIPS_OF_A_VOICE] for clips in by_speaker(rows).values())
    new = [row for clips in some for row in clips if not heard.has(row)]
    if not new:
        return ""
    try:
        encode = encoder()
    except MyXTTSError as error:
        return f"{len(new)} clips: {error}"
    for number, row in enumerate(new, 1):
        heard.add(row, voice=np.round(encode(*sound_of(folder, row)), 4).tolist())
        if number % TELL_EVERY == 0:
            _log.info("the voices of %d of %d clips are heard", number, len(new))
    return ""


def too_near(heard: Iterable[dict[str, Any]], out: Iterable[str]) -> tuple[dict[str, str], dict[str, float]]:
    """Sampled voices that are to be left out, being near one that stays; and seen ones that are near one another."""
    gone = set(out)
    means = _means(line for line in heard if line["speaker"] not in gone)
    stay: list[str] = []
    leave: dict[str, str] = {}
    twins: dict[str, float] = {}
    for speaker in sorted(means, key=lambda name: (is_sampled(name), name)):  # the seen ones first: they stay
        near = {other: float(means[speaker] @ means[other]) for other in stay}
        nearest = max(near, key=near.__getitem__, default=speaker)
        if near.get(nearest, 0.0) <= TOO_NEAR:
            stay.append(speaker)
        elif is_sampled(speaker):
            leave[speaker] = f"{near[nearest]:.2f} from {nearest}"
        else:
            stay.append(speaker)
            twins |= {f"{other}, {speaker}": round(much, 2) for other, much in near.items() if much > TOO_NEAR}
    return leave, twins


def spread(heard: Iterable[dict[str, Any]], out: Iterable[str]) -> dict[str, dict[str, float]]:
    """How near two clips of one sampled voice are, and two of two of them."""
    gone = set(out)
    lines = [line for line in heard if is_sampled(line["speaker"]) and line["speaker"] not in gone]
    clips = np.array([line["voice"] for line in lines], np.float32).reshape(len(lines), -1)
    speakers = np.array([line["speaker"] for line in lines])
    pairs = np.triu_indices(len(lines), 1)
    near, same = (clips @ clips.T)[pairs], (speakers[:, None] == speakers)[pairs]
    return {name: _percentiles(some) for name, some in (("within", near[same]), ("between", near[~same])) if len(some)}


def _means(heard: Iterable[dict[str, Any]]) -> dict[str, NDArray[Any]]:
    """Of voices of two clips and more: one says too little."""
    voices = {speaker: np.array([line["voice"] for line in lines]).mean(0)
              for speaker, lines in by_speaker(heard).items() if len(lines) > 1}  # fmt: skip
    return {speaker: mean / np.linalg.norm(mean) for speaker, mean in voices.items()}


def _percentiles(values: NDArray[Any]) -> dict[str, float]:
    return {f"{percent} %": round(float(np.percentile(values, percent)), 2) for percent in (5, 50, 95)}
