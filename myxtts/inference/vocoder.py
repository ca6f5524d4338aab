"""The one door to every vocoder: natural-log mel [frames, mels] in, float32 sound [frames * hop_samples] out.

vocoder = find_vocoder("neural")             or "griffin-lim", or the run or folder of a vocoder
audio = vocoder(mel)
for piece in vocoder.stream(mel): ...        the same samples, the first of them sooner
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from myxtts.errors import SpeechError
from myxtts.inference.export_description import ExportDescription, is_exported
from myxtts.inference.griffin_lim import griffin_lim
from myxtts.models.description import find_checkpoint
from myxtts.models.shipped import VOCODER, shipped
from myxtts.models.vocoder_description import OURS, VocoderDescription

Audio = NDArray[np.float32]

CHUNK_FRAMES = 64  # 0.74 s
DEFAULT_VOCODER = "neural"


class Network(Protocol):
    """One that draws something at random also takes a `seed`."""

    def pieces(self, mel: NDArray[Any], chunk_frames: int) -> Iterator[Audio]: ...


class Vocoder:
    """Weights are read when it first speaks. `draws`: whether a seed makes a difference."""

    def __init__(self, name: str, load: Callable[[], Network], draws: bool = False):
        self.name, self.draws, self._load, self._loaded = name, draws, load, list[Network]()

    def __call__(self, mel: NDArray[Any], seed: int | None = None) -> Audio:
        """The whole at once."""
        return np.concatenate([*self.stream(mel, max(len(mel), 1), seed), np.zeros(0, np.float32)])

    def stream(self, mel: NDArray[Any], chunk_frames: int = CHUNK_FRAMES, seed: int | None = None) -> Iterator[Audio]:
        """The sound piece by piece; joined, that of the whole. Without a seed it is always the same."""
        if not self._loaded:
            self._loaded.append(self._load())
        given = {} if seed is None else {"seed": seed}
        return self._loaded[0].pieces(mel, chunk_frames, **given)


class GriffinLim:
    """It needs the whole clip and no weights."""

    def pieces(self, mel: NDArray[Any], chunk_frames: int) -> Iterator[Audio]:
        yield griffin_lim(mel)


@functools.cache
def _neural() -> Vocoder:
    """One for all: its weights are read once, not for every text."""
    return _of_folder(shipped(VOCODER), "neural")


VOCODERS: dict[str, Callable[[], Vocoder]] = {
    "neural": _neural,
    "griffin-lim": lambda: Vocoder("griffin-lim", GriffinLim),
}


def find_vocoder(name: str | Path | Vocoder) -> Vocoder:
    """A vocoder by its name, run or folder, which is checked now."""
    if isinstance(name, Vocoder):
        return name
    if str(name) in VOCODERS:
        return VOCODERS[str(name)]()
    if is_exported(Path(name)):
        return _exported(Path(name))
    if not Path(name).is_dir():
        raise SpeechError(
            f"found the vocoder '{name}', expected one of: {', '.join(sorted(VOCODERS))}, or a folder made by "
            "'myxtts train --part vocoder' or 'myxtts import-vocoder'"
        )
    return _of_folder(find_checkpoint(name), str(name))


def _of_folder(folder: Path, name: str) -> Vocoder:
    kind = VocoderDescription.load(folder).kind

    def load() -> Network:
        from myxtts.inference import neural_vocoder  # TensorFlow, when it is needed

        return neural_vocoder.OurVocoder(folder) if kind == OURS else neural_vocoder.HiFiGANVocoder(folder)

    return Vocoder(name, load, draws=kind == OURS)


def default_vocoder(folder: Path) -> str | Vocoder:
    """The one that speaks for a model where nobody names another: an exported model brings its own."""
    return _exported(folder) if is_exported(folder) else DEFAULT_VOCODER


def _exported(folder: Path) -> Vocoder:
    kind = ExportDescription.load(folder).vocoder
    if kind == "griffin-lim":
        return find_vocoder(kind)

    def load() -> Network:
        from myxtts.inference.exported_vocoder import load_network  # ONNX Runtime, when it is needed

        return load_network(folder)

    return Vocoder(str(folder), load, draws=kind == OURS)
