"""A spectrogram of what was spoken above that of the real recording, and where each frame looked in the text, as a PNG.

Drawn on a canvas of its own: matplotlib's global state (pyplot, backends) is neither read nor changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myxtts.errors import MissingExtra
from myxtts.features.mel import HOP_SAMPLES, SAMPLE_RATE
from myxtts.files import whole_file

_SECONDS_PER_FRAME = HOP_SAMPLES / SAMPLE_RATE
_LOWEST, _HIGHEST = -10.0, 2.0  # log-mel: the same colour is the same loudness in every picture
_TITLE_CHARS = 110


def draw_spectrograms(
    path: Path | str,
    mels: dict[str, NDArray[Any]],
    alignment: NDArray[Any] | None = None,
    symbols: Sequence[str] | None = None,
) -> None:
    """Log-mels [frames, mels] by their titles, one below the other on one time axis, to a PNG file.

    `alignment` int [frames] is the token of each frame (of the first mel), `symbols` what stands on its axis.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("matplotlib", "plot", "drawing a spectrogram") from None
    rows = len(mels) + (alignment is not None)
    figure = Figure(figsize=(10, 2.4 * rows), layout="constrained")
    canvas = FigureCanvasAgg(figure)
    axes = figure.subplots(rows, 1, sharex=True, squeeze=False)[:, 0]
    for axis, (title, mel) in zip(axes, mels.items(), strict=False):
        _draw_mel(axis, title, mel)
    if alignment is not None:
        _draw_alignment(axes[-1], np.asarray(alignment), symbols)
    axes[-1].set_xlabel("seconds")
    axes[-1].set_xlim(0, max(len(mel) for mel in mels.values()) * _SECONDS_PER_FRAME)
    with whole_file(path) as file:
        canvas.print_figure(file, format="png", dpi=100)


def _draw_mel(axis: Any, title: str, mel: NDArray[Any]) -> None:
    extent = (0, len(mel) * _SECONDS_PER_FRAME, 0, mel.shape[1])
    image = np.asarray(mel, np.float32).T
    axis.imshow(image, origin="lower", aspect="auto", extent=extent, vmin=_LOWEST, vmax=_HIGHEST, cmap="magma")
    short = title if len(title) <= _TITLE_CHARS else f"{title[:_TITLE_CHARS]}…"
    axis.set_title(f"{short} ({extent[1]:.2f} s)", loc="left", fontsize=10, parse_math=False)
    axis.set_ylabel("mel bin")


def _draw_alignment(axis: Any, alignment: NDArray[Any], symbols: Sequence[str] | None) -> None:
    axis.step(np.arange(len(alignment)) * _SECONDS_PER_FRAME, alignment, where="post", linewidth=1)
    axis.set_title("the token that each frame speaks", loc="left", fontsize=10)
    axis.set_ylabel("token")
    if symbols is not None and len(symbols) <= 60:
        axis.set_yticks(range(len(symbols)), list(symbols), fontsize=6, parse_math=False)
