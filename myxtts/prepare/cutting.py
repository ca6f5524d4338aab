"""Writes slices of a recording as wav files: one pass over it, however many there are."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
import soundfile
from numpy.typing import NDArray

from myxtts.errors import PrepareError
from myxtts.features.audio import to_int16
from myxtts.files import hash_file, write_whole
from myxtts.prepare.listening import pieces, recording
from myxtts.prepare.state import Source

Span = tuple[float, float, Path]  # from, to (seconds), and the file to write

_HEADER_BYTES = 44
_PIECE_SECONDS = 10
_EXACT = ("WAV", "WAVEX", "FLAC")  # where a seek is sure to lead to the same sample as reading does


def write_slices(source: Source, spans: Iterable[Span], wrote: Callable[[float], None] = lambda seconds: None) -> int:
    """Those that are not there already, as mono at the rate of the recording; how many were written."""
    missing = [span for span in sorted(spans) if not _is_there(span, source.rate)]
    if not missing:
        return 0
    for (start, end, path), sound in _sounds(_find(source), missing):
        buffer = io.BytesIO()
        soundfile.write(buffer, to_int16(sound), source.rate, "PCM_16", format="WAV")
        # not synced one by one: a file that a power cut took has another size, and is written again
        write_whole(path, buffer.getvalue(), durable=False)
        wrote(end - start)
    return len(missing)


def _is_there(span: Span, rate: int) -> bool:
    start, end, path = span
    return path.is_file() and path.stat().st_size == _HEADER_BYTES + 2 * (round(end * rate) - round(start * rate))


def _find(source: Source) -> Path:
    path = Path(source.path)
    if not path.is_file() or hash_file(path) != source.digest:
        raise PrepareError(
            f"the recording {path} is gone or has changed: put it back, or prepare it again from its place"
        )
    return path


def _sounds(path: Path, spans: list[Span]) -> Iterator[tuple[Span, NDArray[np.float32]]]:
    """Spans may overlap; memory holds what the longest of them needs."""
    with recording(path) as file:
        rate, waiting = file.samplerate, list(spans)
        at = round(waiting[0][0] * rate) if file.format in _EXACT else 0
        file.seek(at)
        kept = np.empty(0, np.float32)
        for piece in pieces(file, _PIECE_SECONDS):
            kept = np.concatenate([kept, piece.mean(axis=1)])
            while waiting and round(waiting[0][1] * rate) <= at + len(kept):
                start, end, _ = waiting[0]
                yield waiting.pop(0), kept[round(start * rate) - at : round(end * rate) - at]
            if not waiting:
                return
            gone = min(max(round(min(span[0] for span in waiting[:8]) * rate) - at, 0), len(kept))
            kept, at = kept[gone:], at + gone
        raise PrepareError(f"{path} ends before {waiting[0][1]:.1f} s: it has changed while it was read")
