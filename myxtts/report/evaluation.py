"""`evaluate --html`: the judges' table, and the first sentences spoken, copied and real, to hear and to see.

With `--before` also as another model speaks them, the one that the voice was started from for example.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from myxtts.evaluation.measures import MEASURES
from myxtts.features.mel import SAMPLE_RATE
from myxtts.report.markup import Markup, join, tag
from myxtts.report.media import data_uri, mp3_of
from myxtts.report.page import card, page, table, write_page

_KINDS = {"before": "before", "synthetic": "spoken", "copy": "copy", "real": "real"}
_MOST_SECONDS = 12.0  # of a clip: 24 of them are 2 MB
_PEAK = 0.98
_BETTER = {"higher": "higher is better", "lower": "lower is better", "one": "1 is best"}


class Heard(NamedTuple):
    """One sentence for the page: sounds at 22,050 Hz and PNG pictures by kind, and what was heard."""

    text: str
    speaker: str
    sounds: Mapping[str, NDArray[np.float32]]
    pictures: Mapping[str, bytes]
    heard: Mapping[str, str]


def write_evaluation(
    path: Path | str,
    name: str,
    evaluation: Mapping[str, Any],
    clips: Iterable[Heard],
    matrix: bytes | None = None,
    across_languages: str = "",
) -> None:
    """`evaluation` is what --json prints; `matrix` and `across_languages` say how the voices are told apart."""
    body = [
        _judges_card(evaluation),
        _matrix_card(matrix, across_languages),
        *(_clip_card(clip) for clip in clips),
        _rows_card(evaluation),
    ]
    write_page(path, page("evaluation", name, [f"{evaluation['sentences']} sentences"], body))


def _judges_card(evaluation: Mapping[str, Any]) -> Markup:
    kinds = [kind for kind in _KINDS if kind != "before" or "before" in evaluation]
    rows = [
        (MEASURES[key].title, *(_number(key, values.get(kind)) for kind in kinds), _BETTER[MEASURES[key].better])
        for key, values in evaluation["scores"].items()
    ]
    heads = ["", *(_KINDS[kind] for kind in kinds), ""]
    notes = [tag("p", f"{MEASURES[key].title}: {note}", class_="note") for key, note in evaluation["notes"].items()]
    missing = [tag("p", f"Not installed: {how}", class_="note") for how in evaluation["missing"].values()]
    before = f" Before is {evaluation['before']}, asked for the same sentences." if "before" in evaluation else ""
    note = (
        "Copy is the recording's mel through the same vocoder: real to copy is lost by it, copy to spoken by the "
        f"model.{before}"
    )
    return card("Judges", table(heads, rows, words=(len(heads) - 1,), id="judges"), *notes, *missing, note=note)


def _number(key: str, value: float | None) -> str | None:
    return None if value is None else f"{value:.{MEASURES[key].digits}f}"


def _matrix_card(matrix: bytes | None, across_languages: str) -> Markup:
    if matrix is None:
        return join([])
    alt = "a row for each voice that was spoken like, a column for each that it was compared with; bright is similar"
    picture = tag("img", src=data_uri("image/png", matrix), alt=alt)
    told = tag("p", across_languages) if across_languages else None
    return card("Who sounds like whom", picture, told, note=f"Similarity: {alt}.")


def _clip_card(clip: Heard) -> Markup:
    columns = [_column(clip, kind, title) for kind, title in _KINDS.items() if kind in clip.sounds]
    side_by_side = "grid thirds" if len(columns) < 4 else "grid"
    return card(clip.text, tag("div", *columns, class_=side_by_side), note=clip.speaker or None)


def _column(clip: Heard, kind: str, title: str) -> Markup:
    samples = np.asarray(clip.sounds[kind], np.float32)[: int(_MOST_SECONDS * SAMPLE_RATE)]
    samples = samples * np.float32(min(1.0, _PEAK / max(float(np.abs(samples).max(initial=0.0)), 1e-6)))
    picture = clip.pictures.get(kind)
    alt = f"mel spectrogram, {title}: low tones at the bottom, time to the right"
    heard = f"heard: {clip.heard[kind]}" if kind in clip.heard else None
    return tag(
        "div",
        tag("h3", title),
        tag("audio", src=data_uri("audio/mpeg", mp3_of(samples, SAMPLE_RATE)), controls="", preload="metadata",
            aria_label=f"{title}: {clip.text}"),
        tag("figure", tag("img", src=data_uri("image/png", picture), alt=alt) if picture else None,
            tag("figcaption", heard) if heard else None),
    )  # fmt: skip


def _rows_card(evaluation: Mapping[str, Any]) -> Markup:
    keys = [key for key in ("distillmos", "wer", "cer", "similarity", "mcd_db") if key in evaluation["scores"]]
    rows = [
        (row["text"], *(_number(key, row["scores"].get(key, {}).get("synthetic")) for key in keys))
        for row in evaluation["rows"]
    ]
    return card("Every sentence, as spoken", table(["", *keys], rows, id="rows"))
