"""Turns a HiFi-GAN V1 checkpoint, as it is widely shared, into a vocoder's folder. Nothing in the file is run."""

from __future__ import annotations

import hashlib
import json
import logging
from pathlib import Path
from typing import Any

from myxtts.errors import CheckpointError
from myxtts.features.mel import FFT_SAMPLES, HOP_SAMPLES, MAX_HZ, N_MELS, SAMPLE_RATE
from myxtts.models import hifigan_layers, weights
from myxtts.models.format import MODEL, WEIGHTS
from myxtts.models.torch_file import read_tensors
from myxtts.models.vocoder_description import HIFIGAN, VocoderDescription

CONFIG = "config.json"
_log = logging.getLogger(__name__)

# What the config.json beside a checkpoint must say, where it says it.
_EXPECTED: dict[str, Any] = {
    "sampling_rate": SAMPLE_RATE,
    "num_mels": N_MELS,
    "n_fft": FFT_SAMPLES,
    "win_size": FFT_SAMPLES,
    "hop_size": HOP_SAMPLES,
    "fmin": 0,
    "fmax": MAX_HZ,
    "resblock": "1",
    "upsample_rates": list(hifigan_layers.RATES),
    "upsample_kernel_sizes": list(hifigan_layers.UPSAMPLE_KERNELS),
    "upsample_initial_channel": hifigan_layers.CHANNELS,
    "resblock_kernel_sizes": list(hifigan_layers.KERNELS),
    "resblock_dilation_sizes": [list(hifigan_layers.DILATIONS)] * len(hifigan_layers.KERNELS),
}


def import_hifigan(file: Path, folder: Path, config: Path | None = None) -> VocoderDescription:
    """Read `file`, check it and the `config` (or the config.json beside it), and write the folder, description last."""
    if (folder / MODEL).exists():
        raise CheckpointError(f"{folder} already holds a vocoder: choose another -o, or remove it first")
    _check_config(file, config)
    tensors = read_tensors(file, under="generator")
    try:
        made = hifigan_layers.from_torch(tensors)
    except CheckpointError as error:
        raise type(error)(f"{file}: {error}") from None
    folder.mkdir(parents=True, exist_ok=True)
    weights.save(folder / WEIGHTS, made)
    description = VocoderDescription(HIFIGAN, source={"file": file.name, "sha256": _sha256(file)})
    description.save(folder)
    return description


def _check_config(file: Path, config: Path | None) -> None:
    path = config or file.parent / CONFIG
    if config is None and not path.is_file():
        _log.warning(
            "there is no %s beside %s: it is taken to be for %s Hz, hop %s and %s mel bins up to %.0f Hz, as published",
            CONFIG, file.name, SAMPLE_RATE, HOP_SAMPLES, N_MELS, MAX_HZ,
        )  # fmt: skip
        return
    try:
        written = json.loads(path.read_bytes())
    except OSError as error:
        raise CheckpointError(f"cannot read {path}: {error.strerror}") from None
    except ValueError as error:
        raise CheckpointError(f"{path} is not JSON ({error}): give the file's own config.json with --config") from None
    said = written if isinstance(written, dict) else {}
    wrong = [
        f"{name} {said[name]} instead of {want}" for name, want in _EXPECTED.items() if said.get(name, want) != want
    ]
    if wrong:
        raise CheckpointError(
            f"{path} describes another vocoder, with {', '.join(wrong)}: give a HiFi-GAN V1 for {SAMPLE_RATE:,} Hz"
        )


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
