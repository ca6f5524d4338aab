"""The one door to every vocoder: natural-log mel [frames, mels] in, float32 sound [frames * hop_samples] out.

vocoder = find_vocoder("griffin-lim")        or a folder made by 'myxtts import-vocoder'
audio = vocoder(mel)
for piece in vocoder.stream(mel): ...        the same samples, the first of them sooner
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myxtts.errors import SpeechError
from myxtts.features.mel import HOP_SAMPLES
from myxtts.inference.griffin_lim import griffin_lim
from myxtts.models.vocoder_folder import DESCRIPTION, VocoderDescription

Audio = NDArray[np.float32]
Render = Callable[[NDArray[Any]], Audio]

CHUNK_FRAMES = 64  # 0.74 s


@dataclass(frozen=True)
class Vocoder:
    """`context_frames`: how far around a frame its samples look; None where they look at the whole clip."""

    name: str
    render: Render
    context_frames: int | None = None

    def __call__(self, mel: NDArray[Any]) -> Audio:
        return self.render(mel)

    def stream(self, mel: NDArray[Any], chunk_frames: int = CHUNK_FRAMES) -> Iterator[Audio]:
        """The sound piece by piece, each from its frames and the context around them; joined, that of the whole."""
        if self.context_frames is None:
            yield self.render(mel)
            return
        for start in range(0, len(mel), chunk_frames):
            end = min(start + chunk_frames, len(mel))
            first = max(start - self.context_frames, 0)
            audio = self.render(mel[first : end + self.context_frames])
            yield audio[(start - first) * HOP_SAMPLES : (end - first) * HOP_SAMPLES]


# 3 frames in its first convolution; then at each level 1 step of the one before and 60 of its own (kernel 11, dilations
# 1, 3 and 5 and three plain ones): 3 + 1 + 60/8 + 1/8 + 60/64 + ... < 14 frames.
_HIFIGAN_CONTEXT = 14

DEFAULT_VOCODER = "griffin-lim"
VOCODERS: dict[str, Callable[[], Vocoder]] = {DEFAULT_VOCODER: lambda: Vocoder(DEFAULT_VOCODER, griffin_lim)}


def find_vocoder(name: str | Path | Vocoder) -> Vocoder:
    """A vocoder by its name or its folder, which is checked now; its weights are read when it first speaks."""
    if isinstance(name, Vocoder):
        return name
    if str(name) in VOCODERS:
        return VOCODERS[str(name)]()
    folder = Path(name)
    if not folder.is_dir():
        raise SpeechError(
            f"found the vocoder '{name}', expected one of: {', '.join(sorted(VOCODERS))}, or a folder with "
            f"{DESCRIPTION} (see 'myxtts import-vocoder --help')"
        )
    return _KINDS[VocoderDescription.load(folder).kind](folder)


def _hifigan(folder: Path) -> Vocoder:
    loaded: list[Render] = []

    def render(mel: NDArray[Any]) -> Audio:
        if not loaded:
            from myxtts.inference.neural_vocoder import load_hifigan

            loaded.append(load_hifigan(folder))
        return loaded[0](mel)

    return Vocoder(str(folder), render, _HIFIGAN_CONTEXT)


_KINDS = {"hifigan": _hifigan}
