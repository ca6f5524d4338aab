"""A picture is a PNG that depends on what is drawn, and matplotlib's global state stays as it was."""

import subprocess
import sys

import numpy as np
import pytest

from myxtts.errors import MissingExtra
from myxtts.evaluation.picture import draw_spectrograms

matplotlib = pytest.importorskip("matplotlib")


def test_a_picture_shows_what_it_is_given(tmp_path):
    from matplotlib.image import imread

    low, high = np.full((100, 80), -10.0), np.full((80, 80), 1.0)
    draw_spectrograms(tmp_path / "a.png", {"spoken: $1 and $\\nothing " * 9: low, "real": high})
    draw_spectrograms(tmp_path / "b.png", {"spoken": low, "real": low}, np.repeat(np.arange(5), 20), list("ab$de"))
    first, second = imread(tmp_path / "a.png"), imread(tmp_path / "b.png")
    assert first.shape == (480, 1000, 4)
    assert second.shape == (720, 1000, 4)
    assert first[360, 400, 0] > 0.9  # loud is bright
    assert second[360, 400, 0] < 0.1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.png", "b.png"]


def test_drawing_leaves_pyplot_alone(tmp_path):
    code = (
        "import sys, numpy as np; from myxtts.evaluation.picture import draw_spectrograms;"
        f"draw_spectrograms({str(tmp_path / 'a.png')!r}, {{'spoken': np.zeros((9, 80))}});"
        "sys.exit('matplotlib.pyplot' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_without_matplotlib_the_extra_is_named(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtra, match="plot"):
        draw_spectrograms(tmp_path / "a.png", {"spoken": np.zeros((9, 80))})
