"""Untrained tiny models with a small alphabet: they babble, but the way of a request through them is the real one."""

import os
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import pytest
from corpora import write_tone

from myxtts.features.audio import AudioSettings
from myxtts.features.mel import LOG_FLOOR
from myxtts.features.text import SPECIALS, TextFrontend
from myxtts.inference.reference import save_reference
from myxtts.inference.synthesizer import Synthesizer
from myxtts.models import weights
from myxtts.models.description import REFERENCE_FRAMES, ModelDescription
from myxtts.models.xtts import XTTS

ALPHABET = [*SPECIALS, *" .,!?'abcdefghijklmnopqrstuvwxyz0123456789"]


def write_model(folder: Path, languages: list[str], **changes: Any) -> Path:
    description = ModelDescription(
        size="tiny",
        token_table=ALPHABET,
        languages=languages,
        speakers=["one"],
        tokens=TextFrontend(kind="characters").settings(),
        audio=AudioSettings().fingerprint(),
        **changes,
    )
    model = XTTS(description)
    model.set_statistics(-5.0, 2.0)
    folder.mkdir(parents=True)
    description.save(folder)
    weights.save(folder / "weights.safetensors", weights.weights_of(model))
    return folder


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory) -> Path:
    """A model with a voice of its own."""
    folder = write_model(tmp_path_factory.mktemp("model") / "own_voice", ["en-us", "de"])
    mel = np.random.default_rng(0).normal(-5, 2, (400, 80)).astype(np.float32)
    save_reference(folder, [np.maximum(mel, LOG_FLOOR), mel[:50]], REFERENCE_FRAMES)
    return folder


@pytest.fixture(scope="session")
def model_writer():
    """write_model(folder, languages, **other values of the description)"""
    return write_model


@pytest.fixture(scope="session")
def synthesizer(model_folder) -> Synthesizer:
    return Synthesizer.load(model_folder)


@pytest.fixture(scope="session")
def voiceless_synthesizer(tmp_path_factory) -> Synthesizer:
    """A model without a voice of its own."""
    return Synthesizer.load(write_model(tmp_path_factory.mktemp("model") / "voiceless", ["en-us"]))


@pytest.fixture(scope="session")
def clips(tmp_path_factory) -> list[Path]:
    folder = tmp_path_factory.mktemp("clips")
    for seed in range(3):
        write_tone(folder / f"{seed}.wav", 1.0 + 2.0 * seed, seed=seed)
    return sorted(folder.glob("*.wav"))
