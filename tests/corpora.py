"""Small real corpora for every test: tones with a voice-like envelope, written as real files."""

from pathlib import Path

import numpy as np
import soundfile

from myxtts.config.config import DataConfig, XTTSConfig

WORDS = "the quick brown fox jumps over a lazy dog while seven wise owls watch from an old oak tree"


def write_tone(path: Path, seconds: float, seed: int = 0, rate: int = 22050) -> None:
    """A harmonic tone with a moving pitch and noise: cheap, and no two seeds alike."""
    rng = np.random.default_rng(seed)
    time = np.arange(int(seconds * rate)) / rate
    pitch = 110 + 40 * rng.random() + 20 * np.sin(2 * np.pi * (1 + rng.random()) * time)
    phase = 2 * np.pi * np.cumsum(pitch) / rate
    audio = sum(np.sin(k * phase) / k for k in range(1, 6)) * 0.15 + 0.01 * rng.standard_normal(len(time))
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path, audio.astype(np.float32), rate)


def sentence(seed: int) -> str:
    rng = np.random.default_rng(seed)
    return " ".join(rng.choice(WORDS.split(), rng.integers(4, 12))).capitalize() + "."


def write_corpus(folder: Path, utterances: int, seconds: tuple[float, float] = (0.4, 1.5)) -> Path:
    """An LJSpeech folder with two speakers."""
    rng = np.random.default_rng(utterances)
    lines = []
    for n in range(utterances):
        write_tone(folder / "wavs" / f"utt{n:05d}.wav", rng.uniform(*seconds), seed=n)
        lines.append(f"utt{n:05d}|{sentence(n)}|{sentence(n)}|speaker{n % 2}|en-us\n")
    (folder / "metadata.csv").write_text("".join(lines), encoding="utf-8")
    return folder


def feed_config(**data) -> XTTSConfig:
    settings = {
        "batch_size": 8,
        "num_buckets": 3,
        "num_workers": 2,
        "prefetch_buffer_size": 2,
        "text_tokens": "characters",
    }
    return XTTSConfig(data=DataConfig(**{**settings, **data}))
