"""The first and last samples of a run and its last pictures, ready to be put into a page. Reads, and needs no
TensorFlow for it."""

from __future__ import annotations

import base64
import io
import logging
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import soundfile
from numpy.typing import NDArray

from myxtts.errors import RowError
from myxtts.features.audio import read_audio
from myxtts.files import read_regular

log = logging.getLogger(__name__)

_MOST_CLIP_SECONDS = 600.0
_MOST_FILE_BYTES = 1 << 28  # a night of TensorBoard is 50 MB
_MOST_WAV_BYTES = 1_000_000  # of all clips together, as they are; what is longer is sent as MP3, a tenth of that
_MOST_PICTURE_BYTES = 900_000
_MOST_CLIPS = 8
_NAME = re.compile(r"step-(\d+)-(\d+)\.wav")
_PNG = b"\x89PNG"


@dataclass(frozen=True)
class Medium:
    """Something to hear or see: `source` is a data URI."""

    name: str
    step: int
    source: str


def first_and_last_clips(run: Path) -> list[Medium]:
    """The sentences that were spoken last, each after itself as it was before the first step, if it was spoken then."""
    found = [(_NAME.fullmatch(path.name), path) for path in (run / "samples").glob("*.wav") if path.is_file()]
    samples = {(int(m[1]), int(m[2])): path for m, path in found if m}
    last = max((step for step, _ in samples), default=0)
    numbers = sorted(number for step, number in samples if step == last)
    clips = [(n, step, samples[step, n]) for n in numbers for step in sorted({0, last}) if (step, n) in samples]
    clips = clips[:_MOST_CLIPS]
    small = sum(path.stat().st_size for _, _, path in clips) <= _MOST_WAV_BYTES
    sounds = [(n, step, *(("wav", _content(path)) if small else ("mpeg", _as_mp3(path)))) for n, step, path in clips]
    return [Medium(f"sentence {n}", step, data_uri(f"audio/{kind}", sound)) for n, step, kind, sound in sounds]


def _as_mp3(path: Path) -> bytes:
    """Nothing if it is no sound, or none that is to be heard on a page."""
    try:
        return mp3_of(*read_audio(path, _MOST_CLIP_SECONDS))
    except (RowError, soundfile.LibsndfileError) as error:
        log.warning("%s cannot be played: %s", path, error)
        return b""


def mp3_of(samples: NDArray[np.float32], rate: int) -> bytes:
    out = io.BytesIO()
    soundfile.write(out, samples, rate, format="MP3")
    return out.getvalue()


def _content(path: Path) -> bytes:
    """Nothing of what is no file of ours: a pipe, a device, something of many gigabytes."""
    try:
        return read_regular(path, _MOST_FILE_BYTES)
    except OSError as error:
        log.warning("%s is left out of the report: %s", path, error.strerror)
        return b""


def data_uri(kind: str, content: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def last_pictures(run: Path) -> tuple[list[Medium], int]:
    """The newest picture of each name on the TensorBoard, and how many were too large to be taken along."""
    newest: dict[str, tuple[int, bytes]] = {}
    for path in sorted((run / "tensorboard").glob("events.out.tfevents.*")):
        for step, name, png in _pictures(_content(path)):
            newest[name] = (step, png)
    kept, room = [], _MOST_PICTURE_BYTES
    for name, (step, png) in sorted(newest.items()):
        if len(png) <= room:
            room -= len(png)
            kept.append(Medium(name, step, data_uri("image/png", png)))
    return kept, len(newest) - len(kept)


# ---- an event file: a TFRecord of protocol buffers, of which we need five fields ------------------------------------


def _pictures(content: bytes) -> Iterator[tuple[int, str, bytes]]:
    """(step, name, PNG) of each picture; a file that is being written may end in the middle of a record."""
    for record in _records(content):
        if _PNG not in record:
            continue
        event = dict(_fields(record))
        for number, value in _fields(_bytes(event.get(5))):  # Event.summary
            parts = dict(_fields(_bytes(value))) if number == 1 else {}  # Summary.value
            image = dict(_fields(_bytes(parts.get(4))))  # Value.image
            if _bytes(image.get(4)).startswith(_PNG):
                yield _number(event.get(2)), _bytes(parts.get(1)).decode(errors="replace"), _bytes(image[4])


def _records(content: bytes) -> Iterator[bytes]:
    """Length (8 bytes), its checksum (4), the record, its checksum (4)."""
    at = 0
    while at + 12 <= len(content):
        (length,) = struct.unpack_from("<Q", content, at)
        if at + 16 + length > len(content):
            return
        yield content[at + 12 : at + 12 + length]
        at += 16 + length


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """(number, value) of each field of a message."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        kind = key & 7
        if kind == 0:
            value, at = _varint(message, at)
            yield key >> 3, value
            continue
        if kind == 2:
            length, at = _varint(message, at)
        elif kind in (1, 5):
            length = 8 if kind == 1 else 4
        else:
            return  # groups: none of ours has one
        yield key >> 3, message[at : at + length]
        at += length


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(message) and shift < 70:  # a number of 64 bits has ten bytes
        byte = message[at]
        value, shift, at = value | (byte & 127) << shift, shift + 7, at + 1
        if byte < 128:
            break
    return value, at


def _bytes(value: int | bytes | None) -> bytes:
    return value if isinstance(value, bytes) else b""


def _number(value: int | bytes | None) -> int:
    return value if isinstance(value, int) else 0
