"""The way of a recording: listen to it, cut it, write down what is said, find that in the text, write the corpus."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from myxtts.corpus.layout import AUDIO_SUFFIXES
from myxtts.corpus.walk import walk
from myxtts.errors import PrepareError
from myxtts.files import hash_file
from myxtts.prepare.cutting import write_slices
from myxtts.prepare.ears import Ear, find_ear
from myxtts.prepare.hearing import Bar, Moved, check_aligner, file_of, hear_all, name_of_aligner, place_all, slices_of
from myxtts.prepare.listening import listen, recording
from myxtts.prepare.result import compose, publish
from myxtts.prepare.rows import Row, rows_of
from myxtts.prepare.script import SUFFIXES, read_script
from myxtts.prepare.slicing import REASONS, SLICE, inner_pauses
from myxtts.prepare.state import Group, Source, State, refuse_strangers
from myxtts.prepare.trust import LEAST_TRUST


@dataclass(frozen=True)
class Order:
    """What a person asked for."""

    inputs: list[Path]
    corpus: Path
    text: Path | None = None
    language: str = "en-us"
    speaker: str = ""
    asr: str | None = None
    aligner: str | None = None  # a model that finds the words of the text, where no recogniser is named
    least_trust: float = LEAST_TRUST


_WORTH_A_CUT = ("partly_in_text", "words_missing", "disagrees", "unlikely")


def _no_bar(what: str, seconds: float) -> AbstractContextManager[Moved]:
    return nullcontext(lambda done: None)


def prepare(order: Order, bar: Bar = _no_bar) -> dict[str, Any]:
    """Do what is not done yet, write the corpus, return its summary."""
    refuse_strangers(order.corpus)
    paths = find_recordings(order.inputs)
    texts = find_texts(order.text, paths)
    scripts = {text: read_script(text) for text in texts.values() if text}
    rates = {path: _look(path) for path in paths}
    ear = None if order.aligner else find_ear(order.asr, order.language)
    if order.text and ear is None and order.aligner is None:
        raise PrepareError(
            "words of a text are found by a recogniser or by a voice: leave --asr none out, or --aligner"
        )
    if order.aligner:
        check_aligner(order.aligner, order.language)
    with State(order.corpus) as state:
        digests = _listen_to_all(rates, state, bar)
        sources = _sources(digests.values(), state)
        _refuse_without_speech(sources, state)
        _cut_and_hear(sources, state, ear, bar)
        for group in _groups(order, digests, texts, scripts, state, ear):
            if order.aligner:
                place_all(group, state, order.aligner, bar)
            while group.text and _cut_at_the_text(group, state, order.least_trust):
                _cut_and_hear(_sources(group.sources, state), state, ear, bar)
                if order.aligner:
                    place_all(group, state, order.aligner, bar)
            rows_of(group, state, order.least_trust)  # a text that does not fit is refused before it is kept
            state.add_group(group)
        return publish(state, compose(state, order.least_trust))


def find_recordings(inputs: Iterable[Path]) -> list[Path]:
    """The files that are named, and those with the suffix of a sound in the folders that are named, in order."""
    recordings: list[Path] = []
    for path in inputs:
        if path.is_dir():
            below = [folder / name for folder, names, _ in walk(path) for name in names]
            inside = [file for file in below if file.suffix.lower() in AUDIO_SUFFIXES]
            if not inside:
                raise PrepareError(f"{path} holds no recording: expected files in {', '.join(AUDIO_SUFFIXES)}")
            recordings += inside
        elif path.is_file():
            recordings.append(path)
        else:
            raise PrepareError(f"there is no recording {path}")
    return list(dict.fromkeys(recordings))


def find_texts(text: Path | None, paths: list[Path]) -> dict[Path, Path | None]:
    """Which text each recording has: one file for all, in their order, or from a folder the file of the same name."""
    if text is None or text.is_file():
        return dict.fromkeys(paths, text)
    if not text.is_dir():
        raise PrepareError(f"there is no text {text}")
    texts: dict[Path, Path | None] = {}
    for path in paths:
        named = [text / f"{path.stem}{suffix}" for suffix in SUFFIXES]
        there = next((one for one in named if one.is_file()), None)
        if there is None:
            raise PrepareError(f"{text} has no text for {path.name}: expected {named[0].name}, .srt or .vtt beside it")
        texts[path] = there
    return texts


def _look(path: Path) -> tuple[int, float]:
    """Its rate and its seconds by its header: what cannot be read is said before an hour of work."""
    with recording(path) as file:
        known = file.frames if file.seekable() else 0  # a stream does not say how long it is
        return file.samplerate, known / file.samplerate


def _listen_to_all(rates: dict[Path, tuple[int, float]], state: State, bar: Bar) -> dict[Path, str]:
    digests = {path: hash_file(path) for path in rates}
    new = {digest: path for path, digest in digests.items() if not state.knows(digest)}
    with bar("listening", sum(rates[path][1] for path in new.values())) as moved:
        for digest, path in new.items():
            state.add_source(digest, path, rates[path][0], listen(path, moved))
    for digest in dict.fromkeys(digests.values()):
        state.note_place(digest, [path for path, own in digests.items() if own == digest])
    return digests


def _sources(digests: Iterable[str], state: State) -> list[Source]:
    """Each once: one recording may be named twice."""
    return [state.sources[digest] for digest in dict.fromkeys(digests)]


def _refuse_without_speech(sources: list[Source], state: State) -> None:
    """Where nobody speaks in any of them, what there is instead."""
    lengths: dict[str, float] = {}
    for source in sources:
        for part in state.stretches(source):
            if part.kind == SLICE:
                return
            lengths[part.kind] = lengths.get(part.kind, 0.0) + part.seconds
    instead = "; ".join(f"{seconds:.1f} s {kind} ({REASONS[kind]})" for kind, seconds in lengths.items())
    raise PrepareError(f"{', '.join(source.path for source in sources)}: no speech to make rows of, but {instead}")


def _cut_and_hear(sources: list[Source], state: State, ear: Ear | None, bar: Bar) -> None:
    _cut_all(sources, state, bar)
    if ear:
        hear_all(sources, state, ear, bar)


def _cut_all(sources: list[Source], state: State, bar: Bar) -> None:
    (state.corpus / "wavs").mkdir(exist_ok=True)
    parts = {source: slices_of(source, state) for source in sources}
    with bar("cutting", sum(part.seconds for own in parts.values() for part in own)) as moved:
        for source, own in parts.items():
            write_slices(source, [(part.start, part.end, file_of(source, part, state)) for part in own], moved)


def _cut_at_the_text(group: Group, state: State, least_trust: float) -> bool:
    """Where a slice is only partly in the text, its pauses may part what is from what is not. False if none is left."""
    rows, _ = rows_of(group, state, least_trust)
    made = False
    for source in (state.sources[digest] for digest in group.sources):
        doubtful = {row.id for row in rows if row.source == source.name and _is_worth_a_cut(row, group)}
        parts = [part for part in slices_of(source, state) if source.id_of(part) in doubtful]
        if parts:
            windows = state.windows(source)
            made |= state.add_cuts(source, [place for part in parts for place in inner_pauses(part, windows)])
    return made


def _is_worth_a_cut(row: Row, group: Group) -> bool:
    """Also where a voice has found words that are too unlikely for the whole of the slice."""
    return row.reason in _WORTH_A_CUT or (group.is_aligned and row.reason == "not_in_text" and bool(row.heard))


def _groups(
    order: Order,
    digests: dict[Path, str],
    texts: dict[Path, Path | None],
    scripts: dict[Path, str],
    state: State,
    ear: Ear | None,
) -> list[Group]:
    """One for each text; without any, one for each recording."""
    members: dict[Path, list[Path]] = {}
    for path, text in texts.items():
        members.setdefault(text or path, []).append(path)
    made = []
    for paths in members.values():
        text = texts[paths[0]]
        digest = state.keep_text(scripts[text]) if text else None
        own = tuple(dict.fromkeys(digests[path] for path in paths))
        speaker = order.speaker or order.corpus.resolve().name
        listener = ear.name if ear else "none"
        if order.aligner and digest:
            listener = name_of_aligner(order.aligner, digest, own)
        made.append(Group(own, digest, text.name if text else "", order.language, speaker, listener))
    return made
