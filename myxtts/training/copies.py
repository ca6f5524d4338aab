"""Puts a few fixed clips through a vocoder during its training: what it sounds and looks like."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from myxtts.data.device import widen
from myxtts.features.mel import log_mel
from myxtts.inference.speech import Speech
from myxtts.training.optimiser import Adam
from myxtts.training.tensorboard import Board

_CLIPS = 2


class Copies:
    """Keeps the mel of some clips and makes their sound with the averaged weights whenever asked."""

    def __init__(self, model: Any, batch: Mapping[str, Any], folder: Path):
        wide = widen(dict(batch))
        lengths = wide["frame_lengths"].numpy()[:_CLIPS]
        self._mels = [wide["mel"][row : row + 1, :length] for row, length in enumerate(lengths)]
        self._model, self._folder = model, folder

    def write(self, step: int, optimiser: Adam, board: Board) -> list[Path]:
        """samples/step-N-k.wav, and pictures on the board."""
        self._folder.mkdir(parents=True, exist_ok=True)
        paths = []
        with optimiser.averaged():
            for number, mel in enumerate(self._mels, 1):
                audio = self._model.vocoder(mel).numpy()[0]
                board.spectrograms(f"clip {number}/real above copy", mel[0], log_mel(audio), step)
                board.audio(f"clip {number}", audio, step)
                paths.append(self._folder / f"step-{step}-{number}.wav")
                Speech(audio, log_mel(audio)).save(paths[-1])
        return paths
