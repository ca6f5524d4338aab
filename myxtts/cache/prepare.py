"""From rows to what is written of them, ahead of the writer and in corpus order.

A task is a few rows. Their audio is prepared by the executor (threads, processes, other machines), their text by one
phonemiser. At most a few tasks are in flight, so memory does not grow with the corpus.
"""

from __future__ import annotations

import itertools
import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import xxhash
from numpy.typing import NDArray

from myxtts.cache.format import TRACKS
from myxtts.cache.settings import PackSettings
from myxtts.corpus.utterance import Rejected, Row, Utterance
from myxtts.errors import RowError, TextError
from myxtts.features.audio import AudioSettings, load_clip
from myxtts.features.letters import clean
from myxtts.features.mel import HOP_SAMPLES
from myxtts.features.text import Reading, TextFrontend

# Sixteen rows a task make the cost of handing it over (50 us a thread) vanish. Rows in flight bound the memory: a clip
# of 40 s is 2.4 MB, so they hold 1.2 GB at the very most, however many workers there are.
_ROWS_PER_TASK = 16
_TASKS_AHEAD = 6
_ROWS_IN_FLIGHT = 512

# A file's size and time of change: if they are the same, so is the file. Empty if it went away.
Stamp = tuple[int, ...]
Symbols = list[str] | RowError


@dataclass(frozen=True)
class Clip:
    """The prepared audio of one utterance, as it goes to disk."""

    audio: NDArray[np.int16]  # [samples]; on disk zeros fill the last row
    tracks: dict[str, NDArray[Any]]  # what was made from it, [frames, ...] each
    hashes: dict[str, int]  # of the rows of every track, audio included


@dataclass(frozen=True)
class Sound:
    """What became of one audio file."""

    clip: Clip | RowError
    stamp: Stamp


@dataclass(frozen=True)
class Packable:
    """A row with all that is written of it."""

    row: Utterance
    stamp: Stamp
    clip: Clip
    text: str
    symbols: list[str]


@dataclass(frozen=True)
class Refused:
    """A row that is not packed, and why. The stamp is None if its audio was not looked at."""

    row: Row
    stamp: Stamp | None
    why: Rejected


Outcome = Packable | Refused


def prepare_in_order(
    rows: Iterator[Row], executor: Executor, settings: PackSettings, workers: int
) -> Iterator[list[Outcome]]:
    """Outcomes in corpus order, a few at a time, while the executor works ahead by a bounded number of tasks."""
    waiting: deque[tuple[list[Row], Future[list[Sound]], Future[list[Symbols]]]] = deque()
    rows_per_task = max(min(_ROWS_PER_TASK, _ROWS_IN_FLIGHT // (workers + _TASKS_AHEAD)), 1)
    with ThreadPoolExecutor(1, "myxtts-text") as phonemiser:  # one thread: eSpeak lives in global variables
        while task := list(itertools.islice(rows, rows_per_task)):
            paths = [os.fspath(row.audio) for row in task if isinstance(row, Utterance)]
            sounds = executor.submit(prepare_clips, paths, settings.audio, settings.tracks)
            waiting.append((task, sounds, phonemiser.submit(make_symbols, task, settings.text)))
            if len(waiting) > workers + _TASKS_AHEAD:
                yield _collect(*waiting.popleft())
        while waiting:
            yield _collect(*waiting.popleft())


def _collect(rows: list[Row], sounds: Future[list[Sound]], symbols: Future[list[Symbols]]) -> list[Outcome]:
    made = iter(sounds.result())
    return [
        _outcome(row, next(made), spelt) if isinstance(row, Utterance) else Refused(row, None, row)
        for row, spelt in zip(rows, symbols.result(), strict=True)
    ]


def _outcome(row: Utterance, sound: Sound, symbols: Symbols) -> Outcome:
    if isinstance(symbols, RowError):
        return Refused(row, sound.stamp, Rejected.because(row, symbols))
    if isinstance(sound.clip, RowError):
        return Refused(row, sound.stamp, Rejected.because(row, sound.clip))
    return Packable(row, sound.stamp, sound.clip, clean(row.text), symbols)


def prepare_clips(paths: list[str], settings: AudioSettings, tracks: tuple[str, ...]) -> list[Sound]:
    """The work of one task. It runs in a thread, in a process or on another machine."""
    # The stamp first: of a file that is rewritten while it is decoded, the old stamp says that the corpus has changed.
    stamps = [stamp_of(path) for path in paths]
    return [Sound(_prepare_clip(path, settings, tracks), stamp) for path, stamp in zip(paths, stamps, strict=True)]


def stamp_of(path: str | os.PathLike[str]) -> Stamp:
    try:
        stat = os.stat(path)
    except OSError:
        return ()
    return stat.st_size, stat.st_mtime_ns


def _prepare_clip(path: str, settings: AudioSettings, tracks: tuple[str, ...]) -> Clip | RowError:
    try:
        samples = load_clip(path, settings)
    except RowError as error:
        return error
    made = {name: TRACKS[name].make(samples) for name in tracks if name != "audio"}
    hashes = {name: hash_rows(rows) for name, rows in made.items()}
    return Clip(samples, made, {"audio": _hash_padded(samples)} | hashes)


def _hash_padded(samples: NDArray[np.int16]) -> int:
    """The hash of the rows in audio.npy, without making them: a copy of each clip would be fresh pages each time."""
    digest = xxhash.xxh3_64(np.ascontiguousarray(samples).data.cast("B"))
    digest.update(bytes(-samples.nbytes % (HOP_SAMPLES * samples.itemsize)))
    return digest.intdigest()


def hash_rows(rows: NDArray[Any]) -> int:
    """xxh3 of an array's bytes: of an utterance's rows in a payload file."""
    return xxhash.xxh3_64_intdigest(rows.data.cast("B"))


def make_symbols(rows: list[Row], frontend: TextFrontend) -> list[Symbols]:
    """Symbols of each row's text; one call per language. Rejected rows get a place holder."""
    return _by_language(rows, frontend.symbols, [])


def make_readings(rows: list[Row], frontend: TextFrontend) -> list[Reading | RowError | None]:
    """As `make_symbols`, but all that becomes of the texts."""
    return _by_language(rows, frontend.read, None)


def _by_language(rows: list[Row], make: Callable[[list[str], str], list[Any]], nothing: Any) -> list[Any]:
    values: list[Any] = [nothing] * len(rows)
    for language in sorted({row.language for row in rows if isinstance(row, Utterance)}):
        mine = [(at, row) for at, row in enumerate(rows) if isinstance(row, Utterance) and row.language == language]
        try:
            made = make([clean(row.text) for _, row in mine], language)
        except TextError as error:
            made = [RowError("unknown_language", str(error))] * len(mine)
        for (at, _), value in zip(mine, made, strict=True):
            values[at] = value
    return values
