"""A recording whose words are known: demo sentences with pauses between them, noise and a chord."""

import contextlib
import io
import json
from pathlib import Path
from typing import NamedTuple

import numpy as np
import soundfile

from myxtts.cli import main

RATE = 24000


class Speech(NamedTuple):
    sounds: list[np.ndarray]
    texts: list[str]

    def write(self, path: Path, numbers, pause=0.7, rest=()) -> Path:
        hiss = np.random.default_rng(0).standard_normal(RATE * 120).astype(np.float32) * 5e-4
        quiet = np.zeros(int(pause * RATE), np.float32)
        parts = [quiet, *rest, *(part for n in numbers for part in (self.sounds[n], quiet))]
        sound = np.concatenate(parts)
        soundfile.write(path, sound + hiss[: len(sound)], RATE, subtype="PCM_16")
        return path


def chord(seconds: float) -> np.ndarray:
    time = np.arange(int(RATE * seconds)) / RATE
    return sum(0.04 * np.sin(2 * np.pi * hertz * time) for hertz in (220, 277, 330, 440, 554, 660)).astype(np.float32)


def noise(seconds: float) -> np.ndarray:
    return (0.1 * np.random.default_rng(1).standard_normal(int(RATE * seconds))).astype(np.float32)


def run(*arguments, code=0) -> dict:
    """A verb as it is typed, in this process; what it says as JSON."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(io.StringIO()):
        assert main([*map(str, arguments), "--json"]) == code, said.getvalue()
    return json.loads(said.getvalue())


def lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
