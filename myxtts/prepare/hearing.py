"""What is said in each slice: a recogniser writes it down, or a voice finds it in the text. The journal keeps both."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path

import xxhash

from myxtts.evaluation.front_end import at_16_khz
from myxtts.features.audio import read_audio, to_float
from myxtts.files import hash_file
from myxtts.inference.script import Script as Languages
from myxtts.models.description import ModelDescription, find_checkpoint, weights_file
from myxtts.prepare import trust
from myxtts.prepare.ears import Ear, Heard
from myxtts.prepare.likelihood import Judge, by_chance, sample
from myxtts.prepare.placement import Frames, place
from myxtts.prepare.slicing import SLICE, Stretch
from myxtts.prepare.state import ALIGNER, Group, Source, State

Moved = Callable[[float], None]  # told how many seconds of sound are done
Bar = Callable[[str, float], AbstractContextManager[Moved]]  # for what is done, and how many seconds there are


def slices_of(source: Source, state: State) -> list[Stretch]:
    return [part for part in state.stretches(source) if part.kind == SLICE]


def file_of(source: Source, part: Stretch, state: State) -> Path:
    return state.corpus / "wavs" / f"{source.id_of(part)}.wav"


def hear_all(sources: list[Source], state: State, ear: Ear, bar: Bar) -> None:
    """What a recogniser has not heard yet."""
    new = [(source, part) for source in sources for part in slices_of(source, state)
           if source.key_of(part, ear.name) not in state.heard]  # fmt: skip
    pool = ThreadPoolExecutor(ear.at_a_time or os.cpu_count() or 1)
    try:
        with bar("writing down", sum(part.seconds for _, part in new)) as moved:
            heard = pool.map(lambda each: _hear(file_of(each[0], each[1], state), ear), new)
            for (source, part), said in zip(new, heard, strict=True):
                state.add_heard(source.key_of(part, ear.name), said)
                moved(part.seconds)
    finally:
        pool.shutdown(cancel_futures=True)


def _hear(path: Path, ear: Ear) -> Heard:
    audio, rate = read_audio(path)
    return ear.hear(at_16_khz(to_float(audio), rate))


def check_aligner(model: str, language: str) -> None:
    """Whether there is such a voice, and whether it speaks the language: said before an hour of work."""
    Languages(ModelDescription.load(find_checkpoint(model))).language(language)


def name_of_aligner(model: str, text: str, sources: tuple[str, ...]) -> str:
    """What it says of a slice depends on the whole text and on the slices before and after it."""
    weights = hash_file(weights_file(find_checkpoint(model)))[:8]
    return f"{ALIGNER}-{weights}-{xxhash.xxh3_64_hexdigest(' '.join([text, *sources]).encode())[:8]}"


def place_all(group: Group, state: State, model: str, bar: Bar) -> None:
    """The words of a group's text in each of its slices, by what a voice expects of them; unless that is known."""
    assert group.text is not None
    slices = [(source, part) for digest in group.sources for source in [state.sources[digest]]
              for part in slices_of(source, state)]  # fmt: skip
    keys = [source.key_of(part, group.ear) for source, part in slices]
    if all(key in state.heard for key in keys):
        return
    from myxtts.prepare.aligner import Aligner  # TensorFlow is loaded only by those who ask for this

    files = [file_of(source, part, state) for source, part in slices]
    with bar("aligning", 2 * sum(part.seconds for _, part in slices)) as moved:
        aligner = Aligner(model, group.language, files)
        expected, words = aligner.expect(state.text(group.text))

        def sounds() -> Iterator[Frames]:
            for file, (_, part) in zip(files, slices, strict=True):
                yield aligner.frames(file)
                moved(part.seconds)

        chance = by_chance([aligner.frames(files[n]) for n in sample(len(files))], expected)
        places, judge = place(sounds(), expected), Judge(expected)
        for key, one, sound in zip(keys, places, sounds(), strict=True):
            likelihood = trust.likelihood(judge.of(sound, one), chance) if one else 0.0
            state.add_heard(key, Heard(aligner.space.join(words[one.first : one.last + 1]), likelihood))
