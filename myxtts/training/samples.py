"""Speaks a few fixed sentences during training: what the run sounds and looks like, for the ear and for TensorBoard."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from myxtts.data.device import widen
from myxtts.inference.speech import Speech
from myxtts.inference.vocoder import DEFAULT_VOCODER, find_vocoder
from myxtts.training.optimiser import Adam
from myxtts.training.tensorboard import Board

_SENTENCES = 2


class Samples:
    """Keeps one batch and speaks its first sentences with the averaged weights whenever asked."""

    def __init__(self, model: Any, batch: Mapping[str, Any], folder: Path):
        rows = min(_SENTENCES, int(batch["tokens"].shape[0]))
        wide = widen(dict(batch))
        self._batch = {name: part[:rows] for name, part in wide.items() if part.shape.rank}
        self._model, self._folder, self._rows = model, folder, rows

    def write(self, step: int, optimiser: Adam, board: Board) -> list[Path]:
        """samples/step-N-k.wav, and pictures on the board."""
        self._folder.mkdir(parents=True, exist_ok=True)
        paths = []
        with optimiser.averaged():
            for row in range(self._rows):
                mel, durations = self._speak(row)
                real = self._batch["mel"][row, : int(self._batch["frame_lengths"][row])]
                board.spectrograms(f"sentence {row + 1}/real above spoken", real, mel, step)
                board.alignment(f"sentence {row + 1}/alignment", alignment_of(durations), step)
                speech = Speech(find_vocoder(DEFAULT_VOCODER)(mel), mel)
                board.audio(f"sentence {row + 1}", speech.audio, step)
                paths.append(self._folder / f"step-{step}-{row + 1}.wav")
                speech.save(paths[-1])
        return paths

    def _speak(self, row: int) -> tuple[np.ndarray, np.ndarray]:
        one = {name: part[row : row + 1] for name, part in self._batch.items()}
        clip = ("reference", "reference_lengths") if "reference" in one else ("mel", "frame_lengths")
        voice = self._model.voice(one[clip[0]], one[clip[1]])
        tokens = one["tokens"][:, : int(one["token_lengths"][0])]
        mel, lengths, durations = self._model.synthesize(tokens, one["token_lengths"], one["language"], voice)
        return mel[0, : int(lengths[0])].numpy(), tf.squeeze(durations, 0).numpy()


def alignment_of(durations: np.ndarray) -> np.ndarray:
    """[tokens, frames]: 1 where a frame belongs to a token."""
    token = np.repeat(np.arange(len(durations)), durations)
    return (np.arange(len(durations))[:, None] == token[None]).astype(np.float32)
