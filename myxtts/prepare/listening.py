"""Listens to a recording from beginning to end in pieces, so that ten hours take as much memory as ten minutes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import soxr
from numpy.typing import NDArray

from myxtts.errors import PrepareError, RowError
from myxtts.evaluation.front_end import RATE
from myxtts.features.audio import sound_file
from myxtts.features.music import MusicDetector
from myxtts.prepare.activity import WINDOW, WINDOW_SECONDS, VoiceDetector
from myxtts.prepare.windows import Windows

PIECE_SECONDS = 30
Measure = Callable[[NDArray[np.float32]], NDArray[np.float32]]  # of whole windows at 16 kHz
_FULL_SCALE = 0.999  # of 1.0; files that were made of 16 bits have 32767 / 32768 as their loudest
# The first bytes of files that hold a film or music of a shop: libsndfile says only that it does not know them.
_FILMS = {4: (b"ftyp",), 0: (b"\x1aE\xdf\xa3", b"FLV", b"\x00\x00\x01\xba", b"0&\xb2u")}


def listen(path: Path, heard: Callable[[float], None] = lambda seconds: None) -> Windows:
    """`heard` is told after each piece how many seconds it had."""
    measures: list[Measure] = [VoiceDetector(), _levels, MusicDetector(RATE, WINDOW)]
    columns: list[list[NDArray[np.float32]]] = [[], [], []]
    clipped: list[NDArray[np.int64]] = []
    with recording(path) as file:
        resampler, frames = soxr.ResampleStream(file.samplerate, RATE, 1, dtype="float32"), 0
        rest = np.empty(0, np.float32)
        for sound, last in _with_last(pieces(file)):
            clipped.append(_clipped(sound, frames, file.samplerate))
            frames += len(sound)
            audio = np.concatenate([rest, resampler.resample_chunk(sound.mean(axis=1), last=last)])
            audio = _to_whole_windows(audio) if last else audio
            whole = len(audio) // WINDOW * WINDOW
            rest, audio = audio[whole:], audio[:whole]
            for column, measure in zip(columns, measures, strict=True):
                column.append(measure(audio))
            heard(len(sound) / file.samplerate)
        seconds = frames / file.samplerate
    if not frames:
        raise PrepareError(f"{path} holds no sound: is it the right file?")
    speech, level_db, music = (np.concatenate(column) for column in columns)
    counts = np.bincount(np.concatenate(clipped), minlength=len(speech))[: len(speech)]
    return Windows(speech, level_db, music, counts.astype(np.float32), seconds)


@contextmanager
def recording(path: Path) -> Iterator[Any]:
    """The file, opened; what cannot be read is explained."""
    try:
        with sound_file(path, None) as file:
            yield file
    except RowError as error:
        raise PrepareError(_why_unreadable(path, error)) from None


def pieces(file: Any, seconds: float = PIECE_SECONDS) -> Iterator[NDArray[np.float32]]:
    """float32 [frames, channels]"""
    size = int(seconds * file.samplerate)
    while len(sound := file.read(size, dtype="float32", always_2d=True)):
        if not np.isfinite(sound).all():
            raise PrepareError(f"{file.name} holds samples that are not numbers: convert it again from the original")
        yield sound


def _with_last(sounds: Iterator[NDArray[np.float32]]) -> Iterator[tuple[NDArray[np.float32], bool]]:
    before = None
    for sound in sounds:
        if before is not None:
            yield before, False
        before = sound
    if before is not None:
        yield before, True


def _to_whole_windows(audio: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.pad(audio, (0, -len(audio) % WINDOW))


def _levels(audio: NDArray[np.float32]) -> NDArray[np.float32]:
    power = np.square(audio.reshape(-1, WINDOW)).mean(axis=1)
    return (10.0 * np.log10(np.maximum(power, 1e-10))).astype(np.float32)


def _clipped(sound: NDArray[np.float32], first: int, rate: int) -> NDArray[np.int64]:
    """The windows of samples at full scale whose neighbour is there too, in any channel: one entry per sample."""
    full = np.abs(sound) >= _FULL_SCALE
    runs = np.flatnonzero((full[1:] & full[:-1]).any(axis=1))
    return ((runs + first) / rate / WINDOW_SECONDS).astype(np.int64)


def _why_unreadable(path: Path, error: RowError) -> str:
    with open(path, "rb") as file:
        begin = file.read(12)
    film = any(begin[at:].startswith(mark) for at, marks in _FILMS.items() for mark in marks)
    if film or (begin.startswith(b"RIFF") and begin[8:] == b"AVI "):
        return (
            f"{path} is a film or a format that is not read here (mp4, m4a, mkv, webm, avi): take its sound out by "
            f"ffmpeg -i {path.name} -vn {path.stem}.flac and prepare that"
        )
    return f"{error.message}; expected wav, flac, ogg, opus or mp3"
