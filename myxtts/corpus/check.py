"""One pass over a corpus that finds what is wrong with which row, and what the corpus is like.

What is an error is decided by the very functions that decide it for a packer: the corpus for its rows, and the two that
are given for the text and the sound. So `check` names what `pack` will reject. What is only a warning is decided here.
"""

from __future__ import annotations

import itertools
import math
import os
import re
import statistics
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import xxhash

from myxtts.corpus.lines import has_bom
from myxtts.corpus.read import Corpus
from myxtts.corpus.report import Report, Sound
from myxtts.corpus.utterance import Rejected, Row, Utterance, first_fault
from myxtts.errors import CorpusError, RowError

_ROWS_PER_TASK = 16  # handing a task over costs 50 us: as much as reading a clip
_TASKS_AHEAD = 6

# Speech that was cut off by the converter has runs of samples at full scale; one that only touches it has single ones.
CLIPPED_SHARE = 1e-4
# Half or twice the usual rate of a language, and five standard deviations: one text in a million by chance.
RATE_FACTOR = 2.0
RATE_DEVIATIONS = 5.0
RATE_UTTERANCES = 20  # fewer do not show what is usual

Hear = Callable[[list[str]], list[Sound | RowError]]
Spell = Callable[[list[Row]], list[Any]]  # of each row a RowError, or what has `symbols` and `left_out`
Progress = Callable[[int, int], None]


def check(corpus: Corpus, hear: Hear, spell: Spell, workers: int, progress: Progress | None = None) -> Report:
    """Look at every row. `hear` decodes files, in `workers` threads; `spell` reads the texts of rows, in one."""
    report = Report()
    watch = _Watch(report)
    metadata = corpus.layout.metadata
    if metadata is not None and has_bom(metadata):
        report.add(Rejected(1, "", "bom", f"{metadata} begins with a byte order mark, which is skipped"))
    for rows, sounds, spelled in _in_order(corpus.rows(), hear, _Doubts(spell), workers):
        heard = iter(sounds)
        for row, reading in zip(rows, spelled, strict=True):
            report.rows += 1
            if isinstance(row, Rejected):
                report.add(row)
                continue
            sound = next(heard)
            fault = first_fault(row, reading, getattr(reading, "symbols", None), sound)
            if fault is not None:
                report.add(fault)
            elif isinstance(sound, Sound):
                watch.look(row, sound, getattr(reading, "left_out", ""))
        if progress:
            progress(report.rows, report.errors)
    if report.rows == 0:
        raise CorpusError(f"{corpus.folder} has no rows: nothing to check")
    watch.finish()
    return report


def _in_order(
    rows: Iterator[Row], hear: Hear, spell: Spell, workers: int
) -> Iterator[tuple[list[Row], list[Sound | RowError], list[Any]]]:
    """A few rows with their sounds and symbols, in corpus order; a bounded number of tasks is worked on ahead."""
    waiting: deque[tuple[list[Row], Future[list[Sound | RowError]], Future[list[Any]]]] = deque()
    with ThreadPoolExecutor(workers, "check") as pool, ThreadPoolExecutor(1, "check-text") as speller:
        while True:
            task = list(itertools.islice(rows, _ROWS_PER_TASK))
            if task:
                paths = [os.fspath(row.audio) for row in task if isinstance(row, Utterance)]
                waiting.append((task, pool.submit(hear, paths), speller.submit(spell, task)))
            if not waiting:
                return
            if not task or len(waiting) > workers + _TASKS_AHEAD:
                looked_at, sounds, symbols = waiting.popleft()
                yield looked_at, sounds.result(), symbols.result()


# An ASCII word of three letters with a vowel has a sound in each of eSpeak's 137 languages (23,016 random words: none
# without). To speak all texts only to see that each has one takes 0.35 ms of CPU a row, more than to decode its clip.
_SURE = re.compile(r"(?=[a-z]*[aeiou])[a-z]{3}", re.IGNORECASE)
_SYMBOL = re.compile(r"[^A-Za-z0-9\s.,;:!?'\"()\[\]{}-]")  # it may be one that no voice reads


class _Doubts:
    """Has the texts spelled of which it is not sure that they can be, and one of each language."""

    def __init__(self, spell: Spell):
        self._spell = spell
        self._known: set[str] = set()

    def __call__(self, rows: list[Row]) -> list[Any]:
        asked = [(at, row) for at, row in enumerate(rows) if isinstance(row, Utterance) and not self._is_sure(row)]
        spelled: list[Any] = [None] * len(rows)
        for (at, row), made in zip(asked, self._spell([row for _, row in asked]) if asked else (), strict=True):
            spelled[at] = made
            if not (isinstance(made, RowError) and made.reason == "unknown_language"):
                self._known.add(row.language)
        return spelled

    def _is_sure(self, row: Utterance) -> bool:
        if row.language not in self._known or not row.text.isascii() or _SYMBOL.search(row.text):
            return False
        return _SURE.search(row.text) is not None


@dataclass(frozen=True, slots=True)
class _Rate:
    at: int  # in the lists of the report
    row: int
    id: str
    characters: int
    seconds: float


class _Watch:
    """Finds what only shows beside other rows: the same again, and what is unlike the rest."""

    def __init__(self, report: Report):
        self._report = report
        self._texts: dict[int, int] = {}  # hash of speaker and text -> the first row with them
        self._sounds: dict[int, int] = {}
        self._rates: dict[str, list[_Rate]] = {}

    def look(self, row: Utterance, sound: Sound, left_out: str) -> None:
        def warn(reason: str, message: str) -> None:
            self._report.add(Rejected(row.row, row.id, reason, message))

        said = " ".join(row.text.lower().split())
        if (first := self._texts.setdefault(_hash(f"{row.speaker}\0{said}"), row.row)) != row.row:
            warn("duplicate_text", f"{row.speaker!r} says in row {first} what is said here")
        if (first := self._sounds.setdefault(sound.digest, row.row)) != row.row:
            warn("duplicate_audio", f"the sound is the same as that of row {first}")
        if left_out:
            warn("left_out", f"nobody will hear {' '.join(left_out)}: write what is said there")
        if sound.clipped_share > CLIPPED_SHARE:
            warn("clipped", f"{sound.clipped_share:.2%} of the samples are at full scale, one after the other")
        rate = _Rate(len(self._report.seconds), row.row, row.id, len(said), sound.seconds)
        self._rates.setdefault(row.language, []).append(rate)
        self._report.take(row, sound, len(said))

    def finish(self) -> None:
        for language, rates in self._rates.items():
            if len(rates) >= RATE_UTTERANCES:
                self._find_unusual(language, rates)

    def _find_unusual(self, language: str, rates: list[_Rate]) -> None:
        logs = [math.log(rate.characters / rate.seconds) for rate in rates]
        usual = statistics.median(logs)
        deviation = 1.4826 * statistics.median(abs(value - usual) for value in logs)
        bound = max(math.log(RATE_FACTOR), RATE_DEVIATIONS * deviation)
        for rate, value in zip(rates, logs, strict=True):
            if abs(value - usual) > bound:
                message = (
                    f"{rate.characters} characters in {rate.seconds:.1f} s are {math.exp(value):.1f} a second; "
                    f"{math.exp(usual):.1f} are usual in {language}"
                )
                self._report.add(Rejected(rate.row, rate.id, "speech_rate", message))
                self._report.unusual[rate.at] = rate.id


def _hash(text: str) -> int:
    return xxhash.xxh3_64_intdigest(text.encode())
