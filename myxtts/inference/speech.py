"""What was spoken: samples, the mel they were made from, and how long each part of the work took."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import numpy as np
import soundfile
from numpy.typing import NDArray

from myxtts.errors import SpeechError
from myxtts.features.mel import HOP_SAMPLES, LOG_FLOOR, N_MELS, SAMPLE_RATE
from myxtts.files import whole_file

Audio = NDArray[np.float32]

NOTE = "Synthetic speech made with MyXTTS"
_PEAK = 0.98
_BLOCK_BYTES = 1 << 20
_FADE_SAMPLES = 128  # 6 ms: a piece that ends in a sound must not end in a click


@dataclass
class Speech:
    """One frame of `mel` [frames, mels] for every hop of `audio` [samples], pauses included."""

    audio: NDArray[np.float32]
    mel: NDArray[np.float32]
    text: str = ""
    timings: dict[str, float] = field(default_factory=dict)  # milliseconds: text_ms, voice_ms, mel_ms, vocoder_ms
    skipped: str = ""  # symbols of the text that the model does not know
    sample_rate: int = SAMPLE_RATE

    @property
    def seconds(self) -> float:
        return len(self.audio) / self.sample_rate

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write 16-bit wav (or flac, by the name), whole or not at all."""
        kind = sound_kind(path)
        with _written(Path(path)) as file, _sound_file(file, kind) as sound:
            sound.write(limit_peak(self.audio))


class SpeechFile:
    """A sound file that is written while it is spoken: what was spoken waits on the disk, not in memory (a book of ten
    hours is 3 GB), until the loudest sample is known. It takes its place when the block ends without an error."""

    def __init__(self, path: str | os.PathLike[str]):
        self.path, self.kind = Path(path), sound_kind(path)
        self.samples, self.sentences, self.skipped = 0, 0, ""
        self.timings: dict[str, float] = {}
        self._peak = 0.0

    def __enter__(self) -> SpeechFile:
        self._waiting = tempfile.TemporaryFile(dir=self.path.parent)
        return self

    @property
    def seconds(self) -> float:
        return self.samples / SAMPLE_RATE

    def add(self, piece: Speech) -> None:
        self._waiting.write(np.ascontiguousarray(piece.audio, np.float32).data)
        self._peak = max(self._peak, float(np.abs(piece.audio).max(initial=0.0)))
        self.samples, self.sentences = self.samples + len(piece.audio), self.sentences + 1
        self.skipped = "".join(dict.fromkeys(self.skipped + piece.skipped))
        for name, value in piece.timings.items():
            self.timings[name] = self.timings.get(name, 0.0) + value

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with self._waiting:
            if kind is None:
                self._finish()

    def _finish(self) -> None:
        scale = np.float32(min(1.0, _PEAK / max(self._peak, _PEAK)))
        self._waiting.seek(0)
        with (
            _written(self.path) as file,
            _sound_file(file, self.kind) as sound,
        ):
            while block := self._waiting.read(_BLOCK_BYTES):
                sound.write(np.frombuffer(block, np.float32) * scale)


def _sound_file(file: BinaryIO, kind: str) -> soundfile.SoundFile:
    """Every file says what it is, so that nobody need take it for a recording."""
    sound = soundfile.SoundFile(file, "w", SAMPLE_RATE, 1, format=kind, subtype="PCM_16")
    sound.comment = NOTE
    return sound


@contextmanager
def _written(path: Path) -> Iterator[BinaryIO]:
    try:
        with whole_file(path) as file:
            yield file
    except (OSError, soundfile.LibsndfileError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise SpeechError(f"cannot write {path}: {reason}; choose another place with -o") from None


def sound_kind(path: str | os.PathLike[str]) -> str:
    kinds = {".wav": "WAV", ".flac": "FLAC"}
    kind = kinds.get(Path(path).suffix.lower())
    if kind is None:
        raise SpeechError(f"found the file name {Path(path).name}, expected one that ends in {' or '.join(kinds)}")
    return kind


def limit_peak(audio: NDArray[np.float32]) -> NDArray[np.float32]:
    """The whole sound made quieter if its loudest sample would be clipped."""
    peak = float(np.abs(audio).max(initial=0.0))
    return audio if peak <= _PEAK else audio * np.float32(_PEAK / peak)


def add_pause(speech: Speech, seconds: float) -> Speech:
    """Faded at both ends, with whole frames of silence after it."""
    speech.audio = np.concatenate([*with_pause(iter([speech.audio]), len(speech.audio), seconds)])
    frames = _frames(seconds)
    speech.mel = np.pad(speech.mel, ((0, frames), (0, 0)), constant_values=LOG_FLOOR)
    return speech


def with_pause(pieces: Iterator[Audio], samples: int, seconds: float) -> Iterator[Audio]:
    """The pieces of one sound of so many samples, faded at both of its ends; the last with the silence after it."""
    at, pause = 0, np.zeros(_frames(seconds) * HOP_SAMPLES, np.float32)
    for piece in pieces:
        faded = _faded(piece, at, samples)
        at += len(piece)
        yield faded if at < samples else np.concatenate([faded, pause])


def _faded(piece: Audio, at: int, samples: int) -> Audio:
    """A piece that begins at the sample `at` of a sound. Only what lies in a fade is computed."""
    steps = max(min(_FADE_SAMPLES, samples) - 1, 1)
    rising = min(max(steps - at, 0), len(piece))
    falling = min(max(samples - steps - at, rising), len(piece))
    faded = piece.copy()
    for first, end in (0, rising), (falling, len(piece)):
        place = np.arange(at + first, at + end)
        faded[first:end] *= (np.minimum(place, samples - 1 - place) / steps).astype(np.float32)
    return faded


def _frames(seconds: float) -> int:
    return round(seconds * SAMPLE_RATE / HOP_SAMPLES)


def join(pieces: list[Speech]) -> Speech:
    """One speech of consecutive ones; timings add up."""
    names = dict.fromkeys(name for piece in pieces for name in piece.timings)
    return Speech(
        np.concatenate([np.zeros(0, np.float32), *(piece.audio for piece in pieces)]),
        np.concatenate([np.zeros((0, N_MELS), np.float32), *(piece.mel for piece in pieces)]),
        " ".join(piece.text for piece in pieces),
        {name: sum(piece.timings.get(name, 0.0) for piece in pieces) for name in names},
        "".join(dict.fromkeys("".join(piece.skipped for piece in pieces))),
    )
