"""Pictures as PNG: spectrograms of what was spoken and of the recording, where each frame looked, who sounds like whom.

Drawn on a canvas of its own: matplotlib's global state (pyplot, backends) is neither read nor changed.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

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
    rows = len(mels) + (alignment is not None)
    figure = _figure(10, 2.4 * rows)
    axes = figure.subplots(rows, 1, sharex=True, squeeze=False)[:, 0]
    for axis, (title, mel) in zip(axes, mels.items(), strict=False):
        _draw_mel(axis, title, mel)
    if alignment is not None:
        _draw_alignment(axes[-1], np.asarray(alignment), symbols)
    axes[-1].set_xlabel("seconds")
    axes[-1].set_xlim(0, max(len(mel) for mel in mels.values()) * _SECONDS_PER_FRAME)
    with whole_file(path) as file:
        _print(figure, file)


def small_spectrogram(mel: NDArray[Any]) -> bytes:
    """A PNG of the frames alone, for a page that says the rest."""
    figure, out = _figure(2.4, 1.0, layout=None), io.BytesIO()
    axis = figure.add_axes((0, 0, 1, 1))
    axis.set_axis_off()
    axis.imshow(np.asarray(mel, np.float32).T, origin="lower", aspect="auto", vmin=_LOWEST, vmax=_HIGHEST, cmap="magma")
    _print(figure, out)
    return out.getvalue()


def similarity_matrix(names: Sequence[str], values: NDArray[Any]) -> bytes:
    """A PNG: a row for each voice that was spoken like, a column for each that it was compared with."""
    side, out = 2.2 + 0.42 * len(names), io.BytesIO()
    figure = _figure(side, side)
    axis = figure.subplots()
    axis.imshow(values, vmin=0.0, vmax=1.0, cmap="viridis")
    axis.set_xticks(range(len(names)), names, rotation=90, fontsize=8, parse_math=False)
    axis.set_yticks(range(len(names)), names, fontsize=8, parse_math=False)
    axis.set_xlabel("recordings of")
    axis.set_ylabel("spoken like")
    for row, column in np.ndindex(values.shape) if len(names) <= 20 else ():
        dark = values[row, column] < 0.6
        axis.text(column, row, f"{values[row, column]:.2f}", ha="center", va="center", fontsize=7,
                  color="white" if dark else "black")  # fmt: skip
    _print(figure, out)
    return out.getvalue()


def _figure(width: float, height: float, layout: Any = "constrained") -> Any:
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("matplotlib", "plot", "drawing a picture") from None
    figure = Figure(figsize=(width, height), layout=layout)
    FigureCanvasAgg(figure)  # sets the figure's canvas
    return figure


def _print(figure: Any, file: IO[bytes]) -> None:
    figure.canvas.print_figure(file, format="png", dpi=100)


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
