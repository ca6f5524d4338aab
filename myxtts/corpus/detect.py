"""Which layout a path is of: each layout says by what it would recognise it, and exactly one must."""

from __future__ import annotations

import logging
from importlib import metadata
from pathlib import Path

from myxtts.corpus.common_voice import CommonVoice
from myxtts.corpus.coqui import Coqui
from myxtts.corpus.huggingface import HuggingFace
from myxtts.corpus.kaldi import Kaldi
from myxtts.corpus.layout import Layout
from myxtts.corpus.libritts import LibriTTS
from myxtts.corpus.ljspeech import LJSpeech
from myxtts.corpus.manifest import Manifest
from myxtts.corpus.piper import Piper
from myxtts.corpus.vctk import VCTK
from myxtts.errors import CorpusError

log = logging.getLogger(__name__)

ENTRY_POINTS = "myxtts.layouts"
LAYOUTS: dict[str, type[Layout]] = {
    layout.name: layout
    for layout in (LJSpeech, VCTK, LibriTTS, CommonVoice, Piper, Kaldi, Coqui, HuggingFace, Manifest)
}


def find_layout(name: str) -> type[Layout]:
    """The layout of a name: one of ours, or one that an installed package brings."""
    if name in LAYOUTS:
        return LAYOUTS[name]
    points = _entry_points()
    if name not in points:
        raise CorpusError(f"'{name}' is not a layout: choose one of {', '.join([*LAYOUTS, *points])}, or auto")
    return _load(points[name])


def detect(path: Path) -> type[Layout]:
    """The one layout that recognises the path; an error that says what was found if none or several do."""
    layouts = {**LAYOUTS, **_own_layouts()}
    claims = {name: sign for name, layout in layouts.items() if (sign := layout.recognise(path)) is not None}
    special = {sign for name, sign in claims.items() if not layouts[name].general}
    left = [name for name, sign in claims.items() if not (layouts[name].general and sign in special)]
    if len(left) == 1:
        return layouts[left[0]]
    tried = "; ".join(f"{name}: {layout.about}" for name, layout in layouts.items())
    if not left and path.is_file():
        raise CorpusError(f"{path} is not a manifest, nor the list of another layout: expected one of {tried}")
    if not left:
        names = sorted(entry.name for entry in path.iterdir())
        listing = (", ".join(names[:8]) or "nothing") + (", ..." if len(names) > 8 else "")
        raise CorpusError(f"{path} is not a corpus: found {listing}; expected one of these layouts: {tried}")
    signs = " and ".join(f"{name} (by {claims[name].relative_to(path.parent)})" for name in left)
    raise CorpusError(f"{path} may be {signs}: say which with --layout {' or --layout '.join(left)}")


def _entry_points() -> dict[str, metadata.EntryPoint]:
    return {point.name: point for point in metadata.entry_points(group=ENTRY_POINTS) if point.name not in LAYOUTS}


def _own_layouts() -> dict[str, type[Layout]]:
    """Those of installed packages. A broken one is named and left out: it must not keep anybody from their corpus."""
    layouts = {}
    for name, point in _entry_points().items():
        try:
            layouts[name] = _load(point)
        except CorpusError as error:
            log.warning("%s", error)
    return layouts


def _load(point: metadata.EntryPoint) -> type[Layout]:
    try:
        layout = point.load()
    except Exception as error:  # the code of somebody else may raise anything
        raise CorpusError(f"the layout '{point.name}' ({point.value}) does not load: {error!r}") from error
    if not (isinstance(layout, type) and issubclass(layout, Layout)):
        raise CorpusError(f"the layout '{point.name}' ({point.value}) is not a class of myxtts.corpus.layout.Layout")
    layout.name = point.name
    return layout
