"""The voices of the demo corpus, from pip packages: the same samples for the same (seed, row) every time."""

from __future__ import annotations

import ctypes
import importlib
import os
import shutil
import tempfile
import threading
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np

from myxtts.corpus.demo_sentences import Row
from myxtts.errors import CorpusError, MissingExtra

SAMPLE_RATE = 22050


class Voice(AbstractContextManager["Voice"]):
    """What speaks. `packages` are those whose version can change a sample; the first is the one to install."""

    packages: tuple[str, ...]
    about: str
    extra: str
    purpose: str
    threads = 1

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def __exit__(self, *error: object) -> None:
        pass

    def say(self, row: Row) -> np.ndarray:
        raise NotImplementedError

    @classmethod
    def load(cls, module: str) -> Any:
        try:
            return importlib.import_module(module)
        except ImportError:
            raise cls.missing() from None

    @classmethod
    def missing(cls) -> MissingExtra:
        return MissingExtra(cls.packages[0], cls.extra, cls.purpose)


class HibariVoice(Voice):
    """One natural English voice. Its model is inside the package, so nothing is downloaded."""

    packages = ("hibari-tts", "onnxruntime", "numpy", "scipy", "soxr")
    about = (
        "voice        'heart' of hibari-tts (https://github.com/MMWilliams/hibari), Apache-2.0, distilled from\n"
        "             Kokoro-82M by hexgrad, Apache-2.0"
    )
    extra, purpose = "demo", "the demo corpus with the hibari voice"
    gain = 1.5  # brings the RMS from 0.045 to 0.068; 99 of 100 peaks then stay below 0.9

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self._tts = self.load("hibari").Hibari(voice="heart", threads=1)
        self._resample = self.load("soxr").resample
        self._one_at_a_time = threading.Lock()
        # On two cores, one-threaded inference in two threads ran 120x real time, two-threaded inference 111x.
        self.threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

    def say(self, row: Row) -> np.ndarray:
        with self._one_at_a_time:  # only the network is known to be safe in threads; this is 3 % of the time
            # A straight quote sticks to the next word, which then misses the dictionary and is guessed.
            phonemes = [self._tts.ids(phrase) for phrase in self._tts.phonemize(row.spoken.replace('"', ""))]
        noise = np.random.default_rng([self.seed, row.number])
        speech = np.concatenate([self._tts.from_ids(ids, 1.0, noise) for ids in phonemes])
        return self.gain * self._resample(speech, self._tts.sample_rate, SAMPLE_RATE)


class EspeakVoice(Voice):
    """Eight robotic voices in five languages.

    eSpeak NG carries oscillator phases and a random state from one utterance to the next, through espeak_Terminate too.
    So each utterance gets a library that has just been loaded, from a copy of our own: closing it then really unloads
    it, and the phonemiser of this process, which loads the original, is left alone. That costs 4 ms per utterance.
    """

    packages = ("espeakng-loader",)
    extra, purpose = "phonemes", "the demo corpus with the espeak voices"
    threads = 1  # eSpeak is not thread-safe, and one thread makes 1,000 utterances in about 12 s
    about = "voice        eSpeak NG (https://github.com/espeak-ng/espeak-ng), GPL-3.0, through espeakng-loader"

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        loader = self.load("espeakng_loader")
        self._library, self._data = Path(loader.get_library_path()), loader.get_data_path().encode()
        self._pcm: list[bytes] = []
        self._callback = _ESPEAK_CALLBACK(self._collect)

    def __enter__(self) -> EspeakVoice:
        self._folder = tempfile.TemporaryDirectory(prefix="myxtts-espeak-")
        self._copy = shutil.copy(self._library, self._folder.name)
        return self

    def __exit__(self, *error: object) -> None:
        self._folder.cleanup()

    def say(self, row: Row) -> np.ndarray:
        try:
            espeak = ctypes.CDLL(self._copy)
        except OSError as error:
            raise CorpusError(f"cannot load {self._copy} ({error}): set TMPDIR to a folder that allows it") from None
        try:
            self._speak(espeak, f"{row.language}+{row.speaker.removeprefix('espeak-')}", row)
        finally:
            espeak.espeak_Terminate()
            _unload(espeak)
        return np.frombuffer(b"".join(self._pcm), dtype="<i2") / np.float32(32768)

    def _speak(self, espeak: ctypes.CDLL, voice: str, row: Row) -> None:
        self._pcm.clear()
        rate = espeak.espeak_Initialize(_SYNCHRONOUS, 0, self._data, _DO_NOT_EXIT)
        if rate != SAMPLE_RATE or espeak.espeak_SetVoiceByName(voice.encode()) != 0:
            raise CorpusError(f"eSpeak NG gave rate {rate} for voice {voice}, expected {SAMPLE_RATE}: {_REINSTALL}")
        espeak.espeak_ng_SetRandSeed(ctypes.c_long(self.seed + row.number))
        espeak.espeak_SetParameter(_VOLUME, 80, 0)  # at 100, the default, peaks reach 31,342 of 32,767
        espeak.espeak_SetParameter(_RATE, 150, 0)  # words a minute; at 175, the default, 26 of 1,000 were below 2 s
        espeak.espeak_SetSynthCallback(self._callback)
        text = row.spoken.encode() + b"\0"
        if espeak.espeak_Synth(text, ctypes.c_size_t(len(text)), 0, 0, 0, _UTF8, None, None) != 0 or not self._pcm:
            raise CorpusError(f"eSpeak NG could not say {row.id} ({row.spoken}): {_REINSTALL}")

    def _collect(self, samples: Any, count: int, events: Any) -> int:
        if samples and count > 0:
            self._pcm.append(ctypes.string_at(samples, 2 * count))
        return 0


_ESPEAK_CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)
_SYNCHRONOUS, _DO_NOT_EXIT, _UTF8, _RATE, _VOLUME = 2, 0x8000, 1, 1, 2  # names of speak_lib.h
_REINSTALL = "reinstall espeakng-loader"


def _unload(library: ctypes.CDLL) -> None:
    native = importlib.import_module("_ctypes")
    (native.FreeLibrary if os.name == "nt" else native.dlclose)(library._handle)


ENGINES: dict[str, type[Voice]] = {"hibari": HibariVoice, "espeak": EspeakVoice}
