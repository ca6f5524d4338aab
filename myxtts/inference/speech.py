"""What was spoken: samples, the mel they were made from, and how long each part of the work took."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import soundfile
from numpy.typing import NDArray

from myxtts.errors import SpeechError
from myxtts.features.mel import HOP_SAMPLES, LOG_FLOOR, N_MELS, SAMPLE_RATE
from myxtts.files import whole_file

_PEAK = 0.98
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
        path = Path(path)
        kinds = {".wav": "WAV", ".flac": "FLAC"}
        kind = kinds.get(path.suffix.lower())
        if kind is None:
            raise SpeechError(f"found the file name {path.name}, expected one that ends in {' or '.join(kinds)}")
        try:
            with whole_file(path) as file:
                soundfile.write(file, limit_peak(self.audio), self.sample_rate, format=kind, subtype="PCM_16")
        except (OSError, soundfile.LibsndfileError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise SpeechError(f"cannot write {path}: {reason}; choose another place with -o") from None


def limit_peak(audio: NDArray[np.float32]) -> NDArray[np.float32]:
    """The whole sound made quieter if its loudest sample would be clipped."""
    peak = float(np.abs(audio).max(initial=0.0))
    return audio if peak <= _PEAK else audio * np.float32(_PEAK / peak)


def add_pause(speech: Speech, seconds: float) -> Speech:
    """Faded at both ends, with whole frames of silence after it."""
    frames = round(seconds * SAMPLE_RATE / HOP_SAMPLES)
    audio = np.pad(speech.audio, (0, frames * HOP_SAMPLES))
    length = min(_FADE_SAMPLES, len(speech.audio))
    fade = np.linspace(0.0, 1.0, length, dtype=np.float32)
    audio[:length] *= fade
    audio[len(speech.audio) - length : len(speech.audio)] *= fade[::-1]
    speech.audio, speech.mel = audio, np.pad(speech.mel, ((0, frames), (0, 0)), constant_values=LOG_FLOOR)
    return speech


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
